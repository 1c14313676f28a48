package output

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"
)

// writeAll writes all files to temporary files before it renames the first, so that a full disk leaves the folder unchanged.
func writeAll(dir string, all []File) (err error) {
	var undo []func()
	defer func() {
		if err != nil {
			for i := len(undo) - 1; i >= 0; i-- {
				undo[i]()
			}
		}
	}()
	for _, folder := range folders(dir, all) {
		mode := fs.FileMode(0o755)
		if folder == filepath.Join(dir, SecretsDir) {
			mode = 0o700
		}
		made, err := makeFolder(folder, mode)
		if err != nil {
			return err
		}
		for _, path := range made {
			undo = append(undo, func() { _ = os.Remove(path) }) // fails if another file was created in it
		}
	}
	all = differing(dir, all)
	staged, err := stageAll(dir, all)
	for _, path := range staged {
		undo = append(undo, func() { _ = os.Remove(path) }) // does not exist after the rename
	}
	if err != nil {
		return err
	}
	for i, f := range all {
		if err := os.Rename(staged[i], filepath.Join(dir, f.Name)); err != nil {
			return err
		}
	}
	return nil
}

// makeFolder is like MakeFolder but restricts the mode of an existing folder.
func makeFolder(path string, mode fs.FileMode) (made []string, err error) {
	info, err := os.Lstat(path)
	if err == nil && info.IsDir() {
		if mode&0o077 == 0 {
			return nil, os.Chmod(path, mode)
		}
		return nil, nil
	}
	if err == nil && mode&0o077 == 0 {
		return nil, fmt.Errorf("%q is not a folder", path)
	}
	return MakeFolder(path, mode)
}

// maxParallel is the number of files written concurrently: a disk syncs several files in the time of one.
const maxParallel = 8

// stageAll writes temporary files and returns their paths. After an error, it returns only the paths of files that were
// written.
func stageAll(dir string, all []File) ([]string, error) {
	staged := make([]string, len(all))
	var group errgroup.Group
	group.SetLimit(maxParallel)
	for i, f := range all {
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

func stage(path string, f File) (string, error) {
	return Stage(path, f.Mode, func(tmp *os.File) error {
		if _, err := tmp.Write(f.Data); err != nil {
			return err
		}
		return tmp.Sync()
	})
}

// folders returns the folders of the files, parents first.
func folders(dir string, files []File) []string {
	all := []string{filepath.Clean(dir)}
	for _, f := range files {
		all = append(all, filepath.Dir(filepath.Join(dir, f.Name)))
	}
	slices.Sort(all)
	return slices.Compact(all)
}
