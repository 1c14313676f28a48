package tosca_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/tosca"
	"github.com/toskose/toskose/tosca/csar"
)

func TestDescribePrintsTheModelForPeople(t *testing.T) {
	t.Parallel()
	cases(t, "valid", func(t *testing.T, c *testCase) {
		app, _, err := tosca.Load(t.Context(), c.archive, c.options())
		if err != nil {
			t.Fatal(err)
		}
		golden(t, strings.TrimSuffix(c.path, ".txtar")+".txt", tosca.Describe(app))
	})
}

func TestTheExampleIsDescribed(t *testing.T) {
	t.Parallel()
	a, err := csar.Open(filepath.Join("..", "examples", "thinking"))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	app, _, err := tosca.Load(t.Context(), a, tosca.Options{})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join("testdata", "thinking.txt"), tosca.Describe(app))
	data, err := spec.Encode(app)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join("testdata", "thinking.json"), data)
}

func TestADraftIsDescribedWithoutWhatItLacks(t *testing.T) {
	t.Parallel()
	cases(t, "draft", func(t *testing.T, c *testCase) {
		app, _, err := tosca.Load(t.Context(), c.archive, c.options())
		if err != nil {
			t.Fatal(err)
		}
		golden(t, strings.TrimSuffix(c.path, ".txtar")+".txt", tosca.Describe(app))
	})
}

func TestEqualDocumentsInDifferentNotationsGiveEqualJSON(t *testing.T) {
	t.Parallel()
	txt, err := txtar.ParseFile(filepath.Join("testdata", "equal", "notations.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	encode := func(entry string) string {
		files := map[string]string{}
		for _, f := range txt.Files {
			switch f.Name {
			case entry:
				files["app.yaml"] = string(f.Data)
			default:
				files[f.Name] = string(f.Data)
			}
		}
		app, list, err := tosca.Load(t.Context(), zipped(t, files), tosca.Options{})
		if err != nil {
			t.Fatalf("%s: %v\n%v", entry, err, list)
		}
		data, err := spec.Encode(app)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	short := encode("short.yaml")
	for _, other := range []string{"long.yaml", "second.yaml"} {
		if diff := cmp.Diff(short, encode(other)); diff != "" {
			t.Errorf("(-short.yaml +%s):\n%s", other, diff)
		}
	}
}

func TestDocumentsOfAGroupGiveEqualJSON(t *testing.T) {
	t.Parallel()
	txt, err := txtar.ParseFile(filepath.Join("testdata", "equal", "groups.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	first := map[string]string{}
	for _, f := range txt.Files[1:] {
		files := map[string]string{"app.yaml": string(f.Data), "run.sh": string(txt.Files[0].Data)}
		app, list, err := tosca.Load(t.Context(), zipped(t, files), tosca.Options{})
		if err != nil {
			t.Errorf("%s: %v\n%v", f.Name, err, list)
			continue
		}
		data, err := spec.Encode(app)
		if err != nil {
			t.Fatal(err)
		}
		group, _, _ := strings.Cut(f.Name, "/")
		if first[group] == "" {
			first[group] = string(data)
		}
		if diff := cmp.Diff(first[group], string(data)); diff != "" {
			t.Errorf("%s is another application (-first +this):\n%s", f.Name, diff)
		}
	}
	if len(first) != 5 {
		t.Errorf("%d groups", len(first))
	}
}
