package output

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"
)

// writeAll writes every file beside its place before the first is renamed to
// it, so that a full disk leaves what was there.
func writeAll(dir string, files []File) (err error) {
	var undo []func()
	defer func() {
		if err != nil {
			for i := len(undo) - 1; i >= 0; i-- {
				undo[i]()
			}
		}
	}()
	for _, folder := range folders(dir, files) {
		mode := fs.FileMode(0o755)
		if folder == filepath.Join(dir, SecretsDir) {
			mode = 0o700
		}
		made, err := makeFolder(folder, mode)
		if err != nil {
			return err
		}
		for _, path := range made {
			undo = append(undo, func() { _ = os.Remove(path) }) // stays if something else is in it by now
		}
	}
	staged, err := stageAll(dir, files)
	for _, path := range staged {
		undo = append(undo, func() { _ = os.Remove(path) }) // is gone where it was renamed
	}
	if err != nil {
		return err
	}
	for i, f := range files {
		if err := os.Rename(staged[i], filepath.Join(dir, f.Name)); err != nil {
			return err
		}
	}
	return nil
}

// makeFolder makes a folder and its parents and gives those that it made, the
// outermost first. One that is there gets the mode if that is a stricter one.
func makeFolder(path string, mode fs.FileMode) (made []string, err error) {
	info, err := os.Lstat(path)
	if err == nil && info.IsDir() {
		if mode&0o077 == 0 {
			return nil, os.Chmod(path, mode)
		}
		return nil, nil
	}
	if err == nil && mode&0o077 == 0 {
		return nil, fmt.Errorf("%q is no folder", path)
	}
	for p := filepath.Clean(path); ; p = filepath.Dir(p) {
		if _, err := os.Stat(p); err == nil || filepath.Dir(p) == p {
			break
		}
		made = append([]string{p}, made...)
	}
	return made, os.MkdirAll(path, mode)
}

// atOnce is how many files are written at the same time: a disk syncs several
// in the time of one.
const atOnce = 8

// stageAll writes files beside their places and gives their paths. After an
// error there are fewer.
func stageAll(dir string, files []File) ([]string, error) {
	staged := make([]string, len(files))
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i, f := range files {
		group.Go(func() (err error) {
			staged[i], err = stage(filepath.Join(dir, f.Name), f)
			return err
		})
	}
	err := group.Wait()
	if err != nil {
		staged = slices.DeleteFunc(staged, func(path string) bool { return path == "" })
	}
	return staged, err
}

func stage(path string, f File) (name string, err error) {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return "", err
	}
	_, err = tmp.Write(f.Data)
	if err == nil {
		err = tmp.Chmod(f.Mode)
	}
	if err == nil {
		err = tmp.Sync()
	}
	if err = errors.Join(err, tmp.Close()); err != nil {
		_ = os.Remove(tmp.Name()) // the error that matters is the first
		return "", err
	}
	return tmp.Name(), nil
}

// folders gives those that files are in, the outer ones first.
func folders(dir string, files []File) []string {
	all := []string{filepath.Clean(dir)}
	for _, f := range files {
		all = append(all, filepath.Dir(filepath.Join(dir, f.Name)))
	}
	slices.Sort(all)
	return slices.Compact(all)
}
