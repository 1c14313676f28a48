package output

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
)

// Stage writes a temporary file in the folder of path and returns its path.
func Stage(path string, mode fs.FileMode, write func(*os.File) error) (staged string, err error) {
	removeAbandoned(filepath.Dir(path))
	f, err := os.CreateTemp(filepath.Dir(path), fmt.Sprintf(".%s%s%d-*", filepath.Base(path), stagedBy, os.Getpid()))
	if err != nil {
		return "", err
	}
	if err = write(f); err == nil {
		err = f.Chmod(mode)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(f.Name()) // the error that matters is the first
		return "", err
	}
	return f.Name(), nil
}

// stagedBy precedes the process ID in the names of temporary files.
const stagedBy = ".toskose-"

var stagedName = regexp.MustCompile(`^\..*` + regexp.QuoteMeta(stagedBy) + `([0-9]+)-[0-9]+$`)

// removeAbandoned removes the temporary files of processes that were killed. Errors are ignored: a remaining file does no harm.
func removeAbandoned(dir string) {
	all, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, f := range all {
		m := stagedName.FindStringSubmatch(f.Name())
		if m == nil {
			continue
		}
		if pid, err := strconv.Atoi(m[1]); err == nil && hasExited(pid) {
			_ = os.Remove(filepath.Join(dir, f.Name()))
		}
	}
}

// WriteFile creates or replaces a file atomically, and syncs it.
func WriteFile(path string, mode fs.FileMode, data []byte) error {
	staged, err := Stage(path, mode, func(f *os.File) error {
		if _, err := f.Write(data); err != nil {
			return err
		}
		return f.Sync()
	})
	if err != nil {
		return err
	}
	return os.Rename(staged, path)
}

// CopyFile writes the content of a reader to a file with mode 0644 atomically, without a sync.
func CopyFile(path string, r io.Reader) error {
	staged, err := Stage(path, 0o644, func(f *os.File) error {
		_, err := io.Copy(f, r)
		return err
	})
	if err != nil {
		return err
	}
	return os.Rename(staged, path)
}

// MakeFolder creates a folder and its parents, and returns the created folders, the outermost first.
func MakeFolder(path string, mode fs.FileMode) (made []string, err error) {
	for p := filepath.Clean(path); ; p = filepath.Dir(p) {
		if _, err := os.Stat(p); err == nil || filepath.Dir(p) == p {
			break
		}
		made = append([]string{p}, made...)
	}
	return made, os.MkdirAll(path, mode)
}
