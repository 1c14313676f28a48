package sigaction

import "syscall"

// A libc keeps the first real-time signals for itself, so that the Go runtime,
// which handles all others, leaves these as they are. It uses the second while a
// system call is made on all threads, which the unit never does.
const firstUnhandled, lastUnhandled = syscall.Signal(32), syscall.Signal(34)

// ignorePC is where the handler in realtime.s is.
var ignorePC uintptr

// HandleRealtime keeps signals that the runtime does not handle from ending the
// unit. That PID 1 does not die of them holds only while its first thread does
// not block them: where it does, as in a fork, and another thread does not, the
// kernel (complete_signal in kernel/signal.c) ends the container for one. So they
// get a handler, which does nothing, and which a child has no more once it has
// executed, unlike a signal that is ignored.
func HandleRealtime() error {
	handled, err := Get(syscall.SIGUSR1) // the runtime's, for all but the handler
	if err != nil {
		return err
	}
	handled.handler = ignorePC
	for sig := firstUnhandled; sig <= lastUnhandled; sig++ {
		now, err := Get(sig)
		if err != nil {
			return err
		}
		if now.handler > ignored { // the runtime needs it, or a libc that is linked in
			continue
		}
		if err := Set(sig, handled); err != nil {
			return err
		}
	}
	return nil
}
