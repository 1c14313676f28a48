// Package original remembers the soft limit of open files that this process was
// started with. The package syscall raises it when it is initialized and tells
// nobody what it was, so that this package has to be initialized before: it imports
// no package that imports another one, and Go initializes packages that are ready
// in the order of their import paths (Go specification, "Package initialization").
package original

import _ "unsafe" // for go:linkname

// limit is the kernel's struct rlimit64: the soft limit, and the hard one.
type limit [2]uint64

// prlimit is that of the package syscall, which needs no initialization, and which
// has it for packages such as golang.org/x/sys/unix.
//
//go:linkname prlimit syscall.prlimit
func prlimit(pid, resource int, set, get *limit) error

var files = read()

// Files returns the soft limit of open files that this process was started with,
// which its children get: the largest number there is if it could not be read.
func Files() uint64 { return files }

func read() uint64 {
	const openFiles = 7 // RLIMIT_NOFILE, on all architectures of Linux but MIPS and SPARC
	var l limit
	if err := prlimit(0, openFiles, nil, &l); err != nil {
		return ^uint64(0)
	}
	return l[0]
}
