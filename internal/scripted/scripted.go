// Package scripted replaces kubectl by a shell script in tests.
package scripted

import (
	"os"
	"path/filepath"
	"testing"
)

// Kubectl makes a script the kubectl of this test, which must not be parallel because PATH changes. The script runs in the returned
// folder, which has the files.
func Kubectl(t *testing.T, script string, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "kubectl"), []byte("#!/bin/sh\ncd "+dir+"\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return dir
}
