package schema

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/toskose/toskose/internal/sample"
	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/spec"
)

// validate returns the violations of a published schema.
func validate(t *testing.T, compiled *jsonschema.Schema, document []byte) error {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	return compiled.Validate(value)
}

func TestThePackagedDocumentsAreValid(t *testing.T) {
	t.Parallel()
	application, container := compile(t, "application"), compile(t, "container")
	packaged := func(app *spec.Application, cfg config.Config) *packager.Plan {
		p, err := packager.New(app, sample.Archive(), cfg, packager.Options{AllowHost: sample.Host})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	everything, cfg := sample.Everything()
	for name, p := range map[string]*packager.Plan{
		"the sample": packaged(sample.App(), config.Config{}), "every setting": packaged(everything, cfg),
	} {
		document, err := spec.Encode(p.Document)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(t, application, document); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		units := 0
		for _, image := range p.Images {
			for _, file := range image.Files {
				if file.Path == packager.ContainerPath {
					units++
					if err := validate(t, container, file.Data); err != nil {
						t.Errorf("%s, container %q: %v", name, image.Node, err)
					}
				}
			}
		}
		if units != 2 {
			t.Errorf("%s: %d containers have a document, want 2", name, units)
		}
	}
}

func TestTheApplicationsThatPackageToscaReadsAreValid(t *testing.T) {
	t.Parallel()
	valid, err := filepath.Glob("../../tosca/testdata/valid/*.json")
	if err != nil || len(valid) < 5 {
		t.Fatalf("%d documents, %v", len(valid), err)
	}
	for _, file := range valid {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(t, compile(t, "application"), data); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestTheSchemaRefusesWhatNoManagerReads(t *testing.T) {
	t.Parallel()
	app, cfg := sample.Everything()
	p, err := packager.New(app, sample.Archive(), cfg, packager.Options{AllowHost: sample.Host})
	if err != nil {
		t.Fatal(err)
	}
	document, err := spec.Encode(p.Document)
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range [][2]string{{`"format": 1`, `"format": 2`}, {`"user"`, `"usr"`}, {`"1m0s"`, `"a minute"`}} {
		if !bytes.Contains(document, []byte(change[0])) {
			t.Fatalf("there is no %s in the document", change[0])
		}
		if validate(t, compile(t, "application"), bytes.Replace(document, []byte(change[0]), []byte(change[1]), 1)) == nil {
			t.Errorf("the document is valid with %s", change[1])
		}
	}
}
