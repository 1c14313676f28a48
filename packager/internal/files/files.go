// Package files writes files atomically. It starts no goroutine.
package files

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

// stagedBy is in the names of files that are staged, before the id of the process.
const stagedBy = ".toskose-"

var staged = regexp.MustCompile(`^\..*` + regexp.QuoteMeta(stagedBy) + `([0-9]+)-[0-9]+$`)

// removeAbandoned removes files that a process was staging when it was killed. What cannot be removed stays: the files are
// in no one's way.
func removeAbandoned(dir string) {
	all, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, f := range all {
		m := staged.FindStringSubmatch(f.Name())
		if m == nil {
			continue
		}
		if pid, err := strconv.Atoi(m[1]); err == nil && hasExited(pid) {
			_ = os.Remove(filepath.Join(dir, f.Name()))
		}
	}
}

// Create writes a file with mode 0644.
func Create(path string, write func(*os.File) error) error {
	staged, err := Stage(path, 0o644, write)
	if err != nil {
		return err
	}
	return os.Rename(staged, path)
}

// Write creates a file with a mode, or replaces it.
func Write(path string, mode fs.FileMode, data []byte) error {
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

// Copy creates a file with the content of a reader.
func Copy(path string, r io.Reader) error {
	return Create(path, func(f *os.File) error {
		_, err := io.Copy(f, r)
		return err
	})
}

// MakeFolder creates a folder and its parents, and returns the created folders, the outermost
// first.
func MakeFolder(path string, mode fs.FileMode) (made []string, err error) {
	for p := filepath.Clean(path); ; p = filepath.Dir(p) {
		if _, err := os.Stat(p); err == nil || filepath.Dir(p) == p {
			break
		}
		made = append([]string{p}, made...)
	}
	return made, os.MkdirAll(path, mode)
}
