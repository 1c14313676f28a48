package reaper

import (
	"errors"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Values of si_code of a SIGCHLD (sigaction(2)).
const (
	cldKilled = 2
	cldDumped = 3
)

// childInfo is siginfo_t as waitid(2) fills it in; x/sys/unix leaves its union
// opaque. The union begins at the alignment of a pointer.
type childInfo struct {
	_      [3]int32
	_      [unsafe.Sizeof(uintptr(0)) - 4]byte
	PID    int32
	UID    uint32
	Status int32
}

// peek returns one dead child without reaping it, so that its /proc entry can
// still be read. pid is 0 if there is none; cpu is its user and system time,
// including that of the children it waited for.
func peek() (pid int, exit Exit, cpu time.Duration, err error) {
	var info unix.Siginfo
	var used unix.Rusage
	for {
		err = unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, &used)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if errors.Is(err, unix.ECHILD) {
		return 0, Exit{}, 0, nil
	}
	if err != nil {
		return 0, Exit{}, 0, err
	}
	child := (*childInfo)(unsafe.Pointer(&info)) //nolint:gosec // the kernel's own layout; a Siginfo is larger
	switch info.Code {
	case cldKilled, cldDumped:
		exit = Exit{Signal: syscall.Signal(child.Status), Core: info.Code == cldDumped}
	default:
		exit = Exit{Code: int(child.Status)}
	}
	return int(child.PID), exit, time.Duration(used.Utime.Nano() + used.Stime.Nano()), nil
}

// awaitDeath waits until a child is dead, without reaping it. alone reports whether there are no
// children.
func awaitDeath() (alone bool, err error) {
	for {
		err = unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if errors.Is(err, unix.ECHILD) {
		return true, nil
	}
	return false, err
}

// isStopped reports whether a signal has stopped a child.
func isStopped(pid int) bool {
	var info unix.Siginfo
	for {
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED|unix.WNOHANG|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err == nil && (*childInfo)(unsafe.Pointer(&info)).PID == int32(pid) //nolint:gosec // as in peek
		}
	}
}

// release reaps a child that peek returned. It is not an error if the child was reaped already: its
// exit is known.
func release(pid int) error {
	for {
		got, err := unix.Wait4(pid, nil, unix.WNOHANG, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ECHILD):
			return nil
		case err != nil:
			return err
		case got == 0:
			return errNotDead
		}
		return nil
	}
}

var errNotDead = errors.New("it is no longer reported dead")
