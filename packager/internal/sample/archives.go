package sample

import (
	"path/filepath"
	"testing"

	"github.com/toskose/toskose/tosca"
	"github.com/toskose/toskose/tosca/csar"
)

// Packaged is an application as it comes out of an archive.
type Packaged struct {
	App     *tosca.Application
	Archive *csar.Archive
}

// Archives are the applications that this repository has as archives, by their
// names.
func Archives(t *testing.T) map[string]Packaged {
	t.Helper()
	all := map[string]Packaged{}
	for path, inputs := range map[string]map[string]any{
		"../../examples/thinking":  nil,
		"../../e2e/testdata/probe": nil,
		"../../e2e/testdata/safe":  {"token": "a token of $x", "store_password": "a word"},
	} {
		archive, err := csar.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { archive.Close() })
		app, _, err := tosca.Load(t.Context(), archive, tosca.Options{Inputs: inputs})
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(path)] = Packaged{app, archive}
	}
	return all
}
