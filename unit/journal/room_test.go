package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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

// TestOnAFullDiskAnEndIsWrittenWithoutItsOutput has more output than room was reserved
// for.
func TestOnAFullDiskAnEndIsWrittenWithoutItsOutput(t *testing.T) {
	t.Parallel()
	const many = 100
	disk := smallDisk(t, "1m")
	j, _ := mustOpen(t, filepath.Join(disk, "journal"), Options{})
	end := func(i int) wire.Entry {
		e := ended(i)
		e.Execution.Output = wire.Output{Stdout: strings.Repeat("\x01", wire.TailBytes), Truncated: true}
		return e
	}
	for i := range many {
		if _, err := j.Append(started(i)); err != nil {
			t.Fatal(err)
		}
	}
	fill(t, filepath.Join(disk, "fill"))
	for i := range many {
		e := end(i)
		if _, err := j.Append(e); err != nil {
			t.Fatalf("end %d of %d: %v", i, many, err)
		}
		if e.Execution.Stdout == "" {
			t.Fatal("the caller's execution has lost its output")
		}
	}
	if err := os.Remove(filepath.Join(disk, "fill")); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Append(end(many)); err != nil {
		t.Fatal(err)
	}
	page, err := j.Read("", 0)
	if err != nil {
		t.Fatal(err)
	}
	ends := page.Entries[len(page.Entries)-many-1:]
	for i, e := range ends {
		if e.Kind != wire.EntryExit || e.Execution.ID != fmt.Sprint(i) {
			t.Fatalf("entry %d is %+v", i, e)
		}
	}
	if x := ends[many-1].Execution; x.Output != (wire.Output{}) {
		t.Error("the last of the full disk has its output: the disk was not full")
	}
	if x := ends[many].Execution; x.Output != end(many).Execution.Output {
		t.Error("with room again the output is left out")
	}
}

func TestAFileSystemThatReservesNothingTakesAnEndWithoutItsOutput(t *testing.T) {
	t.Parallel()
	j, _, err := open(&smallStorage{newMemory(), 2000}, func() error { return nil }, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if _, err := j.Append(started(1)); err != nil {
		t.Fatal(err)
	}
	e := ended(1)
	e.Execution.Stdout = strings.Repeat("x", wire.TailBytes)
	if e, err = j.Append(e); err != nil || e.Execution.Stdout != "" {
		t.Errorf("%v, with %d bytes of output", err, len(e.Execution.Stdout))
	}
}

// smallStorage is one whose files have at most so many bytes.
type smallStorage struct {
	*memory
	most int
}

func (s *smallStorage) open(name string) (file, error) {
	f, err := s.memory.open(name)
	return smallFile{f, s.most}, err
}

type smallFile struct {
	file
	most int
}

func (f smallFile) WriteAt(p []byte, at int64) (int, error) {
	if at+int64(len(p)) > int64(f.most) {
		return 0, syscall.ENOSPC
	}
	return f.file.WriteAt(p, at)
}
