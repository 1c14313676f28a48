//go:build !windows

package volume

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// canRemoveOpen reports whether an open file can be removed.
const canRemoveOpen = true

// tryLock locks a file until it is closed; false: another process has locked it.
func tryLock(f *os.File) (bool, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
