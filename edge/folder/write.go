package folder

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/toskose/toskose/edge"
)

// A change is written as staged files beside the current ones. The document is staged first, and renamed first once all files are
// staged: so a staged document means that the change did not happen, and other staged files without it that it did.
const stagedSuffix = ".toskose-new"

// maxParallel is the number of files written concurrently: a disk syncs several files in the time of one.
const maxParallel = 8

// writeAll writes and syncs files. suffix is appended to their names.
func writeAll(dir string, files []file, suffix string) error {
	for _, sub := range []string{nodesDir, networksDir, secretsDir} {
		if !slices.ContainsFunc(files, func(f file) bool { return strings.HasPrefix(f.name, sub+"/") }) {
			continue
		}
		mode := fs.FileMode(0o755)
		if sub == secretsDir {
			mode = 0o700
		}
		path := filepath.Join(dir, sub)
		if err := os.MkdirAll(path, mode); err != nil {
			return err
		}
		if sub == secretsDir {
			if err := os.Chmod(path, mode); err != nil { // git and copies do not keep it
				return err
			}
		}
	}
	var group errgroup.Group
	group.SetLimit(maxParallel)
	for _, f := range files {
		group.Go(func() error { return writeSynced(filepath.Join(dir, filepath.FromSlash(f.name))+suffix, f) })
	}
	return group.Wait()
}

func writeSynced(path string, f file) error {
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, f.mode)
	if err != nil {
		return err
	}
	_, err = out.Write(f.data)
	if err == nil {
		err = out.Chmod(f.mode)
	}
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}

// commit writes files to a folder: all of them, or none.
func commit(dir string, files []file) error {
	first := slices.IndexFunc(files, func(f file) bool { return f.name == edge.DocumentFile })
	if first < 0 { // a change counts in the document; without one, files are only written again
		data, err := os.ReadFile(filepath.Join(dir, edge.DocumentFile))
		if err != nil {
			return err
		}
		files = append(files, file{edge.DocumentFile, data, 0o644})
		first = len(files) - 1
	}
	document := files[first]
	others := slices.Delete(slices.Clone(files), first, first+1)
	err := writeAll(dir, []file{document}, stagedSuffix)
	if err == nil {
		err = writeAll(dir, others, stagedSuffix)
	}
	if err != nil {
		return errors.Join(err, recoverStaged(dir))
	}
	path := filepath.Join(dir, edge.DocumentFile)
	if err := os.Rename(path+stagedSuffix, path); err != nil {
		return errors.Join(err, recoverStaged(dir))
	}
	if err := recoverStaged(dir); err != nil {
		return err
	}
	return removeSuperfluous(dir)
}

// recoverStaged completes a change whose document was renamed, and undoes another one.
func recoverStaged(dir string) error {
	document := filepath.Join(dir, edge.DocumentFile) + stagedSuffix
	staged, err := stagedIn(dir)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(document); err == nil {
		for _, path := range append(staged, document) { // the document last
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return nil
	}
	for _, path := range staged {
		if err := os.Rename(path, strings.TrimSuffix(path, stagedSuffix)); err != nil {
			return err
		}
	}
	return nil
}

// stagedIn returns the paths of all staged files but the document.
func stagedIn(dir string) ([]string, error) {
	var all []string
	for _, sub := range []string{"", nodesDir, networksDir, secretsDir} {
		entries, err := os.ReadDir(filepath.Join(dir, sub))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), stagedSuffix) && e.Name() != edge.DocumentFile+stagedSuffix {
				all = append(all, filepath.Join(dir, sub, e.Name()))
			}
		}
	}
	return all, nil
}

// removeSuperfluous removes files of machines and networks that the document does not have.
func removeSuperfluous(dir string) error {
	d, err := Read(dir)
	if err != nil {
		return err
	}
	var wanted []file
	for _, n := range d.Nodes {
		wanted = append(wanted, file{name: nodesDir + "/" + n.Name + ".json"})
	}
	for _, n := range d.Networks {
		wanted = append(wanted, file{name: networksDir + "/" + n.Name + ".yaml"})
	}
	var problems []error
	for _, name := range superfluous(dir, wanted) {
		problems = append(problems, os.Remove(filepath.Join(dir, filepath.FromSlash(name))))
	}
	return errors.Join(problems...)
}
