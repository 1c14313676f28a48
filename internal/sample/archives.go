package sample

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/tosca"
	"github.com/toskose/toskose/tosca/csar"
)

// Packaged is an application loaded from an archive.
type Packaged struct {
	App     *spec.Application
	Archive *csar.Archive
}

// Archives are the applications that the repository at root has as archives, and
// the documents that package tosca plans, by their names.
func Archives(t *testing.T, root string) map[string]Packaged {
	t.Helper()
	all := map[string]Packaged{}
	for path, inputs := range map[string]map[string]any{
		"examples/thinking":  nil,
		"examples/pipeline":  nil,
		"e2e/testdata/probe": nil,
		"e2e/testdata/safe":  {"token": "a token of $x", "store_password": "a word"},
	} {
		all[filepath.Base(path)] = load(t, filepath.Join(root, path), inputs)
	}
	for path, dir := range planned(t, root) {
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		all[name] = load(t, dir, nil)
	}
	return all
}

func load(t *testing.T, path string, inputs map[string]any) Packaged {
	t.Helper()
	archive, err := csar.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { archive.Close() })
	app, _, err := tosca.Load(t.Context(), archive, tosca.Options{Inputs: inputs})
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return Packaged{app, archive}
}

// planned unpacks the documents that are planned, and returns the folder of each.
func planned(t *testing.T, root string) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, "tosca/testdata/planned/*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no document is planned: %v", err)
	}
	folders := map[string]string{}
	for _, path := range paths {
		files, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		folders[path] = filepath.Join(t.TempDir(), "app")
		if err := os.Mkdir(folders[path], 0o750); err != nil {
			t.Fatal(err)
		}
		if err := txtar.Write(files, folders[path]); err != nil {
			t.Fatal(err)
		}
	}
	return folders
}
