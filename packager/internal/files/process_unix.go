//go:build unix

package files

import (
	"errors"
	"syscall"
)

// hasExited reports whether no process has an id.
func hasExited(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
