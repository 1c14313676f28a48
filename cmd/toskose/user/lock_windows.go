package user

import (
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// lock waits until no other process has a file locked, and locks it until it is closed:
// a byte far behind its end, because nobody else could read what is locked.
func lock(f *os.File) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, &windows.Overlapped{Offset: math.MaxUint32, OffsetHigh: math.MaxInt32})
}
