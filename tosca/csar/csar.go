// Package csar reads Cloud Service Archives (TOSCA 1.3, 6; 2.0, 17): a zip, a tar, an
// unpacked directory, or a lone service template with the files next to it. An archive
// is a bounded read-only view without links, and no name leaves it. The package writes
// nothing to disk and starts no goroutine.
package csar

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/toskose/toskose/tosca/diag"
)

// Limits bound an archive. Sizes are in bytes, uncompressed.
type Limits struct {
	Entries  int   // files and folders
	FileSize int64 // of one file
	Total    int64 // of all files together
	Ratio    int64 // uncompressed to compressed, for files above 1 MiB
}

// DefaultLimits returns the limits of Open: 20,000 entries, 1 GiB for a file, 4 GiB in
// all, and a ratio of 400.
func DefaultLimits() Limits {
	return Limits{Entries: 20_000, FileSize: 1 << 30, Total: 4 << 30, Ratio: 400}
}

// tree is the file system of an archive.
type tree interface {
	fs.StatFS
	fs.ReadDirFS
	io.Closer
}

// Archive is an open archive: a read-only file system (fs.FS) of its files, at
// slash-separated paths relative to its root. It is safe for concurrent use
// and must be closed.
type Archive struct {
	tree
	name  string
	entry string
	meta  Meta
	lone  *outside // files around a lone service template, or nil
}

// Open opens a zip or tar, which may be compressed, a directory, or a lone YAML file,
// with the default limits. Errors in the content are a diag.List. Any other error means
// that the archive could not be opened.
func Open(path string) (*Archive, error) { return OpenWith(path, DefaultLimits()) }

// OpenWith is Open with other limits.
func OpenWith(path string, limits Limits) (*Archive, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("cannot open the archive: %w", err)
	}
	a := &Archive{name: filepath.Base(path)}
	if err := a.open(path, info, limits); err != nil {
		return nil, a.fail(err)
	}
	return a, nil
}

// OpenReader opens a zip or tar that is not a file. name is its name in messages.
func OpenReader(name string, r io.ReaderAt, size int64, limits Limits) (*Archive, error) {
	a := &Archive{name: name}
	t, err := readPacked(r, size, limits)
	if err != nil {
		return nil, a.fail(err)
	}
	a.tree = t
	if err := a.findEntry(true); err != nil {
		return nil, a.fail(err)
	}
	return a, nil
}

func (a *Archive) open(path string, info fs.FileInfo, limits Limits) (err error) {
	switch {
	case info.IsDir():
		a.name = filepath.Base(absolute(path))
		a.tree, err = openDirectory(path, limits, true)
		if err == nil {
			err = a.findEntry(false)
		}
	case !info.Mode().IsRegular():
		err = problem(codeNotArchive, "", "is neither a file nor a directory")
	case IsYAML(path):
		if path, err = notLinked(path); err != nil {
			return fmt.Errorf("cannot open the archive: %w", err)
		}
		a.tree, err = openDirectory(filepath.Dir(path), limits, false)
		a.entry, a.lone = filepath.Base(path), &outside{dir: filepath.Dir(path), limits: limits}
	default:
		a.tree, err = openPacked(path, limits)
		if err == nil {
			err = a.findEntry(true)
		}
	}
	return err
}

// notLinked follows a link given by the user. Links within an archive are never
// followed.
func notLinked(path string) (string, error) {
	if info, err := os.Lstat(path); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return path, err
	}
	return filepath.EvalSymlinks(path)
}

// fail closes the archive and adds its name to the error.
func (a *Archive) fail(err error) error {
	if a.tree != nil {
		a.Close()
	}
	var bad diag.List
	if !errors.As(err, &bad) {
		return err
	}
	for i := range bad {
		if bad[i].File == "" {
			bad[i].File = a.name
		}
	}
	return bad
}

// Name returns the base name of the archive, for messages.
func (a *Archive) Name() string { return a.name }

// Entry returns the path of the entry definition, which is the service template to load.
func (a *Archive) Entry() string { return a.entry }

// Lone reports whether the archive is a lone service template, which may import
// definitions from outside of its folder.
func (a *Archive) Lone() bool { return a.lone != nil }

// Open opens a file of the archive, or a definition outside of the folder of a lone
// service template.
func (a *Archive) Open(name string) (fs.File, error) {
	if a.lone != nil && isOutside(name) {
		return a.lone.open(name)
	}
	return a.tree.Open(name)
}

// Meta returns the content of TOSCA.meta, or the zero value if there is none.
func (a *Archive) Meta() Meta { return a.meta }

// ReadFile reads a file of at most limit bytes.
func (a *Archive) ReadFile(name string, limit int64) ([]byte, error) {
	f, err := a.Open(name)
	if err != nil {
		return nil, a.damaged(name, err)
	}
	defer f.Close()
	var read bytes.Buffer
	if info, err := f.Stat(); err == nil {
		read.Grow(int(min(info.Size(), limit)) + bytes.MinRead)
	}
	if _, err := read.ReadFrom(io.LimitReader(f, limit+1)); err != nil {
		return nil, a.damaged(name, fmt.Errorf("cannot read %q: %w", name, err))
	}
	data := read.Bytes()
	if int64(len(data)) > limit {
		return nil, problem(codeFileSize, name, fmt.Sprintf("is larger than %d bytes", limit))
	}
	return data, nil
}

// damaged turns an error of decompression into a diagnostic, and returns errors of the
// system as they are.
func (a *Archive) damaged(name string, err error) error {
	for _, cause := range []error{zip.ErrFormat, zip.ErrChecksum, zip.ErrAlgorithm, io.ErrUnexpectedEOF} {
		if errors.Is(err, cause) {
			return problem(codeDamaged, name, fmt.Sprintf("is damaged in the archive (%s)", cause))
		}
	}
	var corrupt flate.CorruptInputError
	if errors.As(err, &corrupt) {
		return problem(codeDamaged, name, fmt.Sprintf("is damaged in the archive (%s)", corrupt))
	}
	return err
}

// Damaged reads files of a zip, up to budget bytes unpacked, and reports those that
// cannot be unpacked. For a directory it does nothing.
func (a *Archive) Damaged(budget int64) diag.List {
	inner := a.tree
	if p, ok := inner.(*archiveFile); ok {
		inner = p.tree
	}
	t, zipped := inner.(*zipTree)
	if !zipped {
		return nil
	}
	var found problems
	for _, f := range t.File {
		if size := int64(f.UncompressedSize64); size <= budget { // Open bounds the size
			budget -= size
			before := len(found.list)
			if found.add(a.damaged(f.Name, unpack(f))); len(found.list) > before {
				found.list[before].File = f.Name
			}
		}
	}
	return found.list
}

func unpack(f *zip.File) error {
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = io.Copy(io.Discard, io.LimitReader(r, int64(f.UncompressedSize64)+1)) // the checksum is read at the end
	return err
}

// IsFile reports whether name is a regular file of the archive.
func (a *Archive) IsFile(name string) bool {
	info, err := a.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// IsYAML reports whether a path has the extension of a service template.
func IsYAML(path string) bool {
	ext := strings.ToLower(filepath.Ext(path))
	return ext == ".yaml" || ext == ".yml"
}

// absolute returns a directory given as "." or ".." with its name.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// archiveFile is an archive together with the file to close.
type archiveFile struct {
	tree
	file *os.File
}

func openPacked(path string, limits Limits) (tree, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot open the archive: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("cannot open the archive: %w", err)
	}
	t, err := readPacked(f, info.Size(), limits)
	if err != nil {
		f.Close()
		return nil, err
	}
	return &archiveFile{t, f}, nil
}

func (p *archiveFile) Close() error { return errors.Join(p.tree.Close(), p.file.Close()) }

// readPacked opens a tar, recognized by its first bytes, or else a zip, regardless of
// the name.
func readPacked(r io.ReaderAt, size int64, limits Limits) (tree, error) {
	head := make([]byte, 262)
	if _, err := r.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("cannot read the archive: %w", err)
	}
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return readCompressedTar(r, size, limits)
	case bytes.HasSuffix(head, []byte("ustar")) && !bytes.HasPrefix(head, []byte("PK")):
		return readTar(r, size, limits)
	}
	return readZip(r, size, limits)
}
