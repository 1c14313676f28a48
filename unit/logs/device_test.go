package logs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func aPipe(t *testing.T) *File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f := New(path, Options{MaxBytes: 100, Backups: 1})
	t.Cleanup(func() { f.Close() })
	return f
}

// numbered are lines that are as many bytes, or a few more.
func numbered(size int) string {
	var text strings.Builder
	for i := 0; text.Len() < size; i++ {
		fmt.Fprintf(&text, "line %d of a log that somebody reads later\n", i)
	}
	return text.String()
}

// reads wants a reader to get a text, and then nothing.
func reads(t *testing.T, r io.Reader, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if n, err := io.ReadFull(r, got); err != nil {
		t.Fatalf("after %d of %d bytes: %v", n, len(want), err)
	}
	if string(got) != want {
		t.Fatalf("it read %d bytes that are others", len(got))
	}
}

func TestANamedPipeKeepsForItsReaderWhatWasWrittenBefore(t *testing.T) {
	t.Parallel()
	f := aPipe(t)
	want := numbered(spoolFull - 1000)
	for line := range strings.Lines(want) {
		mustWrite(t, f, line) // none of these waits
	}
	if f.full() != nil {
		t.Error("it holds who writes to it")
	}
	more := numbered(2 * largePipe) // more than any pipe takes
	mustWrite(t, f, more)
	room := f.full()
	if room == nil {
		t.Fatal("it holds nobody")
	}
	if err := f.Reopen(); err != nil { // as for rotation: it is the same pipe
		t.Fatal(err)
	}
	reader, err := os.Open(f.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	reads(t, reader, want+more)
	<-room
	mustWrite(t, f, "end\n")
	f.Close()
	rest, err := io.ReadAll(reader) // to the end, now that nobody has it open for writing
	if err != nil || string(rest) != "end\n" {
		t.Errorf("then %q, %v", rest, err)
	}
	if s := f.Stats(); s.Dropped != 0 || s.Err != nil {
		t.Errorf("stats: %+v", s)
	}
}

func TestWhoPrintsIntoAPipeThatNobodyReadsIsHeld(t *testing.T) {
	t.Parallel()
	f := aPipe(t)
	p, child, err := Start(f, PumpOptions{Spools: []Blocker{f}})
	if err != nil {
		t.Fatal(err)
	}
	want := numbered(4 * spoolFull)
	var written atomic.Int64
	go func() {
		for line := range strings.Lines(want) {
			n, _ := child.WriteString(line)
			written.Add(int64(n))
		}
		child.Close()
	}()
	reader, err := os.Open(f.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	first := make([]byte, 1)
	if _, err := io.ReadFull(reader, first); err != nil {
		t.Fatal(err)
	}
	for f.full() == nil { // it gets there, whatever else happens
		time.Sleep(time.Millisecond)
	}
	const most = 2*spoolFull + 2*largePipe // what is spooled, read once, and in the two pipes
	if n := written.Load(); n > most {
		t.Errorf("%d bytes were written and not read", n)
	}
	if _, err := f.Read(0, 0); err == nil { // asked by a client: it does not wait either
		t.Error("a pipe can be read back")
	}
	reads(t, reader, want[1:])
	<-p.Done()
	if s := f.Stats(); s.Dropped != 0 {
		t.Errorf("stats: %+v", s)
	}
}

// aTerminal returns a terminal's path and its other end.
func aTerminal(t *testing.T) (string, *os.File) {
	t.Helper()
	other, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Close() })
	fd := int(other.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("/dev/pts/%d", number), other
}

func TestATerminalThatIsStoppedGetsAllOnceItGoesOn(t *testing.T) {
	t.Parallel()
	path, other := aTerminal(t)
	f := New(path, Options{})
	t.Cleanup(func() { f.Close() })
	want := numbered(200_000)
	for line := range strings.Lines(want) {
		mustWrite(t, f, line)
	}
	text := bufio.NewScanner(other)
	for line := range strings.Lines(want) {
		if !text.Scan() || text.Text()+"\n" != line {
			t.Fatalf("%q in the place of %q, %v", text.Text(), line, text.Err())
		}
	}
	other.Close() // it is hung up
	for err := error(nil); err == nil; _, err = f.Write([]byte("more\n")) {
		time.Sleep(time.Millisecond)
	}
	if s := f.Stats(); s.Err == nil || errors.Is(s.Err, errClosed) {
		t.Errorf("stats: %+v", s)
	}
}
