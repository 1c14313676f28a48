package tosca_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// Each archive in testdata/tosca-1.3-types has the documents of one of the
// chapters of TOSCA 1.3 that define types or show how they are used, in the form
// of testdata/tosca-2.0: valid/, invalid/ with the codes, and what is imported.
func TestDocumentsOf1xUseTheTypesAsTheirTextSays(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob(filepath.Join("testdata", "tosca-1.3-types", "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("there are no documents in testdata/tosca-1.3-types: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			checkChapter(t, path)
		})
	}
}
