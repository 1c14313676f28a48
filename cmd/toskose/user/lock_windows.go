package user

import (
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// lock blocks until no other process holds the lock of a file, and locks it until it is closed. It
// locks a byte far beyond the end of the file, as other processes cannot read a locked range.
func lock(f *os.File) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, &windows.Overlapped{Offset: math.MaxUint32, OffsetHigh: math.MaxInt32})
}
