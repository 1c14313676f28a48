package config_test

import (
	"os"
	"path"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/internal/docs"
	"github.com/toskose/toskose/packager/config"
)

func TestTheSchemaHasTheKeysThatTheReaderKnows(t *testing.T) {
	t.Parallel()
	published := docs.SchemaKeys(t, "toskose.schema.json")
	known := docs.FieldKeys(reflect.TypeFor[config.Config](), reflect.TypeFor[config.Fragment]())
	if diff := cmp.Diff(known, published); diff != "" {
		t.Errorf("the reader (-) and the schema (+):\n%s", diff)
	}
}

// TestEveryConfigurationOfTheDocumentationIsRead decodes each as it stands.
func TestEveryConfigurationOfTheDocumentationIsRead(t *testing.T) {
	t.Parallel()
	for _, b := range docs.Of(t, docs.Config) {
		if _, err := config.Parse("toskose.yml", []byte(b.Text)).Check(nil); err != nil {
			t.Errorf("%s:%d: %v\n%s", b.Page, b.Line, err, b.Text)
		}
	}
}

// TestThePageOnPackagingHasEveryKey compares the tables of docs/packaging.md, whose
// headings name what their keys are below, with the keys that the reader knows.
func TestThePageOnPackagingHasEveryKey(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.FromSlash("../../docs/packaging.md"))
	if err != nil {
		t.Fatal(err)
	}
	quoted := func(text string) []string {
		var names []string
		for i, part := range strings.Split(text, "`") {
			if i%2 == 1 {
				names = append(names, "/"+strings.ReplaceAll(strings.ReplaceAll(part, ".", "/"), "NAME", "*"))
			}
		}
		return names
	}
	listed := map[string]bool{}
	var below []string
	for line := range strings.Lines(string(page)) {
		switch {
		case strings.HasPrefix(line, "### Top level"):
			below = []string{""}
		case strings.HasPrefix(line, "#"):
			below = quoted(line)
		case strings.HasPrefix(line, "| `"):
			cell, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
			for _, key := range quoted(cell) {
				for _, prefix := range below {
					listed[prefix+key] = true
				}
			}
		}
	}
	known := docs.FieldKeys(reflect.TypeFor[config.Config](), reflect.TypeFor[config.Fragment]())
	for key := range known {
		for at := path.Dir(key); at != "/"; at = path.Dir(at) {
			delete(known, at) // the tables have what is below
		}
	}
	leaves := map[string]bool{}
	for key := range known {
		leaves[strings.TrimSuffix(strings.TrimSuffix(key, "/spread"), "/*")] = true
	}
	if diff := cmp.Diff(leaves, listed); diff != "" {
		t.Errorf("the reader (-) and docs/packaging.md (+):\n%s", diff)
	}
}

func TestMemoryIsReadAsComposeReadsIt(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"1": 1, "10b": 10, "1k": 1024, "2KB": 2048, "1.5M": 1536 << 10, "1 gb": 1 << 30, "3G": 3 << 30, "": 0, "x": 0, "1Gi": 0, "-1": 0, "0": 0,
	} {
		if got, ok := config.Bytes(text); ok != (want > 0) || ok && got != want {
			t.Errorf("%q is %d, %v", text, got, ok)
		}
	}
}
