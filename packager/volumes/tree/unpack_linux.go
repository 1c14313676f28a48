package tree

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// unpacker creates the entries of a stream in an empty folder. It uses descriptors of folders that were opened without
// following links.
type unpacker struct {
	top    *os.File
	step   func() error // called before each change
	parent *os.File     // folder of the last entry; nil: top
	within string       // path of parent
}

// unpack unpacks a stream, and returns the stream's entry for the folder itself, if it has one.
func unpack(stream io.Reader, top *os.File, step func() error) (self *tar.Header, err error) {
	u := &unpacker{top: top, step: step, within: "."}
	defer u.leave()
	var folders []*tar.Header // their modes and times are set after their contents
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
		if path.Clean(h.Name) == "." {
			self = h
			continue
		}
		if err := u.put(h, r); err != nil {
			return nil, fmt.Errorf("entry %q: %w", h.Name, err)
		}
		if h.Typeflag == tar.TypeDir {
			folders = append(folders, h)
		}
	}
	for i := len(folders) - 1; i >= 0; i-- {
		name := path.Clean(folders[i].Name)
		dir, err := u.enter(path.Dir(name), false)
		if err == nil {
			err = finish(dir, path.Base(name), folders[i])
		}
		if err != nil {
			return nil, fmt.Errorf("entry %q: %w", folders[i].Name, err)
		}
	}
	return self, nil
}

// enter opens a folder by its path. If create is set, it creates missing folders. It rejects a path element that is not a
// folder, such as a link.
func (u *unpacker) enter(name string, create bool) (*os.File, error) {
	if name == u.within {
		return u.current(), nil
	}
	at, rest := u.top, name
	if below, ok := strings.CutPrefix(name, u.within+"/"); ok && u.within != "." {
		at, rest = u.current(), below
	}
	opened := at
	for part := range strings.SplitSeq(rest, "/") {
		if part == "." {
			continue
		}
		next, err := openFolder(opened, part)
		if errors.Is(err, fs.ErrNotExist) && create {
			if err = u.mkdir(opened, part); err == nil {
				next, err = openFolder(opened, part)
			}
		}
		if opened != at {
			opened.Close()
		}
		if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
			return nil, fmt.Errorf("%q is not a folder", part)
		}
		if err != nil {
			return nil, err
		}
		opened = next
	}
	if opened != u.parent {
		u.leave()
	}
	if opened != u.top {
		u.parent = opened
	}
	u.within = name
	return opened, nil
}

func (u *unpacker) current() *os.File {
	if u.parent == nil {
		return u.top
	}
	return u.parent
}

// leave closes the folder of the last entry.
func (u *unpacker) leave() {
	if u.parent != nil {
		u.parent.Close()
	}
	u.parent, u.within = nil, "."
}

func (u *unpacker) mkdir(in *os.File, name string) error {
	if err := u.step(); err != nil {
		return err
	}
	return unix.Mkdirat(int(in.Fd()), name, 0o700)
}

// put creates an entry.
func (u *unpacker) put(h *tar.Header, content io.Reader) error {
	name := path.Clean(h.Name)
	dir, err := u.enter(path.Dir(name), true)
	if err != nil {
		return err
	}
	base, fd := path.Base(name), int(dir.Fd())
	if h.Typeflag == tar.TypeDir {
		err := u.mkdir(dir, base)
		if errors.Is(err, fs.ErrExist) {
			_, err = u.enter(name, false)
		}
		return err // its traits are set after its contents
	}
	if err := u.step(); err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeLink:
		return u.link(h, name)
	case tar.TypeSymlink:
		err = unix.Symlinkat(h.Linkname, fd, base)
	case tar.TypeFifo:
		kind := uint32(unix.S_IFIFO)
		if h.PAXRecords[socketRecord] != "" {
			kind = unix.S_IFSOCK
		}
		err = unix.Mknodat(fd, base, kind|0o600, 0)
	default:
		err = u.file(dir, base, content)
	}
	if err != nil {
		return err
	}
	return finish(dir, base, h)
}

// link creates another link to a file that was unpacked earlier.
func (u *unpacker) link(h *tar.Header, name string) error {
	from := path.Clean(h.Linkname)
	dir, err := u.enter(path.Dir(from), false)
	if err != nil {
		return err
	}
	fd, err := unix.Dup(int(dir.Fd())) // entering the other folder closes this descriptor
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	to, err := u.enter(path.Dir(name), true)
	if err != nil {
		return err
	}
	return unix.Linkat(fd, path.Base(from), int(to.Fd()), path.Base(name), 0)
}

func (u *unpacker) file(dir *os.File, base string, content io.Reader) error {
	fd, err := unix.Openat(int(dir.Fd()), base, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), base)
	n, err := io.Copy(sparse{f}, content)
	if err == nil {
		err = f.Truncate(n) // the file may end with a hole
	}
	if failed := f.Close(); err == nil {
		err = failed
	}
	return cut(err)
}

// sparse leaves holes instead of writing zeros: a file with holes may not fit its file system without them.
type sparse struct{ f *os.File }

func (s sparse) Write(p []byte) (int, error) {
	if len(bytes.TrimLeft(p, "\x00")) > 0 {
		return s.f.Write(p)
	}
	_, err := s.f.Seek(int64(len(p)), io.SeekCurrent)
	return len(p), err
}

// finish applies the owner, mode, extended attributes and times in a header to an entry of a folder.
func finish(dir *os.File, base string, h *tar.Header) error {
	return describe(h).apply(dir, base, h.Typeflag == tar.TypeSymlink)
}

// traits are the metadata of a file. They are stored as JSON between the steps of a restore.
type traits struct {
	UID, GID   int
	Mode       uint32
	Attributes map[string][]byte // by PAX record
	Accessed   time.Time
	Modified   time.Time
}

func describe(h *tar.Header) traits {
	t := traits{UID: h.Uid, GID: h.Gid, Mode: uint32(h.Mode) & 0o7777, Attributes: map[string][]byte{}, Accessed: h.AccessTime, Modified: h.ModTime}
	for key, value := range h.PAXRecords {
		if strings.HasPrefix(key, xattrRecord) {
			t.Attributes[key] = []byte(value)
		}
	}
	if t.Accessed.IsZero() {
		t.Accessed = h.ModTime
	}
	return t
}

// apply applies the traits to an entry of a folder.
func (t traits) apply(dir *os.File, base string, isLink bool) error {
	if err := unix.Fchownat(int(dir.Fd()), base, t.UID, t.GID, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return fmt.Errorf("cannot give it the owner %d:%d: %w", t.UID, t.GID, err)
	}
	records := map[string]string{}
	for key, value := range t.Attributes {
		records[key] = string(value)
	}
	if isLink {
		if err := setAttributes(inProc(dir, base), false, records); err != nil {
			return err
		}
	} else if err := t.applyOpen(dir, base, records); err != nil {
		return err
	}
	times := []unix.Timespec{unix.NsecToTimespec(t.Accessed.UnixNano()), unix.NsecToTimespec(t.Modified.UnixNano())}
	if err := unix.UtimesNanoAt(int(dir.Fd()), base, times, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return fmt.Errorf("cannot set its times: %w", err)
	}
	return nil
}

// applyOpen sets the mode and attributes through an open descriptor, so that the entry cannot be replaced by a link meanwhile.
func (t traits) applyOpen(dir *os.File, base string, records map[string]string) error {
	fd, err := unix.Openat(int(dir.Fd()), base, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), base)
	defer f.Close()
	if err := unix.Chmod(inProc(f, ""), t.Mode); err != nil { // after the owner: chown clears the set-user-ID bit
		return fmt.Errorf("cannot set its mode: %w", err)
	}
	return setAttributes(inProc(f, ""), true, records)
}
