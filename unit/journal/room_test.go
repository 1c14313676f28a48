package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/toskose/toskose/unit/wire"
)

// smallDisk is a folder on a file system of its own.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("it needs a file system of its own (run as root)")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("no tmpfs can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill writes a file until its disk is full to the last byte.
func fill(t *testing.T, path string) {
	t.Helper()
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	for block := make([]byte, 4096); err == nil; {
		_, err = out.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}

func started(i int) wire.Entry {
	return wire.Entry{Kind: wire.EntryStart, Component: "api", State: "created", Execution: &wire.Execution{ID: fmt.Sprint(i)}}
}

func ended(i int) wire.Entry {
	e := started(i)
	e.Kind, e.State, e.Why = wire.EntryExit, fmt.Sprint(i), string(make([]byte, 200))
	return e
}

func TestOnAFullDiskTheLastSegmentGrowsByWhatWasReserved(t *testing.T) {
	t.Parallel()
	const many = 100
	disk := smallDisk(t, "1m")
	var b book
	j, _ := mustOpen(t, filepath.Join(disk, "journal"), b.options(Options{SegmentBytes: 20 << 10, Segments: 100}))
	for i := range many {
		if _, err := j.Append(started(i)); err != nil {
			t.Fatal(err)
		}
	}
	fill(t, filepath.Join(disk, "fill"))
	for i := range many {
		if _, err := j.Append(ended(i)); err != nil {
			t.Fatalf("end %d of %d: %v", i, many, err)
		}
	}
	// What is left of the room is for those that would have begun.
	for i := 0; ; i++ {
		_, err := j.Append(started(many + i))
		if errors.Is(err, ErrUnavailable) && errors.Is(err, syscall.ENOSPC) {
			break
		}
		if err != nil || i > 1000 {
			t.Fatalf("start %d: %v", i, err)
		}
	}
	if _, err := j.Append(ended(many)); err != nil {
		t.Errorf("an end after the refused start: %v", err)
	}
	if err := os.Remove(filepath.Join(disk, "fill")); err != nil {
		t.Fatal(err)
	}
	for i := range many {
		if _, err := j.Append(started(i)); err != nil {
			t.Fatal(err)
		}
	}
	if first := j.segments[len(j.segments)-1].index[0].seq; first <= 2*many {
		t.Errorf("with room again the last segment begins with entry %d", first)
	}
	seq := j.Seq()
	j.Close()
	again, replay := mustOpen(t, filepath.Join(disk, "journal"), Options{})
	if again.Seq() != seq || len(replay.Notes) != 0 {
		t.Errorf("opened again it is at %d, not %d: %q", again.Seq(), seq, replay.Notes)
	}
}
