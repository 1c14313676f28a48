package sigaction

import "syscall"

// faultSignals are those by which the kernel reports a fault of the program
// itself. Anyone of the same user may send them, too.
var faultSignals = []syscall.Signal{
	syscall.SIGABRT, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGILL, syscall.SIGSEGV, syscall.SIGSTKFLT,
	syscall.SIGSYS, syscall.SIGTRAP,
}
