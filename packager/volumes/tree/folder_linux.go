package tree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// maxPath is the maximum length of an entry's path. Linux supports longer paths only relative to another folder, so no program
// could open them by their full path.
const maxPath = unix.PathMax - 1

// openFolder opens a folder in another without following a link.
func openFolder(in *os.File, name string) (*os.File, error) {
	fd, err := unix.Openat(int(in.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// stat describes an entry of a folder without following a link.
func stat(in *os.File, name string) (unix.Stat_t, error) {
	var s unix.Stat_t
	if err := unix.Fstatat(int(in.Fd()), name, &s, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return s, &fs.PathError{Op: "lstat", Path: name, Err: err}
	}
	return s, nil
}

// statOpen describes an open file.
func statOpen(f *os.File) (unix.Stat_t, error) {
	var s unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &s); err != nil {
		return s, fmt.Errorf("cannot describe %q: %w", f.Name(), err)
	}
	return s, nil
}

// exists reports whether a folder has an entry with a name.
func exists(in *os.File, name string) (bool, error) {
	_, err := stat(in, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// namesIn returns the names of a folder's entries, sorted.
func namesIn(dir *os.File) ([]string, error) {
	if _, err := dir.Seek(0, 0); err != nil {
		return nil, err
	}
	names, err := dir.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

// inProc returns a path that names an open file, or an entry of an open folder.
func inProc(f *os.File, entry string) string {
	path := fmt.Sprintf("/proc/self/fd/%d", f.Fd())
	if entry != "" {
		path += "/" + entry
	}
	return path
}

// syncAll writes all changes of the folder's file system to the disk.
func syncAll(dir *os.File) error {
	if err := unix.Syncfs(int(dir.Fd())); err != nil {
		return fmt.Errorf("cannot write the volume's changes to the disk: %w", err)
	}
	return nil
}
