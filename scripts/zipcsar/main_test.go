package main

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestTheSameFilesGiveTheSameBytesWhateverTheirTimes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	zipped := func(name string, changed time.Time) []byte {
		t.Helper()
		folder := filepath.Join(dir, name)
		for path, mode := range map[string]os.FileMode{"b.sh": 0o700, "a/x.txt": 0o600, ".hidden/y": 0o644} {
			full := filepath.Join(folder, path)
			if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(full, []byte(path), mode); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(full, changed, changed); err != nil {
				t.Fatal(err)
			}
		}
		out := filepath.Join(dir, name+".csar")
		if err := write(out, folder); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	first := zipped("one", time.Now())
	if !bytes.Equal(first, zipped("two", time.Now().Add(-time.Hour))) {
		t.Error("the archives differ")
	}
	archive, err := zip.NewReader(bytes.NewReader(first), int64(len(first)))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range archive.File {
		got = append(got, f.Name+" "+f.Mode().String())
	}
	want := []string{"a/x.txt -rw-r--r--", "b.sh -rwxr-xr-x"}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("entries are %q, want %q", got, want)
	}
}

func TestAFolderThatIsNotThereLeavesNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := write(filepath.Join(dir, "x.csar"), filepath.Join(dir, "nowhere")); err == nil {
		t.Error("no error")
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}
