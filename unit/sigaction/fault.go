package sigaction

import "syscall"

// faultSignals are the signals for faults of the program itself. Other processes of the same user
// may send them too.
var faultSignals = []syscall.Signal{
	syscall.SIGABRT, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGILL, syscall.SIGSEGV, syscall.SIGSTKFLT,
	syscall.SIGSYS, syscall.SIGTRAP,
}
