package journal

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// A child that was forked and has not executed yet has all files of the unit
// open, its lock as well.
func TestAFolderIsFreeAsSoonAsItsJournalIsClosedWhoeverElseHasTheFile(t *testing.T) {
	t.Parallel()
	f := &folder{dir: t.TempDir()}
	if err := f.lock(); err != nil {
		t.Fatal(err)
	}
	child, err := unix.FcntlInt(f.held.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer os.NewFile(uintptr(child), "the child's").Close()
	if err := f.unlock(); err != nil {
		t.Fatal(err)
	}
	next := &folder{dir: f.dir}
	if err := next.lock(); err != nil {
		t.Fatal(err)
	}
	if err := next.unlock(); err != nil {
		t.Fatal(err)
	}
}
