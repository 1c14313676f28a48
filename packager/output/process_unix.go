//go:build unix

package output

import (
	"errors"
	"syscall"
)

// hasExited reports whether no process has the ID.
func hasExited(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
