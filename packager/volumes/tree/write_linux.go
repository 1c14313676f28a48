package tree

import (
	"archive/tar"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// recovered is what a file system puts into the folder by itself.
const recovered = "lost+found"

// xattrRecord begins the names of extended attributes in a tar.
const xattrRecord = "SCHILY.xattr."

// Write writes what is in a folder. Sockets are left out: who listens makes them anew.
func Write(w io.Writer, dir string) error {
	t := &writer{tar: tar.NewWriter(w), dir: dir, links: map[file]string{}}
	if err := filepath.WalkDir(dir, t.add); err != nil {
		return err
	}
	return t.tar.Close()
}

type writer struct {
	tar   *tar.Writer
	dir   string
	links map[file]string // names of files with several
}

// file is which one it is, whatever its name.
type file struct{ device, inode uint64 }

// add writes what is at a path. What is removed meanwhile, by those who use the volume, is left out.
func (t *writer) add(path string, d fs.DirEntry, err error) error {
	name, failed := filepath.Rel(t.dir, path)
	if err = cmp.Or(err, failed); err == nil {
		if isOwn(name) {
			return fs.SkipDir
		}
		err = t.entry(path, name, d)
	}
	if errors.Is(err, fs.ErrNotExist) && name != "." {
		return nil
	}
	return err
}

func (t *writer) entry(path, name string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil || info.Mode()&fs.ModeSocket != 0 {
		return err
	}
	var content *os.File // open before anything is written, and before another name may link to it
	if info.Mode().IsRegular() {
		if content, err = os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0); err != nil {
			return err
		}
		defer content.Close()
	}
	h, err := t.header(path, name, info)
	if err != nil {
		return err
	}
	if err := Check(h); err != nil {
		return err
	}
	if err := t.tar.WriteHeader(h); err != nil || h.Typeflag != tar.TypeReg {
		return err
	}
	return t.content(content, h.Size)
}

// isOwn reports whether a folder at the top is none of the data.
func isOwn(name string) bool {
	return name == recovered || strings.HasPrefix(name, staging)
}

func (t *writer) header(path, name string, info fs.FileInfo) (*tar.Header, error) {
	target := ""
	if info.Mode()&fs.ModeSymlink != 0 {
		var err error
		if target, err = os.Readlink(path); err != nil {
			return nil, err
		}
	}
	h, err := tar.FileInfoHeader(info, target)
	if err != nil {
		return nil, err
	}
	h.Name, h.Uname, h.Gname, h.Format = name, "", "", tar.FormatPAX
	if info.IsDir() {
		h.Name += "/"
	}
	if h.PAXRecords, err = attributes(path); err != nil {
		return nil, err
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Nlink > 1 && h.Typeflag == tar.TypeReg {
		id := file{stat.Dev, stat.Ino}
		if first, ok := t.links[id]; ok {
			h.Typeflag, h.Linkname, h.Size, h.PAXRecords = tar.TypeLink, first, 0, nil
			return h, nil
		}
		t.links[id] = name
	}
	return h, nil
}

// attributes are the extended ones of a file, as a tar has them.
func attributes(path string) (map[string]string, error) {
	names := make([]byte, 64<<10) // the most that Linux has
	n, err := unix.Llistxattr(path, names)
	if errors.Is(err, unix.ENOTSUP) || n == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot list the extended attributes of %q: %w", path, err)
	}
	records := map[string]string{}
	for name := range strings.SplitSeq(strings.TrimRight(string(names[:n]), "\x00"), "\x00") {
		value := make([]byte, 64<<10)
		n, err := unix.Lgetxattr(path, name, value)
		if err != nil {
			continue // it is another's to read, or gone
		}
		records[xattrRecord+name] = string(value[:n])
	}
	return records, nil
}

// content writes a file as long as it was: one that grows is cut, one that has shrunk is
// filled with zeros.
func (t *writer) content(f *os.File, size int64) error {
	n, err := io.Copy(t.tar, io.LimitReader(f, size))
	if err != nil {
		return err
	}
	_, err = io.CopyN(t.tar, zeros{}, size-n)
	return err
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
