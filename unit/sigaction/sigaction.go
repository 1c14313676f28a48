// Package sigaction sets what happens at a signal where Go's runtime does not do
// what the unit needs as PID 1.
package sigaction

import (
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ignored is SIG_IGN, which the unit may have from whoever started it, and its
// children would have from it. SIG_DFL is less.
const ignored = 1

// Action is the kernel's struct sigaction, which is no larger on any architecture:
// its first word is the handler on every one that the unit is built for, and the
// rest is only kept and put back. The zero value is the default action.
type Action struct {
	handler uintptr
	rest    [7]uint64
}

// Get returns what happens at a signal.
func Get(sig syscall.Signal) (now Action, err error) {
	err = call(sig, nil, &now)
	return now, err
}

// Set arranges for what happens at a signal.
func Set(sig syscall.Signal, a Action) error { return call(sig, &a, nil) }

func call(sig syscall.Signal, set, get *Action) error {
	const setSize = 8 // bytes of a set of signals
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig),
		uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(get)), setSize, 0, 0) //nolint:gosec // both live through the call
	if errno != 0 {
		return fmt.Errorf("cannot arrange for signal %d: %w", sig, errno)
	}
	return nil
}
