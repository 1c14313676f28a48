package reaper

import (
	"fmt"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// action is the kernel's struct sigaction, which is only kept and put back: it is
// no larger on any architecture. The zero value is the default action, which for
// SIGCHLD is to do nothing, and leaves zombies to be waited for.
type action [8]uint64

// runtimes is what Go's runtime does about SIGCHLD.
var runtimes = sync.OnceValues(func() (own *action, err error) {
	own = new(action)
	return own, setAction(nil, own)
})

// heed has Go's runtime handle SIGCHLD, or not: while a death wakes waitid(2), a
// signal for it would wake another thread for nothing.
func heed(on bool) error {
	act, err := runtimes()
	if err != nil {
		return err
	}
	if !on {
		act = new(action)
	}
	return setAction(act, nil)
}

func setAction(set, get *action) error {
	const setSize = 8 // bytes of a set of signals
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(syscall.SIGCHLD),
		uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(get)), setSize, 0, 0) //nolint:gosec // both live through the call
	if errno != 0 {
		return fmt.Errorf("cannot arrange for SIGCHLD: %w", errno)
	}
	return nil
}
