package packager

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/tosca"
)

// File modes in an image. Group 0 has the owner's rights, so that a container may run as any user
// of group 0.
const (
	modeFolder     = 0o775
	modeFile       = 0o664
	modeExecutable = 0o775
	modeRootFile   = 0o644
)

// tree collects the files of one image.
type tree struct {
	archive fs.FS
	files   map[string]File // by path in the image
}

func newTree(archive fs.FS) *tree { return &tree{archive: archive, files: map[string]File{}} }

// folder adds a folder and its parents, starting at /toskose's children.
func (t *tree) folder(at string) {
	for ; at != "/toskose" && at != "/"; at = path.Dir(at) {
		t.files[at] = File{Path: at, Mode: modeFolder, Dir: true, Owned: true}
	}
}

// data adds a generated file, which only root may change.
func (t *tree) data(at string, data []byte) {
	t.files[at] = File{Path: at, Mode: modeRootFile, Data: data}
}

// component adds the files of a component at their paths in the archive: the folder of each
// script, artifacts, and the dependencies of operations.
func (t *tree) component(c spec.Component) error {
	root := appPath(c.Name, "")
	t.folder(root)
	var problems []error
	try := func(what, file string, err error) {
		if err != nil {
			problems = append(problems, fmt.Errorf("component %q: %s %q: %w", c.Name, what, file, err))
		}
	}
	for _, a := range c.Artifacts {
		try("artifact", a.Path, t.file(root, a.Path))
	}
	for _, o := range c.Operations() {
		if o.Script != "" {
			try("script", o.Script, t.beside(root, o.Script))
		}
		for _, f := range o.Files {
			try("dependency", f, t.file(root, f))
		}
	}
	return errors.Join(problems...)
}

// beside adds a script and its folder. From the archive's root, it adds only files. TOSCA
// documents are excluded: they are not part of a component and may contain secrets.
func (t *tree) beside(root, script string) error {
	if _, err := fs.Stat(t.archive, script); err != nil {
		return notInArchive(err)
	}
	return t.all(root, path.Dir(script))
}

func (t *tree) all(root, dir string) error {
	return fs.WalkDir(t.archive, dir, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && dir == "." && file != ".":
			return fs.SkipDir
		case d.IsDir():
			t.folder(path.Join(root, file))
			return nil
		}
		if definitions, err := isDefinitions(t.archive, file); definitions || err != nil {
			return err
		}
		return t.file(root, file)
	})
}

// versionKey is the first key of every TOSCA document (TOSCA 1.3, 3.10.1).
var versionKey = regexp.MustCompile(`(?m)^["']?tosca_definitions_version["']?\s*:`)

// isDefinitions reports whether a file is a TOSCA document.
func isDefinitions(archive fs.FS, file string) (bool, error) {
	if ext := strings.ToLower(path.Ext(file)); ext != ".yaml" && ext != ".yml" && ext != ".tosca" {
		return false, nil
	}
	f, err := archive.Open(file)
	if err != nil {
		return false, notInArchive(err)
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, 1<<16))
	if err != nil {
		return false, fmt.Errorf("cannot be read: %w", err)
	}
	return versionKey.Match(head), nil
}

// file adds a file of the archive, or a complete folder.
func (t *tree) file(root, file string) error {
	at := path.Join(root, file)
	if _, ok := t.files[at]; ok {
		return nil
	}
	info, err := fs.Stat(t.archive, file)
	if err != nil {
		return notInArchive(err)
	}
	if info.IsDir() {
		return t.all(root, file)
	}
	if !info.Mode().IsRegular() {
		return errors.New("is not a regular file")
	}
	mode, err := FileMode(t.archive, file, info)
	if err != nil {
		return err
	}
	t.folder(path.Dir(at))
	t.files[at] = File{Path: at, Mode: mode, Owned: true, Source: file}
	return nil
}

// FileMode returns the mode of a file of the archive in an image. A file is executable if its mode
// has an executable bit or its first bytes are those of a program: some systems that create archives
// have no executable bits.
func FileMode(archive fs.FS, file string, info fs.FileInfo) (uint32, error) {
	head, err := firstBytes(archive, file)
	if err != nil {
		return 0, err
	}
	if info.Mode()&0o111 != 0 || tosca.RunsItself(head) {
		return modeExecutable, nil
	}
	return modeFile, nil
}

func notInArchive(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("is not in the archive")
	}
	return err
}

// sorted returns the files, each folder before its contents.
func (t *tree) sorted() []File {
	files := make([]File, 0, len(t.files))
	for _, f := range t.files {
		files = append(files, f)
	}
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return files
}

// appPath returns the path in an image of a component's file.
func appPath(component, file string) string { return path.Join(AppsPath, component, file) }

func firstBytes(archive fs.FS, file string) ([]byte, error) {
	f, err := archive.Open(file)
	if err != nil {
		return nil, notInArchive(err)
	}
	defer f.Close()
	head := make([]byte, 4)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	return head[:n], nil
}
