package data_test

import (
	"archive/zip"
	"bytes"
	"strings"
	"testing"

	"github.com/toskose/toskose/tosca/csar"
	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/source"
)

// bare are documents that define nothing, one of each family.
var (
	first  = &grammar.Document{File: "app.yaml", Version: "tosca_simple_yaml_1_3"}
	second = &grammar.Document{File: "app.yaml", Version: "tosca_2_0"}
)

// node reads a value as YAML.
func node(t testing.TB, yaml string) *source.Node {
	t.Helper()
	n, bad := source.Parse("value", []byte(yaml))
	if len(bad) > 0 {
		t.Fatalf("%s: %v", yaml, bad)
	}
	return n
}

// document reads a file as an archive's entry.
func document(t testing.TB, yaml string) *grammar.Document {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, text := range map[string]string{
		"TOSCA-Metadata/TOSCA.meta": "TOSCA-Meta-File-Version: 1.0\nCSAR-Version: 1.1\nCreated-By: a test\nEntry-Definitions: app.yaml\n",
		"app.yaml":                  yaml,
	} {
		f, err := w.CreateHeader(&zip.FileHeader{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	a, err := csar.OpenReader("app.csar", bytes.NewReader(b.Bytes()), int64(b.Len()), csar.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	var c diag.Collector
	docs, err := grammar.Load(t.Context(), a, "app.yaml", &c)
	if err != nil || c.List().HasErrors() {
		t.Fatalf("the document is not read: %v\n%v", err, c.List())
	}
	return docs[0]
}

func evaluator() *data.Evaluator { return &data.Evaluator{Collector: &diag.Collector{}} }

// said returns the codes and sentences, without positions.
func said(e *data.Evaluator) string {
	var lines []string
	for _, d := range e.List() {
		line := d.Code + " " + d.Message
		if d.Severity == diag.Warning {
			line = "warning " + line
		}
		if d.Suggestion != "" {
			line += " (" + d.Suggestion + "?)"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}
