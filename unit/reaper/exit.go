package reaper

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// Exit describes how a process ended: by exiting with a code, or by a signal.
type Exit struct {
	Code   int            // 0 to 255; undefined if Signal is set
	Signal syscall.Signal // 0 if it exited
	Core   bool           // it left a core dump
}

// Success reports whether the process exited with code 0.
func (e Exit) Success() bool { return e.Signal == 0 && e.Code == 0 }

// Signalled reports whether a signal ended the process.
func (e Exit) Signalled() bool { return e.Signal != 0 }

// String formats the exit: "exit code 7" or "SIGKILL".
func (e Exit) String() string {
	if e.Signal == 0 {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	name := SignalName(e.Signal)
	if e.Core {
		name += " (core dumped)"
	}
	return name
}

// SignalName returns the name of a signal, "SIGKILL". A real-time signal has
// a number only: "SIGRTMIN+3".
func SignalName(sig syscall.Signal) string {
	if name := unix.SignalName(sig); name != "" {
		return name
	}
	// Linux's real-time signals as the kernel numbers them; glibc and musl
	// reserve the first two or three.
	const first, last = 32, 64
	if sig >= first && sig <= last {
		return fmt.Sprintf("SIGRTMIN+%d", int(sig)-first)
	}
	return fmt.Sprintf("signal %d", int(sig))
}
