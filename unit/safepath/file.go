package safepath

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// isRoot reports whether links could make this process do what other users cannot.
func isRoot() bool { return os.Geteuid() == 0 }

// Open opens a file for reading.
func Open(path string) (*os.File, error) { return OpenFile(path, os.O_RDONLY, 0) }

// OpenFile is os.OpenFile.
func OpenFile(path string, flags int, perm fs.FileMode) (file *os.File, err error) {
	if !isRoot() {
		return os.OpenFile(path, flags, perm)
	}
	err = at("open", path, func(in folder, name string) error {
		fd, err := open(in, name, flags, perm)
		if err == nil {
			file = os.NewFile(uintptr(fd), path)
		}
		return err
	})
	return file, err
}

// open opens a file in a folder. It fails with ELOOP for a symbolic link.
func open(in folder, name string, flags int, perm fs.FileMode) (int, error) {
	// A file that must not be written must not be truncated either, nor block.
	first := flags
	if !in.trusted {
		first = flags&^os.O_TRUNC | unix.O_NONBLOCK
	}
	fd, err := openat(in.fd, name, first|unix.O_NOFOLLOW, uint32(perm.Perm()))
	if errors.Is(err, unix.ELOOP) && in.isMagic() {
		return openat(in.fd, name, flags, uint32(perm.Perm()))
	}
	if err != nil || in.trusted {
		return fd, err
	}
	err = check(in, fd, flags&(os.O_WRONLY|os.O_RDWR) != 0)
	if err == nil && flags&os.O_TRUNC != 0 {
		err = unix.Ftruncate(fd, 0)
	}
	if err == nil && flags&unix.O_NONBLOCK == 0 {
		err = unix.SetNonblock(fd, false)
	}
	if err != nil {
		_ = unix.Close(fd)
	}
	return fd, err
}

// check returns an error for an open file that is not safe to use because others can write its
// folder.
func check(in folder, fd int, write bool) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	switch kind := st.Mode & unix.S_IFMT; {
	case kind == unix.S_IFREG && st.Nlink > 1:
		return errHardLink
	case write && !isOwn(st.Uid) && st.Uid != in.owner:
		return errOwner
	}
	return nil
}

// Create creates a file, replacing any file, but no folder, with its name.
func Create(path string, perm fs.FileMode) (*os.File, error) {
	if err := Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
}

// ReadFile is os.ReadFile.
func ReadFile(path string) ([]byte, error) {
	file, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(file)
}

// WriteFile is os.WriteFile.
func WriteFile(path string, data []byte, perm fs.FileMode) error {
	file, err := OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, perm)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Close())
}

// Stat is os.Stat.
func Stat(path string) (info fs.FileInfo, err error) {
	if !isRoot() {
		return os.Stat(path)
	}
	err = at("stat", path, func(in folder, name string) error {
		fd, err := openat(in.fd, name, unix.O_PATH|unix.O_NOFOLLOW, 0)
		if err != nil {
			return err
		}
		if info, err = infoOf(fd, path); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			return err
		}
		if !in.isMagic() {
			return unix.ELOOP
		}
		if fd, err = openat(in.fd, name, unix.O_PATH, 0); err == nil {
			info, err = infoOf(fd, path)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return info, nil
}

// infoOf describes an open file, and closes it.
func infoOf(fd int, path string) (fs.FileInfo, error) {
	file := os.NewFile(uintptr(fd), path)
	defer file.Close()
	return file.Stat()
}

// Lstat is os.Lstat.
func Lstat(path string) (info fs.FileInfo, err error) {
	if !isRoot() {
		return os.Lstat(path)
	}
	err = at("lstat", path, func(in folder, name string) error {
		fd, err := openat(in.fd, name, unix.O_PATH|unix.O_NOFOLLOW, 0)
		if err == nil {
			info, err = infoOf(fd, path)
		}
		return err
	})
	return info, err
}

// Rename is os.Rename within one folder.
func Rename(from, to string) error {
	if !isRoot() {
		return os.Rename(from, to)
	}
	return at("rename", from, func(in folder, name string) error {
		return unix.Renameat(in.fd, name, in.fd, filepath.Base(to))
	})
}

// Remove removes a file or a link, but no folder.
func Remove(path string) error {
	if !isRoot() {
		return os.Remove(path)
	}
	return at("remove", path, func(in folder, name string) error {
		return unix.Unlinkat(in.fd, name, 0)
	})
}

// MkdirAll is os.MkdirAll.
func MkdirAll(path string, perm fs.FileMode) error {
	if !isRoot() {
		return os.MkdirAll(path, perm)
	}
	w, err := start(path)
	if err == nil {
		defer func() { w.at.close() }()
		w.make, w.rest = perm, append(w.rest, ".") // creates the last folder too
		_, err = w.toParent()
	}
	if err != nil {
		return &fs.PathError{Op: "mkdir", Path: path, Err: err}
	}
	return nil
}

// at calls do with the opened parent folder of a path and the last name. If do fails with ELOOP
// because of a link, at follows the link or refuses it.
func at(op, path string, do func(in folder, name string) error) error {
	w, err := start(path)
	if err == nil {
		defer func() { w.at.close() }()
		err = resolve(w, do)
	}
	if err != nil {
		return &fs.PathError{Op: op, Path: path, Err: err}
	}
	return nil
}
