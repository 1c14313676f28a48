package csar

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// dirTree is a directory. It checks names at each use, as a directory may change.
// os.Root confines them, and links are not followed.
type dirTree struct {
	root   *os.Root
	limits Limits
}

// openDirectory opens a directory, and checks all of it if walk is set. The folder of a
// lone service template is not checked, as it may have unrelated files.
func openDirectory(dir string, limits Limits, walk bool) (tree, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot open the archive: %w", err)
	}
	t := &dirTree{root: root, limits: limits}
	if !walk {
		return t, nil
	}
	if err := t.check(); err != nil {
		root.Close()
		return nil, err
	}
	return t, nil
}

// skipped are folders of version control systems.
var skipped = []string{".git", ".hg", ".svn"}

// check reports all problems of the directory.
func (t *dirTree) check() error {
	var bad problems
	entries, total, seen := 0, int64(0), newNames()
	err := fs.WalkDir(t.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fmt.Errorf("cannot read the directory: %w", err)
		case d.IsDir() && slices.Contains(skipped, d.Name()):
			return fs.SkipDir
		case name == ".":
			return nil
		}
		if entries++; entries > t.limits.Entries {
			return problem(codeEntries, "", fmt.Sprintf("has more than %d files and folders", t.limits.Entries))
		}
		if bad.add(checkName(name)) || bad.add(seen.add(name, d.IsDir())) || d.IsDir() {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return fmt.Errorf("cannot read the directory: %w", err)
		}
		bad.add(t.checkFile(name, info))
		total += info.Size()
		return nil
	})
	if total > t.limits.Total {
		bad.add(problem(codeTotal, "", fmt.Sprintf("holds more than %d bytes", t.limits.Total)))
	}
	bad.add(err)
	return bad.err()
}

func (t *dirTree) checkFile(name string, info fs.FileInfo) error {
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return problem(codeLink, name, "is a symbolic link; an archive holds files and folders only")
	case !info.Mode().IsRegular():
		return problem(codeLink, name, "is a special file; an archive holds files and folders only")
	case info.Size() > t.limits.FileSize:
		return problem(codeFileSize, name, fmt.Sprintf("has %d bytes; at most %d are read", info.Size(), t.limits.FileSize))
	}
	return nil
}

// Stat rejects paths with links.
func (t *dirTree) Stat(name string) (fs.FileInfo, error) {
	if !fs.ValidPath(name) || strings.Contains(name, `\`) {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrInvalid}
	}
	if name == "." {
		return t.root.Stat(".")
	}
	for part := range strings.SplitSeq(name, "/") {
		if slices.Contains(skipped, part) {
			return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
		}
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		info, err := t.root.Lstat(dir)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			return nil, t.notAFolder(dir, info)
		}
	}
	info, err := t.root.Lstat(name)
	if err != nil || info.IsDir() {
		return info, err
	}
	return info, t.checkFile(name, info)
}

func (t *dirTree) notAFolder(name string, info fs.FileInfo) error {
	if err := t.checkFile(name, info); err != nil {
		return err
	}
	return &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
}

// Open opens a file for reading. It checks the file first, so that opening a FIFO does
// not block.
func (t *dirTree) Open(name string) (fs.File, error) {
	info, err := t.Stat(name)
	if err != nil {
		return nil, err
	}
	f, err := t.root.Open(name)
	if err != nil || !info.IsDir() {
		return f, err
	}
	return &folder{File: f, list: func() ([]fs.DirEntry, error) { return t.ReadDir(name) }}, nil
}

// folder is an open directory that lists the entries of ReadDir.
type folder struct {
	fs.File
	list func() ([]fs.DirEntry, error)
	left []fs.DirEntry
	read bool
}

// ReadDir returns the next n entries, or all remaining ones if n <= 0 (fs.ReadDirFile).
func (f *folder) ReadDir(n int) ([]fs.DirEntry, error) {
	if !f.read {
		all, err := f.list()
		if err != nil {
			return nil, err
		}
		f.left, f.read = all, true
	}
	if n > 0 && len(f.left) == 0 {
		return nil, io.EOF
	}
	if n <= 0 || n > len(f.left) {
		n = len(f.left)
	}
	next := f.left[:n:n]
	f.left = f.left[n:]
	return next, nil
}

// ReadDir lists the files and folders of a folder, sorted.
func (t *dirTree) ReadDir(name string) ([]fs.DirEntry, error) {
	if _, err := t.Stat(name); err != nil {
		return nil, err
	}
	all, err := fs.ReadDir(t.root.FS(), name)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(d fs.DirEntry) bool { return d.IsDir() && slices.Contains(skipped, d.Name()) })
	if len(all) > t.limits.Entries {
		return nil, problem(codeEntries, name, fmt.Sprintf("has more than %d files and folders", t.limits.Entries))
	}
	for _, d := range all {
		if d.IsDir() {
			continue
		}
		info, err := d.Info()
		if err != nil {
			return nil, err
		}
		if err := t.checkFile(path.Join(name, d.Name()), info); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (t *dirTree) Close() error { return t.root.Close() }

// outside has the definitions that a lone service template imports from outside of its
// folder. The limits of an archive apply, and links are not followed.
type outside struct {
	dir    string
	limits Limits
	mu     sync.Mutex
	files  int
	total  int64
}

// isOutside reports whether a path leads out of the folder, to a possible definition.
func isOutside(name string) bool { return strings.HasPrefix(name, "../") && IsYAML(name) }

func (o *outside) open(name string) (fs.File, error) {
	full := filepath.Join(o.dir, filepath.FromSlash(name))
	info, err := os.Lstat(full)
	if err != nil {
		return nil, err
	}
	if err := (&dirTree{limits: o.limits}).checkFile(name, info); err != nil {
		return nil, err
	}
	o.mu.Lock()
	o.files++
	o.total += info.Size()
	files, total := o.files, o.total
	o.mu.Unlock()
	switch {
	case files > o.limits.Entries:
		return nil, problem(codeEntries, name, fmt.Sprintf("is one of more than %d files outside of the folder", o.limits.Entries))
	case total > o.limits.Total:
		return nil, problem(codeTotal, name, fmt.Sprintf("is one of the files outside of the folder, which hold more than %d bytes", o.limits.Total))
	}
	return os.Open(full)
}
