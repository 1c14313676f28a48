package tree

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"path"
	"time"

	"golang.org/x/sys/unix"
)

// Write writes the contents of a folder as a stream. It fails if an entry must be left out, because the stream could not
// report that.
func Write(w io.Writer, dir string) error {
	t := tar.NewWriter(w)
	s, err := write(t, dir)
	if err != nil {
		return err
	}
	for _, l := range s.LeftOut {
		if !l.System {
			return fmt.Errorf("cannot copy %q: %s", l.Name, l.Why)
		}
	}
	return t.Close()
}

// WriteWithSummary writes the contents of a folder. The stream ends with a Summary that lists the entries that were left out.
func WriteWithSummary(w io.Writer, dir string) error {
	t := tar.NewWriter(w)
	s, err := write(t, dir)
	if err != nil {
		return err
	}
	text, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("cannot encode the summary of the stream: %w", err)
	}
	if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "toskose", PAXRecords: map[string]string{summaryRecord: string(text)}}); err != nil {
		return err
	}
	return t.Close()
}

// write walks a folder between two censuses, and verifies the walk with them.
func write(w *tar.Writer, dir string) (*Summary, error) {
	seed := maphash.MakeSeed()
	before, err := count(dir, seed, nil)
	if err != nil {
		return nil, err
	}
	top, err := os.OpenFile(dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer top.Close()
	s, err := statOpen(top)
	if err != nil {
		return nil, err
	}
	t := &writer{tar: w, top: s, census: before, links: map[uint64]string{}, unread: map[uint64]bool{}, summary: &Summary{}}
	if err := t.folder(top, ".", s); err != nil {
		return nil, err
	}
	after, err := count(dir, seed, before)
	if err != nil {
		return nil, err
	}
	if after.missed > 0 {
		return nil, fmt.Errorf("the backup lacks %d of the %d entries of the volume, as %q, and toskose does not know why: please report it", after.missed, after.Entries, after.first)
	}
	t.summary.Counted, t.summary.Changed = after.Size, before.digest != after.digest
	return t.summary, nil
}

type writer struct {
	tar     *tar.Writer
	top     unix.Stat_t
	census  *census
	links   map[uint64]string // first names of files with several links, by inode
	unread  map[uint64]bool   // inodes of files with several links that were left out
	summary *Summary
}

// folder writes an open folder and its contents.
func (t *writer) folder(dir *os.File, name string, s unix.Stat_t) error {
	h := header(name+"/", tar.TypeDir, s)
	if err := t.entry(h, name, s, inProc(dir, ""), true); err != nil {
		return err
	}
	names, err := namesIn(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot read folder %q: %w", name, err)
	}
	if err == nil {
		t.census.markWalked(name, s.Ino)
	}
	for _, base := range names {
		if err := t.child(dir, base, path.Join(name, base)); err != nil {
			return err
		}
	}
	return nil
}

// child writes an entry of a folder. It skips an entry that another process removes or replaces meanwhile.
func (t *writer) child(dir *os.File, base, name string) error {
	s, err := stat(dir, base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot read %q: %w", name, err)
	}
	switch kind := s.Mode & unix.S_IFMT; {
	case len(name) > maxPath:
		t.leaveOut(name, s, fmt.Sprintf("its path has more than %d bytes", maxPath))
	case s.Dev != t.top.Dev:
		t.leaveOut(name, s, "another file system is mounted there")
	case kind == unix.S_IFDIR, kind == unix.S_IFREG:
		err = t.open(dir, base, name, s)
	case kind == unix.S_IFLNK:
		h := header(name, tar.TypeSymlink, s)
		if h.Linkname, err = readLink(dir, base); err == nil {
			err = t.entry(h, name, s, inProc(dir, base), false)
		}
	case kind == unix.S_IFIFO:
		err = t.entry(header(name, tar.TypeFifo, s), name, s, inProc(dir, base), false)
	case kind == unix.S_IFSOCK:
		h := header(name, tar.TypeFifo, s)
		h.PAXRecords = map[string]string{socketRecord: "1"}
		err = t.entry(h, name, s, inProc(dir, base), false)
	default:
		t.leaveOut(name, s, "it is a device")
	}
	if replaced(err) {
		t.census.mark(name, s)
		return nil
	}
	return err
}

// replaced reports whether an error means that an entry was removed or replaced.
func replaced(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errReplaced) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR)
}

var errReplaced = errors.New("another file has replaced it")

// open writes a file or a folder.
func (t *writer) open(dir *os.File, base, name string, was unix.Stat_t) error {
	flags := unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC
	if was.Mode&unix.S_IFMT == unix.S_IFDIR {
		flags |= unix.O_DIRECTORY
	}
	fd, err := unix.Openat(int(dir.Fd()), base, flags, 0)
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
		t.leaveOut(name, was, err.Error())
		return nil
	}
	if err != nil {
		return &fs.PathError{Op: "open", Path: name, Err: err}
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	s, err := statOpen(f)
	if err != nil {
		return err
	}
	if s.Ino != was.Ino || s.Dev != was.Dev || s.Mode&unix.S_IFMT != was.Mode&unix.S_IFMT {
		return errReplaced
	}
	if flags&unix.O_DIRECTORY != 0 {
		return t.folder(f, name, s)
	}
	h := header(name, tar.TypeReg, s)
	h.Size = s.Size
	if s.Nlink > 1 {
		if first, ok := t.links[s.Ino]; ok {
			h.Typeflag, h.Linkname, h.Size = tar.TypeLink, first, 0
			return t.entry(h, name, s, "", false)
		}
	}
	if err := t.entry(h, name, s, inProc(f, ""), true); err != nil {
		return err
	}
	if s.Nlink > 1 {
		t.links[s.Ino] = name
	}
	return t.content(f, h.Size)
}

// header returns the header of an entry. It has no change time, because only the file system can set that.
func header(name string, kind byte, s unix.Stat_t) *tar.Header {
	return &tar.Header{
		Name: name, Typeflag: kind, Mode: int64(s.Mode & 0o7777), Uid: int(s.Uid), Gid: int(s.Gid), Format: tar.FormatPAX,
		ModTime: time.Unix(s.Mtim.Unix()), AccessTime: time.Unix(s.Atim.Unix()),
	}
}

func readLink(dir *os.File, base string) (string, error) {
	target := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(int(dir.Fd()), base, target)
	if errors.Is(err, unix.EINVAL) {
		return "", errReplaced // no longer a link
	}
	if err != nil {
		return "", &fs.PathError{Op: "readlink", Path: base, Err: err}
	}
	return string(target[:n]), nil
}

// entry writes a header with the extended attributes of the file at a path in /proc. Without a path, the entry has none.
func (t *writer) entry(h *tar.Header, name string, s unix.Stat_t, at string, open bool) error {
	if at != "" {
		records, problems, err := attributes(at, open)
		if err != nil {
			problems = []string{err.Error()}
		}
		for key, value := range records {
			if h.PAXRecords == nil {
				h.PAXRecords = map[string]string{}
			}
			h.PAXRecords[key] = value
		}
		for _, why := range problems {
			t.summary.leaveOut(LeftOut{Name: name, Why: why}, Size{})
		}
	}
	if err := Check(h); err != nil {
		return err
	}
	if err := t.tar.WriteHeader(h); err != nil {
		return fmt.Errorf("cannot write entry %q: %w", name, err)
	}
	t.summary.Written.Entries++
	t.summary.Written.Bytes += h.Size
	t.census.mark(name, s)
	return nil
}

// recovered is the folder in which a file system check stores recovered files.
const recovered = "lost+found"

// leaveOut lists an entry that is not in the stream.
func (t *writer) leaveOut(name string, s unix.Stat_t, why string) {
	size := Size{Entries: 1}
	if s.Mode&unix.S_IFMT == unix.S_IFREG && !t.unread[s.Ino] && t.links[s.Ino] == "" {
		size.Bytes = s.Size
	}
	if s.Nlink > 1 {
		t.unread[s.Ino] = true
	}
	t.summary.leaveOut(LeftOut{Name: name, Why: why, System: isRecovered(name, s, t.top)}, size)
	t.census.mark(name, s)
}

// isRecovered reports whether an entry is the file system's own lost+found. If the process is not root, the components that
// use the volume are not root either, so they cannot have created a folder that belongs to root. If the process is root, the
// folder is ordinary data.
func isRecovered(name string, s, top unix.Stat_t) bool {
	const rootInode, recoveredInode = 2, 11 // on ext2, ext3 and ext4
	return os.Geteuid() != 0 && name == recovered && s.Mode&unix.S_IFMT == unix.S_IFDIR && s.Uid == 0 && s.Ino == recoveredInode && top.Ino == rootInode
}

// content writes exactly as many bytes of a file as its header declares. It truncates a file that has grown meanwhile, and
// pads one that has shrunk with zeros.
func (t *writer) content(f *os.File, size int64) error {
	n, err := io.Copy(t.tar, io.LimitReader(f, size))
	if err != nil {
		return fmt.Errorf("cannot read %q: %w", f.Name(), err)
	}
	_, err = io.CopyN(t.tar, zeros{}, size-n)
	return err
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
