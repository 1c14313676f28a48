package logs

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/toskose/toskose/unit/wire"
)

// anOutlet is a container's output with a reader that reads when it is told to.
func anOutlet(t *testing.T) (*os.File, *outlet) {
	t.Helper()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.FcntlInt(writer.Fd(), unix.F_DUPFD_CLOEXEC, 0) // no child of another test is to keep it open
	if err != nil {
		t.Fatal(err)
	}
	writer.Close()
	o := &outlet{fd: fd}
	t.Cleanup(func() {
		// A child of another test, until it executes something, would have the reader's end, too.
		syscall.ForkLock.RLock()
		reader.Close()
		syscall.ForkLock.RUnlock()
		hangUp(o)
	})
	return reader, o
}

// hangUp ends an output, once.
func hangUp(o *outlet) {
	<-o.waitDrained()
	if o.fd >= 0 {
		unix.Close(o.fd)
	}
	o.fd = -1
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 5, time.UTC)

// aConsole returns a console and its readers; finish ends it when all is read.
func aConsole(t *testing.T) (c *Console, stdout, stderr *os.File, finish func()) {
	t.Helper()
	outReader, out := anOutlet(t)
	errReader, err := anOutlet(t)
	c = &Console{now: func() time.Time { return noon }, stdout: out, stderr: err}
	return c, outReader, errReader, func() {
		hangUp(out)
		hangUp(err)
	}
}

func all(t *testing.T, r io.Reader) string {
	t.Helper()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func write(t *testing.T, l *Lines, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if n, err := l.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatalf("Write(%q) = %d, %v", part, n, err)
		}
	}
}

func TestLinesArePrefixedWithTheirOperation(t *testing.T) {
	t.Parallel()
	c, stdout, stderr, finish := aConsole(t)
	l := c.Lines("api", "create", wire.Stdout, Prefixed)
	write(t, l, "one\ntw", "o\n\nb\xffd\r\nno end")
	l.Flush()
	l.Flush()
	write(t, c.Lines("gui", "start", wire.Stderr, Prefixed), "oops\n")
	finish()
	if got, want := all(t, stdout), "api:create | one\napi:create | two\napi:create | \napi:create | b\xffd\r\napi:create | no end\n"; got != want {
		t.Errorf("stdout is %q, want %q", got, want)
	}
	if got := all(t, stderr); got != "gui:start | oops\n" {
		t.Errorf("stderr is %q", got)
	}
	if s := l.Stats(); s.Written != 16 || s.Dropped != 0 {
		t.Errorf("stats: %+v", s)
	}
}

// record is a line of JSON as a reader understands it.
type record struct {
	Time      time.Time
	Component string
	Operation string
	Stream    string
	Line      *string
	Base64    []byte
	Partial   bool
	Lines     int `json:"dropped_lines"`
	Bytes     int `json:"dropped_bytes"`
}

// records joins the pieces of long lines.
func records(t *testing.T, text string) (list []record, lines []string) {
	t.Helper()
	piece := ""
	for line := range strings.Lines(text) {
		var r record
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&r); err != nil {
			t.Fatalf("%v: %q", err, line)
		}
		list = append(list, r)
		if r.Line != nil {
			piece += *r.Line
		}
		piece += string(r.Base64)
		if !r.Partial {
			lines = append(lines, piece)
			piece = ""
		}
	}
	return list, lines
}

func TestEveryByteSurvivesJSON(t *testing.T) {
	t.Parallel()
	c, stdout, _, finish := aConsole(t)
	every := make([]byte, 0, 256)
	for b := range 256 {
		if b != '\n' {
			every = append(every, byte(b))
		}
	}
	want := []string{
		"plain", "", `"quoted" \ and é € 𝄞`, "\x00\x01\x1b[31m\ttab\x7f\r", string(every), "\xff", "half a rune \xe2\x82",
		strings.Repeat("€", maxLine), strings.Repeat("\xff", 2*maxLine), strings.Repeat("x", maxLine), strings.Repeat("x", maxLine+1),
	}
	l := c.Lines(`a"p`, "create", wire.Stdout, JSON)
	text := strings.Join(want, "\n") + "\n"
	var read sync.WaitGroup
	var got string
	read.Go(func() { got = all(t, stdout) })
	for i := 0; i < len(text); i += 5000 {
		write(t, l, text[i:min(i+5000, len(text))])
	}
	finish()
	read.Wait()
	list, lines := records(t, got)
	if fmt.Sprint(lines) != fmt.Sprint(want) {
		t.Errorf("got %d lines, want %d", len(lines), len(want))
	}
	for _, r := range list {
		if !r.Time.Equal(noon) || r.Component != `a"p` || r.Operation != "create" || r.Stream != "stdout" {
			t.Errorf("%+v", r)
		}
		if r.Line != nil && (!utf8.ValidString(*r.Line) || len(*r.Line) > maxLine) {
			t.Errorf("a line of %d bytes", len(*r.Line))
		}
	}
	if !strings.Contains(got, `"time":"2026-01-02T12:00:00.000000005Z"`) {
		t.Errorf("the time is not RFC 3339 with nanoseconds: %.80s", got)
	}
}

func TestAReaderThatComesBackGetsAllOfWhatWasHeld(t *testing.T) {
	t.Parallel()
	c, stdout, stderr, finish := aConsole(t)
	held, hold := context.WithCancel(t.Context()) // hold is called again where the reader is slow
	const count = 100_000
	talks := func(stream wire.Stream, o PumpOptions) (*Lines, *Pump, *sync.WaitGroup) {
		l := c.Lines("api", "create", stream, Prefixed)
		o.Spools = []Blocker{l.Spool()}
		p, child, err := Start(l, o)
		if err != nil {
			t.Fatal(err)
		}
		var writer sync.WaitGroup
		writer.Go(func() {
			defer child.Close()
			for i := range count {
				if _, err := fmt.Fprintf(child, "line %d %50d\n", i, i); err != nil {
					t.Error(err)
					return
				}
			}
		})
		return l, p, &writer
	}
	complete := func(r io.Reader) {
		lines := bufio.NewScanner(r)
		for i := range count {
			if want := fmt.Sprintf("api:create | line %d %50d", i, i); !lines.Scan() || lines.Text() != want {
				t.Fatalf("line %d is %q", i, lines.Text())
			}
		}
	}
	l, p, writer := talks(wire.Stdout, PumpOptions{Blocked: hold})
	<-held.Done()
	// The other stream has a reader, and is not held.
	_, other, others := talks(wire.Stderr, PumpOptions{})
	complete(stderr)
	others.Wait()
	<-other.Done()
	// What was read is in the spool, which has taken no more.
	c.stdout.mu.Lock()
	waiting := l.spool.waiting
	c.stdout.mu.Unlock()
	if waiting < spoolFull || waiting > spoolFull+largeRead {
		t.Errorf("%d bytes wait", waiting)
	}
	p.Sync()
	if len(end(p)) == 0 {
		t.Error("a held program has no tail")
	}
	complete(stdout)
	writer.Wait()
	<-p.Done()
	finish()
	if s := l.Stats(); s.Dropped != 0 {
		t.Errorf("stats: %+v", s)
	}
}

func TestAProcessThatEndsWhileItIsHeldHasAllInItsLog(t *testing.T) {
	t.Parallel()
	c, stdout, _, finish := aConsole(t)
	var log sink
	l := c.Lines("api", "create", wire.Stdout, Prefixed)
	p, child, err := Start(io.MultiWriter(&log, l), PumpOptions{Spools: []Blocker{l.Spool()}})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat(strings.Repeat("x", 99)+"\n", spoolFull/100+400)
	cmd := exec.Command("/bin/sh", "-c", "cat; echo end")
	cmd.Stdin, cmd.Stdout = strings.NewReader(text), child
	ended := make(chan error, 1)
	go func() { ended <- cmd.Run() }()
	if err := <-ended; err != nil { // the rest fits into its pipe
		t.Fatal(err)
	}
	child.Close()
	p.Drain()
	<-p.Done() // nobody has read anything
	if log.String() != text+"end\n" {
		t.Errorf("the log has %d bytes", len(log.String()))
	}
	var read sync.WaitGroup
	got := ""
	read.Go(func() { got = all(t, stdout) })
	finish()
	read.Wait()
	if lines := strings.Count(got, "api:create | "); lines != strings.Count(text, "\n")+1 || !strings.HasSuffix(got, "api:create | end\n") {
		t.Errorf("%d lines arrived", lines)
	}
}

func TestWhatNoSpoolCanHoldIsNotDroppedInSilence(t *testing.T) {
	t.Parallel()
	c, stdout, _, finish := aConsole(t)
	text := strings.Repeat(strings.Repeat("x", 99)+"\n", 10_000)
	l, own := c.Lines("api", "create", wire.Stdout, JSON), New("/dev/stdout", Options{})
	own.std = &Spool{to: c.stdout}
	dropped := 0
	for range 10 {
		write(t, l, text)
		if n, err := own.Write([]byte(text)); n == 0 {
			dropped++
			if !errors.Is(err, errStalled) {
				t.Errorf("Write: %v", err)
			}
		}
	}
	if s := l.Stats(); dropped != 6 || s.Dropped != 6_000_000 || own.Stats().Dropped != 6_000_000 {
		t.Errorf("stats: %+v, %+v", s, own.Stats())
	}
	var read sync.WaitGroup
	got := ""
	read.Go(func() { got = all(t, stdout) })
	finish()
	read.Wait()
	for _, note := range []string{
		"toskose-unit | 60000 lines of 6000000 bytes were dropped here: the output was not read\n",
		`{"time":"2026-01-02T12:00:00.000000005Z","stream":"stdout","dropped_lines":60000,"dropped_bytes":6000000}` + "\n",
	} {
		if strings.Count(got, note) != 1 {
			t.Errorf("the output has not once %s", note)
		}
	}
	if lines := strings.Count(got, "\n"); lines != 80_002 {
		t.Errorf("%d lines", lines)
	}
}

func TestAnOutputThatDoesNotWaitIsWaitedFor(t *testing.T) {
	t.Parallel()
	c, stdout, _, finish := aConsole(t)
	if err := unix.SetNonblock(c.stdout.fd, true); err != nil { // as who shares it may do
		t.Fatal(err)
	}
	l := c.Lines("api", "create", wire.Stdout, Prefixed)
	write(t, l, strings.Repeat(strings.Repeat("x", 99)+"\n", 10_000))
	var read sync.WaitGroup
	got := ""
	read.Go(func() { got = all(t, stdout) })
	finish()
	read.Wait()
	if len(got) != 10_000*(100+len("api:create | ")) {
		t.Errorf("%d bytes arrived", len(got))
	}
}

func TestLinesOfManyWritersAreNotInterleaved(t *testing.T) {
	t.Parallel()
	reader, out := anOutlet(t)
	// One pipe for both, as on a terminal, and the unit's own log beside them.
	c := &Console{now: time.Now, stdout: out, stderr: out}
	own := New("/dev/stdout", Options{})
	own.std = &Spool{to: out}
	var read, writers sync.WaitGroup
	var got string
	read.Go(func() { got = all(t, reader) })
	for i := range 4 {
		for _, stream := range []wire.Stream{wire.Stdout, wire.Stderr} {
			writers.Go(func() {
				l := c.Lines("c", string(stream), stream, Prefixed)
				line := strings.Repeat(string(rune('a'+i)), 7000)
				for range 5 {
					_, _ = l.Write([]byte(line[:3000]))
					_, _ = l.Write([]byte(line[3000:] + "\n"))
				}
			})
		}
	}
	writers.Go(func() {
		for range 5 {
			_, _ = own.Write([]byte(strings.Repeat("u", 6000) + "\n"))
		}
	})
	writers.Wait()
	hangUp(out)
	read.Wait()
	lines := 0
	for line := range strings.Lines(got) {
		lines++
		_, text, prefixed := strings.Cut(line, " | ")
		if !prefixed {
			text = line
		}
		if len(text) < 6001 || strings.Trim(text[:len(text)-1], text[:1]) != "" {
			t.Fatalf("an interleaved line: %.60q", line)
		}
	}
	if lines != 45 {
		t.Errorf("%d lines", lines)
	}
}

func TestOnePipeForBothStreamsKeepsThemApartInJSON(t *testing.T) {
	t.Parallel()
	reader, out := anOutlet(t)
	c := &Console{now: time.Now, stdout: out, stderr: out}
	write(t, c.Lines("api", "create", wire.Stdout, JSON), "one\n")
	write(t, c.Lines("api", "create", wire.Stderr, JSON), "two\n")
	hangUp(out)
	list, _ := records(t, all(t, reader))
	if len(list) != 2 || list[0].Stream != "stdout" || list[1].Stream != "stderr" {
		t.Errorf("%+v", list)
	}
}

func TestFlushingWaitsAsLongAsTheReaderTakesSomething(t *testing.T) {
	t.Parallel()
	c, stdout, _, _ := aConsole(t)
	l := c.Lines("api", "create", wire.Stdout, Prefixed)
	write(t, l, strings.Repeat(strings.Repeat("x", 1000)+"\n", 200)) // more than the pipe holds
	ticked := make(chan time.Time)
	close(ticked)
	var first time.Duration
	c.stdout.flush(time.Now().Add(time.Hour), func(d time.Duration) <-chan time.Time {
		first = d
		return ticked
	})
	if first != flushPatience {
		t.Errorf("for a reader that takes nothing it waits %s", first)
	}
	waits, piece := 0, make([]byte, 50_000)
	took := func(time.Duration) <-chan time.Time { // each time something is taken
		before := c.stdout.taken.Load()
		for c.stdout.taken.Load() == before {
			_ = stdout.SetReadDeadline(time.Now().Add(time.Millisecond)) // for all may have been read
			if _, err := stdout.Read(piece); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error(err)
			}
			select {
			case <-c.stdout.waitDrained():
				return nil
			default:
			}
		}
		waits++
		return ticked
	}
	c.stdout.flush(time.Now().Add(time.Hour), took)
	if s := c.Stats(wire.Stdout); waits < 2 || s.Written != 200*(1001+uint64(len("api:create | "))) || s.Dropped != 0 || s.Err != nil {
		t.Errorf("after %d waits, stats: %+v", waits, s)
	}
	_ = stdout.SetReadDeadline(time.Time{})
	hangUp(c.stdout)
	all(t, stdout)
}

func TestAReaderThatIsGoneIsNoReasonToStop(t *testing.T) {
	t.Parallel()
	c, stdout, _, _ := aConsole(t)
	// A child of another test, until it executes something, would have the reader's end, too.
	syscall.ForkLock.RLock()
	stdout.Close()
	syscall.ForkLock.RUnlock()
	l := c.Lines("api", "create", wire.Stdout, Prefixed)
	for range 1000 {
		write(t, l, strings.Repeat("x", 5000)+"\n")
	}
	<-c.stdout.waitDrained()
	if s := c.Stats(wire.Stdout); s.Written != 0 || s.Dropped == 0 {
		t.Errorf("stats: %+v", s)
	}
}

func BenchmarkConsole(b *testing.B) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer null.Close()
	to := &outlet{fd: int(null.Fd())}
	c := &Console{now: time.Now, stdout: to, stderr: to}
	l := c.Lines("api", "create", wire.Stdout, JSON)
	text := []byte(strings.Repeat(strings.Repeat("x", 99)+"\n", 600))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		_, _ = l.Write(text)
		<-to.waitDrained()
	}
}
