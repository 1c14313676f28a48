// Package original remembers the soft limit of open files that this process was
// started with. The package syscall raises it when it is initialized and tells
// nobody what it was, so that this package has to be initialized before: it imports
// no package that imports another one, and Go initializes packages that are ready
// in the order of their import paths (Go specification, "Package initialization").
package original

import (
	"runtime"
	"unsafe"
)

// rawSyscall6 is that of the package syscall, which needs no initialization.
//
//go:linkname rawSyscall6 syscall.RawSyscall6
func rawSyscall6(trap, a1, a2, a3, a4, a5, a6 uintptr) (r1, r2, errno uintptr)

// files is the limit, the largest number there is if it cannot be read.
var files = read()

// Files returns the soft limit of open files that this process was started with,
// which its children get.
func Files() uint64 { return files }

// prlimit64 has the number of that system call.
var prlimit64 = map[string]uintptr{
	"amd64": 302, "arm": 369, "arm64": 261, "ppc64le": 325, "riscv64": 261, "s390x": 334,
}

func read() uint64 {
	const openFiles = 7 // RLIMIT_NOFILE
	var limit struct{ soft, hard uint64 }
	number, ok := prlimit64[runtime.GOARCH]
	if !ok {
		return ^uint64(0)
	}
	_, _, errno := rawSyscall6(number, 0, openFiles, 0, uintptr(unsafe.Pointer(&limit)), 0, 0) //nolint:gosec // it lives through the call
	if errno != 0 {
		return ^uint64(0)
	}
	return limit.soft
}
