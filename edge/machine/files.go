package machine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// stagedSuffix is the suffix of files that are being written. A killed command leaves at most one of each, which the next one overwrites.
const stagedSuffix = ".toskose-new"

// writeFile writes and syncs a file atomically, and makes its folder.
func writeFile(path string, data []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // as packages make the folders of /etc
		return err
	}
	f, err := os.OpenFile(path+stagedSuffix, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	err = f.Chmod(mode) // before it has content
	if err == nil {
		_, err = f.Write(data)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(path+stagedSuffix, path)
	}
	if err != nil {
		return errors.Join(err, remove(path+stagedSuffix))
	}
	return nil
}

// link makes a symbolic link atomically.
func link(target, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // as packages make the folders of /etc
		return err
	}
	if err := remove(path + stagedSuffix); err != nil {
		return err
	}
	if err := os.Symlink(target, path+stagedSuffix); err != nil {
		return err
	}
	return os.Rename(path+stagedSuffix, path)
}

// remove removes a file, if it exists.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !missing(err) {
		return err
	}
	return nil
}
