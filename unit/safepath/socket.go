package safepath

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

var errNoSocket = errors.New("another user has put something else in the place of the socket; use a folder that only the unit's user can write")

// Listen opens a socket file, which remains when the listener is closed.
func Listen(ctx context.Context, path string) (listener *net.UnixListener, err error) {
	listen := func(path string) error {
		var config net.ListenConfig
		l, err := config.Listen(ctx, "unix", path)
		if err != nil {
			return err
		}
		listener, _ = l.(*net.UnixListener)
		listener.SetUnlinkOnClose(false)
		return nil
	}
	if !isRoot() {
		err = listen(path)
		return listener, err
	}
	err = at("listen", path, func(in folder, name string) error {
		if in.trusted {
			return listen(path)
		}
		return listen("/proc/self/fd/" + strconv.Itoa(in.fd) + "/" + name)
	})
	return listener, err
}

// OwnSocket sets the owner, if change is true, and then the mode of a socket file that the caller
// has created.
func OwnSocket(path string, change bool, uid, gid int, mode fs.FileMode) error {
	if !isRoot() {
		if change {
			if err := os.Chown(path, uid, gid); err != nil {
				return err
			}
		}
		return os.Chmod(path, mode)
	}
	return at("chown", path, func(in folder, name string) error {
		fd, err := openat(in.fd, name, unix.O_PATH|unix.O_NOFOLLOW, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return err
		}
		if st.Mode&unix.S_IFMT != unix.S_IFSOCK || !isOwn(st.Uid) {
			return errNoSocket
		}
		if change {
			if err := unix.Fchownat(fd, "", uid, gid, unix.AT_EMPTY_PATH); err != nil {
				return err
			}
		}
		return os.Chmod("/proc/self/fd/"+strconv.Itoa(fd), mode) // there is no system call for a file opened with O_PATH
	})
}
