package tree

import (
	"archive/tar"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// The names of the folders, at the top of a volume, in which something is before it takes
// its place; while the other takes it; and when that is done.
const (
	staging = ".toskose-restore-"
	next    = staging + "new-"
	aside   = staging + "old-"
	gone    = staging + "gone-"
)

// Replace replaces what is in a folder by what a stream has. All of it is beside the old
// before the first file takes its place; if the stream is cut off, or anything goes wrong,
// the folder is as it was. That takes room for both.
func Replace(r io.Reader, dir string) error {
	if err := undo(dir); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(dir, next)
	if err != nil {
		return err
	}
	top, err := unpack(r, fresh)
	if err == nil {
		err = settle(fresh)
	}
	if err == nil {
		err = exchange(dir, fresh)
	}
	if err = errors.Join(err, os.RemoveAll(fresh)); err != nil {
		return err
	}
	// The folder itself is the file system's, where those who use the volume are not root.
	if err := finish(dir, ".", top); !errors.Is(err, unix.EPERM) {
		return err
	}
	return nil
}

// undo brings back what one that was killed had put aside, and removes what it left.
func undo(dir string) error {
	old, err := filepath.Glob(filepath.Join(dir, aside+"*"))
	for _, from := range old {
		entries, failed := os.ReadDir(from)
		err = cmp.Or(err, failed)
		for _, e := range entries {
			to := filepath.Join(dir, e.Name())
			err = cmp.Or(err, os.RemoveAll(to), os.Rename(filepath.Join(from, e.Name()), to))
		}
	}
	if err != nil {
		return err
	}
	left, err := filepath.Glob(filepath.Join(dir, staging+"*"))
	for _, path := range left {
		err = cmp.Or(err, os.RemoveAll(path))
	}
	return err
}

// unpack unpacks a stream into an empty folder, and returns what it says of the folder
// itself, if it does.
func unpack(stream io.Reader, dir string) (top *tar.Header, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var folders []*tar.Header // whose times change while they are filled
	for r := NewReader(stream); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = Check(h)
		}
		if err != nil {
			return nil, err
		}
		name := path.Clean(h.Name)
		if name == "." {
			top = h
			continue
		}
		if err := put(root, name, h, r); err != nil {
			return nil, err
		}
		if h.Typeflag == tar.TypeDir {
			folders = append(folders, h)
		} else if h.Typeflag != tar.TypeLink {
			if err := finish(dir, name, h); err != nil {
				return nil, err
			}
		}
	}
	for i := len(folders) - 1; i >= 0; i-- {
		if err := finish(dir, path.Clean(folders[i].Name), folders[i]); err != nil {
			return nil, err
		}
	}
	return top, nil
}

// put makes what an entry is. No part of its path may be a link.
func put(root *os.Root, name string, h *tar.Header, content io.Reader) error {
	if err := throughFolders(root, path.Dir(name)); err != nil {
		return fmt.Errorf("entry %q: %w", h.Name, err)
	}
	switch h.Typeflag {
	case tar.TypeDir:
		err := root.Mkdir(name, 0o700)
		if errors.Is(err, fs.ErrExist) {
			return throughFolders(root, name)
		}
		return err
	case tar.TypeSymlink:
		return root.Symlink(h.Linkname, name)
	case tar.TypeLink:
		from := path.Clean(h.Linkname)
		if err := throughFolders(root, path.Dir(from)); err != nil {
			return fmt.Errorf("entry %q: %w", h.Name, err)
		}
		return root.Link(from, name)
	case tar.TypeFifo:
		return unix.Mkfifo(filepath.Join(root.Name(), name), 0o600)
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(sparse{f}, content)
	if err == nil {
		err = f.Truncate(n) // it may end with a hole
	}
	return cmp.Or(cut(err), f.Close())
}

// sparse leaves holes where there are only zeros: a file that had them would not have room
// where it came from.
type sparse struct{ f *os.File }

func (s sparse) Write(p []byte) (int, error) {
	if len(bytes.TrimLeft(p, "\x00")) > 0 {
		return s.f.Write(p)
	}
	_, err := s.f.Seek(int64(len(p)), io.SeekCurrent)
	return len(p), err
}

// throughFolders makes the folders of a path that are not there, and refuses one that is
// something else.
func throughFolders(root *os.Root, dir string) error {
	if dir == "." {
		return nil
	}
	so := ""
	for part := range strings.SplitSeq(dir, "/") {
		so = path.Join(so, part)
		info, err := root.Lstat(so)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			err = root.Mkdir(so, 0o700)
		case err == nil && !info.IsDir():
			err = fmt.Errorf("%q is not a folder", so)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// finish gives a file the owner, the attributes, the mode and the times of its entry. All
// that leads there are folders.
func finish(dir, name string, h *tar.Header) error {
	if h == nil {
		return nil
	}
	at := filepath.Join(dir, name)
	if err := os.Lchown(at, h.Uid, h.Gid); err != nil {
		return err
	}
	if h.Typeflag != tar.TypeSymlink {
		if err := os.Chmod(at, h.FileInfo().Mode()); err != nil { // after the owner, which takes set-user-id away
			return err
		}
	}
	for record, value := range h.PAXRecords {
		attribute, ok := strings.CutPrefix(record, xattrRecord)
		if !ok {
			continue
		}
		if err := unix.Lsetxattr(at, attribute, []byte(value), 0); err != nil && !errors.Is(err, unix.ENOTSUP) && !errors.Is(err, unix.EPERM) {
			return fmt.Errorf("cannot set the attribute %q of %q: %w", attribute, name, err)
		}
	}
	accessed := h.AccessTime
	if accessed.IsZero() {
		accessed = h.ModTime
	}
	times := []unix.Timespec{stamp(accessed), stamp(h.ModTime)}
	return unix.UtimesNanoAt(unix.AT_FDCWD, at, times, unix.AT_SYMLINK_NOFOLLOW)
}

func stamp(t time.Time) unix.Timespec { return unix.NsecToTimespec(t.UnixNano()) }

// settle has all that was unpacked on the disk.
func settle(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Syncfs(int(f.Fd()))
}

// exchange moves what is in the folder aside and what is in fresh into its place. If
// something cannot be moved, all of it is moved back.
func exchange(dir, fresh string) error {
	old, err := os.MkdirTemp(dir, aside)
	if err != nil {
		return err
	}
	if err := move(dir, old); err != nil {
		return errors.Join(err, undo(dir))
	}
	if err := move(fresh, dir); err != nil {
		return errors.Join(err, move(dir, fresh), undo(dir))
	}
	if err := settle(dir); err != nil {
		return errors.Join(err, move(dir, fresh), undo(dir))
	}
	done := filepath.Join(dir, gone+strings.TrimPrefix(filepath.Base(old), aside))
	if err := os.Rename(old, done); err != nil {
		return err
	}
	return os.RemoveAll(done)
}

// move moves the data at the top of a folder into another.
func move(from, to string) error {
	entries, err := os.ReadDir(from)
	for _, e := range entries {
		if !isOwn(e.Name()) {
			err = cmp.Or(err, os.Rename(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())))
		}
	}
	return err
}
