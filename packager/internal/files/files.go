// Package files writes files whole or not at all. It starts no goroutine.
package files

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Stage writes a file beside its place and returns its path there.
func Stage(path string, mode fs.FileMode, write func(*os.File) error) (staged string, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
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

// Create writes a file that everybody may read.
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

// Copy creates a file of what a reader reads.
func Copy(path string, r io.Reader) error {
	return Create(path, func(f *os.File) error {
		_, err := io.Copy(f, r)
		return err
	})
}

// MakeFolder makes a folder and its parents, and returns those that were
// missing, the outermost first.
func MakeFolder(path string, mode fs.FileMode) (made []string, err error) {
	for p := filepath.Clean(path); ; p = filepath.Dir(p) {
		if _, err := os.Stat(p); err == nil || filepath.Dir(p) == p {
			break
		}
		made = append([]string{p}, made...)
	}
	return made, os.MkdirAll(path, mode)
}
