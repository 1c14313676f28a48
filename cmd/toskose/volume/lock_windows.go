package volume

import (
	"errors"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// canRemoveOpen reports whether an open file can be removed.
const canRemoveOpen = false

// tryLock locks a byte behind the end of a file, until it is closed; false: another process has.
func tryLock(f *os.File) (bool, error) {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{Offset: math.MaxUint32, OffsetHigh: math.MaxInt32})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}
