package unit

import (
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A libc keeps the first real-time signals for itself, so that the Go runtime,
// which handles all others, leaves these as they are. It uses the second while a
// system call is made on all threads, which the unit never does.
const firstUnhandled, lastUnhandled = syscall.Signal(32), syscall.Signal(34)

// ignored is SIG_IGN, which the unit may have from whoever started it, and its
// children would have from it. SIG_DFL is less.
const ignored = 1

// disposition is the kernel's struct sigaction, as far as this has to know: its
// first word is the handler, on every architecture that the unit is built for,
// and no other part of it is read.
type disposition struct {
	handler uintptr
	rest    [7]uint64
}

// ignorePC is where the handler in ignore.s is.
var ignorePC uintptr

// handleRealtimeSignals keeps signals that the runtime does not handle from ending the
// unit. That PID 1 does not die of them holds only while its first thread does
// not block them: where it does, as in a fork, and another thread does not, the
// kernel (complete_signal in kernel/signal.c) ends the container for one. So they
// get a handler, which does nothing, and which a child has no more once it has
// executed, unlike a signal that is ignored.
func handleRealtimeSignals() error {
	var handled disposition // the runtime's, for all but the handler
	if err := sigaction(syscall.SIGUSR1, nil, &handled); err != nil {
		return err
	}
	handled.handler = ignorePC
	for sig := firstUnhandled; sig <= lastUnhandled; sig++ {
		var now disposition
		if err := sigaction(sig, nil, &now); err != nil {
			return err
		}
		if now.handler > ignored { // the runtime needs it, or a libc that is linked in
			continue
		}
		if err := sigaction(sig, &handled, nil); err != nil {
			return err
		}
	}
	return nil
}

func sigaction(sig syscall.Signal, set, get *disposition) error {
	const setSize = 8 // bytes of a set of signals
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig),
		uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(get)), setSize, 0, 0) //nolint:gosec // both live through the call
	if errno != 0 {
		return fmt.Errorf("cannot arrange for signal %d: %w", sig, errno)
	}
	return nil
}
