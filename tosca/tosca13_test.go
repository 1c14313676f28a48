package tosca_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// Each archive in testdata/tosca-1.3 has the documents of a part of chapters 3
// and 4 of TOSCA 1.3, marked as those of 2.0 are. Each says its version, and some
// are of an earlier one.
func TestDocumentsOf13AreValidOrNotAsItsTextSays(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob(filepath.Join("testdata", "tosca-1.3", "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("there are no documents in testdata/tosca-1.3: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			checkChapter(t, path)
		})
	}
}
