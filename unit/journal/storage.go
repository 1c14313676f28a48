package journal

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// storage is what a journal needs of a folder: there is a real one, one in
// memory, and, in tests, one that fails.
type storage interface {
	list() ([]string, error)
	read(name string) (reader, error)
	open(name string) (file, error) // to write; makes it, and the folder, where they are not there
	remove(name string) error
}

type reader interface {
	io.ReaderAt
	io.Closer
}

type file interface {
	io.WriterAt
	io.Closer
	Truncate(size int64) error
	Sync() error
}

// folder is a real folder, which belongs to one journal at a time.
type folder struct {
	dir  string
	held *os.File // its lock; nil: the folder is not there yet
}

func (f *folder) lock() error {
	if f.held != nil {
		return nil
	}
	dir, err := os.Open(f.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	err = unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		dir.Close()
		return ErrInUse
	}
	// A file system without locks is no reason to do without a journal.
	f.held = dir
	return nil
}

func (f *folder) unlock() error {
	if f.held == nil {
		return nil
	}
	// Before closing: a child between its fork and exec has the file open, too.
	err := unix.Flock(int(f.held.Fd()), unix.LOCK_UN)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP) {
		err = nil // as in lock
	}
	return errors.Join(err, f.held.Close())
}

func (f *folder) list() ([]string, error) {
	entries, err := os.ReadDir(f.dir)
	names := make([]string, 0, len(entries))
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names, err
}

func (f *folder) read(name string) (reader, error) { return os.Open(filepath.Join(f.dir, name)) }

func (f *folder) open(name string) (file, error) {
	if f.held == nil {
		if err := f.make(); err != nil {
			return nil, err
		}
	}
	path := filepath.Join(f.dir, name)
	out, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return out, err
	}
	if out, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o640); err != nil { //nolint:gosec // it holds no secret, and its group may read it
		return nil, err
	}
	// The name, too, must survive a crash.
	if err := f.held.Sync(); err != nil {
		out.Close()
		return nil, err
	}
	return out, nil
}

// make makes the folder, so that it survives a crash, and locks it.
func (f *folder) make() error {
	if err := os.MkdirAll(f.dir, 0o750); err != nil {
		return err
	}
	parent, err := os.Open(filepath.Dir(f.dir))
	if err != nil {
		return err
	}
	defer parent.Close()
	if err := parent.Sync(); err != nil {
		return err
	}
	return f.lock()
}

func (f *folder) remove(name string) error {
	err := os.Remove(filepath.Join(f.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
