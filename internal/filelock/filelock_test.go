package filelock_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/toskose/toskose/internal/filelock"
)

func TestALockedFileCanBeReadButNotLocked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	first, second := open(), open()
	defer second.Close()
	if err := filelock.Lock(first); err != nil {
		t.Fatal(err)
	}
	if locked, err := filelock.TryLock(second); locked || err != nil {
		t.Errorf("locked twice: %v, %v", locked, err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "content" {
		t.Errorf("%q, %v", data, err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if locked, err := filelock.TryLock(second); !locked || err != nil {
		t.Errorf("not locked after the first was closed: %v, %v", locked, err)
	}
}
