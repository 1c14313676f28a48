package browser

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// alone runs this process again in a separate network namespace, if permitted, and reports whether
// it did: code is then its exit code.
func alone() (code int, done bool) {
	if os.Getenv(inside) != "" {
		if err := loopback(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1, true
		}
		return 0, false
	}
	runtime.LockOSThread() // the end of this thread would be the other process's
	defer runtime.UnlockOSThread()
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...) //nolint:noctx // it ends with this process
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, true
	case errors.As(err, &exit):
		return max(1, exit.ExitCode()), true
	default: // not permitted
		return 0, false
	}
}

// loopback sets up the interface that a new network has.
func loopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err == nil {
		lo.SetUint16(unix.IFF_UP)
		err = unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
	}
	if err != nil {
		return fmt.Errorf("cannot set up the loopback interface: %w", err)
	}
	return nil
}
