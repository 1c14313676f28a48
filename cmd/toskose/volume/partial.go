package volume

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"

	"github.com/toskose/toskose/internal/filelock"
)

// canRemoveOpen reports whether an open file can be removed.
const canRemoveOpen = runtime.GOOS != "windows"

// whole writes a file atomically, with mode 0600. A file that a killed command wrote in part is
// removed.
func whole(path string, write func(*os.File) error) error {
	f, err := createPartial(path)
	if err != nil {
		return fmt.Errorf("cannot write %q: %w", path, err)
	}
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if !canRemoveOpen {
		err = errors.Join(err, f.Close())
	}
	if err == nil {
		err = os.Rename(f.Name(), path) // while it is locked, where that is possible
	}
	if canRemoveOpen {
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}

// createPartial creates a locked temporary file in the folder of path.
func createPartial(path string) (*os.File, error) {
	if err := removePartial(path); err != nil {
		return nil, err
	}
	for {
		f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
		if err != nil {
			return nil, err
		}
		if _, err := filelock.TryLock(f); err != nil {
			return nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
		if _, err := os.Lstat(f.Name()); err == nil {
			return f, nil
		}
		f.Close() // another command has removed it before it was locked
	}
}

// removePartial removes the partial files that killed commands left next to a file. Partial files
// in use are locked.
func removePartial(path string) error {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	name := regexp.MustCompile(`^\.` + regexp.QuoteMeta(filepath.Base(path)) + `-[0-9]+$`)
	for _, e := range entries {
		if !name.MatchString(e.Name()) || !e.Type().IsRegular() {
			continue
		}
		if err := removeUnlocked(filepath.Join(filepath.Dir(path), e.Name())); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("cannot remove the unfinished file of a killed command: %w", err)
		}
	}
	return nil
}

func removeUnlocked(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	locked, err := filelock.TryLock(f)
	if err == nil && locked && canRemoveOpen {
		err = os.Remove(path)
	}
	err = errors.Join(err, f.Close())
	if err == nil && locked && !canRemoveOpen {
		err = os.Remove(path)
	}
	return err
}
