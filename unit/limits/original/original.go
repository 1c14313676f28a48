// Package original records the soft limit of open files that this process was started with. Package
// syscall raises it during its initialization and does not expose the original. So this package has
// to be initialized first: it has no transitive imports, and Go initializes packages that are ready
// in the order of their import paths (Go specification, "Package initialization").
package original

import _ "unsafe" // for go:linkname

// limit is the kernel's struct rlimit64: the soft and the hard limit.
type limit [2]uint64

// prlimit is the function of package syscall, which needs no initialization and is linkable for
// packages such as golang.org/x/sys/unix.
//
//go:linkname prlimit syscall.prlimit
func prlimit(pid, resource int, set, get *limit) error

var files = read()

// Files returns the soft limit of open files that this process was started with, which its children
// get, or the maximum value if it could not be read.
func Files() uint64 { return files }

func read() uint64 {
	const openFiles = 7 // RLIMIT_NOFILE, on all architectures of Linux but MIPS and SPARC
	var l limit
	if err := prlimit(0, openFiles, nil, &l); err != nil {
		return ^uint64(0)
	}
	return l[0]
}
