package journal

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/toskose/toskose/unit/safepath"
)

// storage is the folder of a journal: a real one, one in memory, or, in tests, one that fails.
type storage interface {
	list() ([]string, error)
	read(name string) (reader, error)
	open(name string) (file, error)         // for writing; creates it and the folder if necessary
	replace(name string, data []byte) error // completely or not at all
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

// reserver is a file that can reserve space.
type reserver interface {
	reserve(at, bytes int64) error
}

// realFile is a file of a folder.
type realFile struct{ *os.File }

// reserve leaves the file's size as it is.
func (f realFile) reserve(at, bytes int64) error {
	return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, at, bytes)
}

// folder is a real folder, locked by one journal at a time.
type folder struct {
	dir  string
	held *os.File // its lock; nil if the folder does not exist yet
}

func (f *folder) lock() error {
	if f.held != nil {
		return nil
	}
	dir, err := safepath.Open(f.dir)
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
	// A file system without locks can still hold a journal.
	f.held = dir
	return nil
}

func (f *folder) unlock() error {
	if f.held == nil {
		return nil
	}
	// Before closing: a child between fork and exec has the file open too.
	err := unix.Flock(int(f.held.Fd()), unix.LOCK_UN)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP) {
		err = nil // likewise
	}
	return errors.Join(err, f.held.Close())
}

func (f *folder) list() ([]string, error) {
	dir, err := safepath.Open(f.dir)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

func (f *folder) read(name string) (reader, error) { return safepath.Open(filepath.Join(f.dir, name)) }

func (f *folder) open(name string) (file, error) {
	if err := f.make(); err != nil {
		return nil, err
	}
	path := filepath.Join(f.dir, name)
	out, err := safepath.OpenFile(path, os.O_RDWR, 0)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return realFile{out}, err
	}
	if out, err = safepath.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o640); err != nil {
		return nil, err
	}
	// The name must survive a crash too.
	if err := f.held.Sync(); err != nil {
		out.Close()
		return nil, err
	}
	return realFile{out}, nil
}

func (f *folder) replace(name string, data []byte) error {
	if err := f.make(); err != nil {
		return err
	}
	path := filepath.Join(f.dir, name)
	next, err := safepath.Create(path+".new", 0o640)
	if err != nil {
		return err
	}
	if _, err = next.Write(data); err == nil {
		err = next.Sync()
	}
	if err = errors.Join(err, next.Close()); err == nil {
		err = safepath.Rename(next.Name(), path)
	}
	if err != nil {
		_ = safepath.Remove(next.Name())
		return err
	}
	return f.held.Sync()
}

// make creates the folder durably unless it exists, and locks it.
func (f *folder) make() error {
	if f.held != nil {
		return nil
	}
	if err := safepath.MkdirAll(f.dir, 0o750); err != nil {
		return err
	}
	parent, err := safepath.Open(filepath.Dir(f.dir))
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
	err := safepath.Remove(filepath.Join(f.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
