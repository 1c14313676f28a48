package safepath

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Errors for refused paths.
var (
	errLink     = errors.New("it is a symbolic link in a folder that other users can write; replace it with its target")
	errHardLink = errors.New("it has a second hard link, in a folder that other users can write; remove one of them")
	errOwner    = errors.New("it belongs to another user, in a folder that other users can write; remove it, or change its owner")
)

// mostLinks is the maximum number of symbolic links in a path, as in Linux.
const mostLinks = 40

// folder is an open folder on the way to a file.
type folder struct {
	fd      int // opened with O_PATH
	owner   uint32
	trusted bool // only root and the caller can change it and its parents
	sticky  bool // other users can add files, but change only their own
}

func (f folder) close() { _ = unix.Close(f.fd) }

// follows reports whether a link or folder of the given owner may be followed: it is in a trusted
// folder, or it belongs to root or the caller and cannot be replaced by others.
func (f folder) follows(owner uint32) bool { return f.trusted || f.sticky && isOwn(owner) }

func isOwn(owner uint32) bool { return owner == 0 || owner == uint32(os.Geteuid()) }

// enter opens a subfolder without following links.
func (f folder) enter(name string) (folder, error) {
	fd, err := openat(f.fd, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return folder{}, err
	}
	return describe(fd, f)
}

// describe returns an open folder that was found in another one.
func describe(fd int, parent folder) (folder, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		_ = unix.Close(fd)
		return folder{}, err
	}
	const others = 0o022
	kept := parent.follows(st.Uid) && isOwn(st.Uid)
	open := st.Mode&others != 0
	return folder{
		fd: fd, owner: st.Uid, trusted: kept && !open, sticky: kept && open && st.Mode&unix.S_ISVTX != 0,
	}, nil
}

// walker follows a path from the root folder.
type walker struct {
	at    folder
	rest  []string // the remaining names
	links int
	make  fs.FileMode // mode of missing folders to create; 0: do not create any
}

// start begins at the root folder. The caller closes the walker's folder.
func start(path string) (*walker, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	w := &walker{rest: names(path)}
	return w, w.toRoot()
}

func (w *walker) toRoot() error {
	fd, err := openat(unix.AT_FDCWD, "/", unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	w.at, err = describe(fd, folder{trusted: true})
	return err
}

func names(path string) []string {
	return strings.FieldsFunc(path, func(c rune) bool { return c == '/' })
}

// toParent walks until one name is left, and returns it: "." for the root folder.
func (w *walker) toParent() (string, error) {
	for len(w.rest) > 1 {
		name := w.rest[0]
		w.rest = w.rest[1:]
		next, err := w.at.enter(name)
		if w.make != 0 && errors.Is(err, fs.ErrNotExist) {
			if err = unix.Mkdirat(w.at.fd, name, uint32(w.make.Perm())); err == nil || errors.Is(err, fs.ErrExist) {
				next, err = w.at.enter(name)
			}
		}
		switch {
		case errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP):
			err = w.link(name) // unless it is a file
		case err == nil:
			w.at.close()
			w.at = next
		}
		if errors.Is(err, errLink) {
			err = fmt.Errorf("%s: %w", name, err)
		}
		if err != nil {
			return "", err
		}
	}
	if len(w.rest) == 0 {
		return ".", nil
	}
	return w.rest[0], nil
}

// link inserts the target of a symbolic link before the remaining names. It fails with ENOTDIR if
// the file is not a link, or is one that must not be followed.
func (w *walker) link(name string) error {
	var st unix.Stat_t
	if err := unix.Fstatat(w.at.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFLNK {
		return unix.ENOTDIR
	}
	if !w.at.follows(st.Uid) {
		return errLink
	}
	if w.links++; w.links > mostLinks {
		return unix.ELOOP
	}
	target := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(w.at.fd, name, target)
	if err != nil {
		return err
	}
	to := string(target[:n])
	w.rest = append(names(to), w.rest...)
	if !strings.HasPrefix(to, "/") {
		return nil
	}
	w.at.close()
	return w.toRoot()
}

// resolve calls do with the folder and the name of a path, and again with the target of a link
// while do fails with ELOOP.
func resolve(w *walker, do func(in folder, name string) error) error {
	for {
		name, err := w.toParent()
		if err == nil {
			err = do(w.at, name)
		}
		if !errors.Is(err, unix.ELOOP) || name == "" {
			return err
		}
		w.rest = nil
		if err := w.link(name); err != nil {
			return err
		}
	}
}

// isMagic reports whether the links in a folder have targets without a path, like those of
// /proc/self/fd.
func (f folder) isMagic() bool {
	var st unix.Statfs_t
	return f.trusted && unix.Fstatfs(f.fd, &st) == nil && st.Type == unix.PROC_SUPER_MAGIC
}

func openat(fd int, name string, flags int, perm uint32) (int, error) {
	for {
		got, err := unix.Openat(fd, name, flags|unix.O_CLOEXEC|unix.O_LARGEFILE, perm)
		if !errors.Is(err, unix.EINTR) {
			return got, err
		}
	}
}
