// Package sigaction sets signal actions where Go's runtime does not do what PID 1 needs.
package sigaction

import (
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ignored is SIG_IGN, which the unit may have inherited and would pass on to its children. SIG_DFL
// is less.
const ignored = 1

// Action is the kernel's struct sigaction, which is no larger on any architecture. Its first word
// is the handler on every supported architecture; the rest is only saved and restored. The zero
// value is the default action.
type Action struct {
	handler uintptr
	rest    [7]uint64
}

// Get returns the action for a signal.
func Get(sig syscall.Signal) (now Action, err error) {
	err = call(sig, nil, &now)
	return now, err
}

// Set sets the action for a signal.
func Set(sig syscall.Signal, a Action) error { return call(sig, &a, nil) }

func call(sig syscall.Signal, set, get *Action) error {
	const setSize = 8 // size of a signal set in bytes
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig),
		uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(get)), setSize, 0, 0) //nolint:gosec // both live through the call
	if errno != 0 {
		return fmt.Errorf("cannot arrange for signal %d: %w", sig, errno)
	}
	return nil
}
