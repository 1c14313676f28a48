package sigaction

import "syscall"

// A libc reserves the first real-time signals, so the Go runtime does not handle them. It uses the
// second one for system calls on all threads, which the unit never makes.
const firstUnhandled, lastUnhandled = syscall.Signal(32), syscall.Signal(34)

// ignorePC is the handler in realtime.s.
var ignorePC uintptr

// HandleRealtime prevents signals that the runtime does not handle from ending the unit. PID 1 is
// immune to them only while its first thread does not block them: if that thread blocks one, as
// during a fork, and another thread does not, the kernel ends the container (complete_signal in
// kernel/signal.c). So they get a handler that does nothing. Unlike an ignored signal, a handler is
// not inherited through exec.
func HandleRealtime() error {
	handled, err := Get(syscall.SIGUSR1) // the runtime's settings, for all but the handler
	if err != nil {
		return err
	}
	handled.handler = ignorePC
	for sig := firstUnhandled; sig <= lastUnhandled; sig++ {
		now, err := Get(sig)
		if err != nil {
			return err
		}
		if now.handler > ignored { // used by the runtime or by a linked libc
			continue
		}
		if err := Set(sig, handled); err != nil {
			return err
		}
	}
	return nil
}
