package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
)

// broken is a file system in which one file cannot be read.
type broken struct {
	fstest.MapFS
	file string
}

var errBroken = errors.New("the disk is gone")

func (b broken) ReadFile(name string) ([]byte, error) {
	if name == b.file {
		return nil, errBroken
	}
	return b.MapFS.ReadFile(name)
}

func TestAnApplicationThatCannotBeMadeLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	files := broken{MapFS: fstest.MapFS{
		"app.yaml": {}, "scripts/a/start.sh": {}, "scripts/b/start.sh": {}, "z.sh": {},
	}, file: "scripts/b/start.sh"}
	dir := filepath.Join(t.TempDir(), "shop")
	if err := initialise(dir, "shop", files); !errors.Is(err, errBroken) {
		t.Errorf("it ends with %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is there: %v", err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := initialise(dir, "shop", files); !errors.Is(err, errBroken) {
		t.Errorf("in an empty folder it ends with %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("it left %v, %v", left, err)
	}
}
