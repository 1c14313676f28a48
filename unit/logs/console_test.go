package logs

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/toskose/toskose/unit/wire"
)

// ample is how long a test's reader may take, on however slow a machine.
const ample = time.Minute

// aPipe is a container's output with a reader that reads when it is told to.
func aPipe(t *testing.T) (*os.File, *stdStream) {
	t.Helper()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		reader.Close()
		writer.Close()
	})
	fd, err := unix.FcntlInt(writer.Fd(), unix.F_DUPFD_CLOEXEC, 0) // no child of another test is to keep it open
	if err != nil {
		t.Fatal(err)
	}
	writer.Close()
	to := newStdStream(fd, ample)
	t.Cleanup(func() { hangUp(to) })
	return reader, to
}

// hangUp ends an output, once.
func hangUp(s *stdStream) {
	if s.fd >= 0 {
		unix.Close(s.fd)
	}
	s.fd = -1
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 5, time.UTC)

func aConsole(t *testing.T, flush time.Duration, dropping func(wire.Stream)) (c *Console, stdout, stderr *os.File, finish func()) {
	t.Helper()
	outReader, out := aPipe(t)
	errReader, err := aPipe(t)
	c, startErr := newConsole(ConsoleOptions{Now: func() time.Time { return noon }, Dropping: dropping, flush: flush}, out, err)
	if startErr != nil {
		t.Fatal(startErr)
	}
	finish = sync.OnceFunc(func() {
		c.Close()
		hangUp(out)
		hangUp(err)
	})
	t.Cleanup(finish)
	return c, outReader, errReader, finish
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
	c, stdout, stderr, finish := aConsole(t, ample, nil)
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
	c, stdout, _, finish := aConsole(t, ample, nil)
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

func TestAReaderThatHasStoppedHoldsNobodyUpAndLearnsWhatItMissed(t *testing.T) {
	t.Parallel()
	told := make(chan wire.Stream, 10)
	c, stdout, stderr, finish := aConsole(t, ample, func(s wire.Stream) { told <- s })
	l := c.Lines("api", "create", wire.Stdout, JSON)
	const count = 30_000
	for i := range count {
		write(t, l, fmt.Sprintf("line %d %s\n", i, strings.Repeat("x", 50)))
	}
	// The other stream has a reader, and is not held up by it.
	write(t, c.Lines("api", "create", wire.Stderr, Prefixed), "here\n")
	if line, err := bufio.NewReader(stderr).ReadString('\n'); err != nil || line != "api:create | here\n" {
		t.Fatalf("%q, %v", line, err)
	}
	s := l.Stats()
	if s.Dropped == 0 || s.Written < consoleQueue/4 {
		t.Fatalf("stats: %+v", s)
	}
	// Now the reader goes on, and reads what waits. It is one gap, or two where
	// the first was full before anything was taken out of the queue.
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 1<<20)
	next, gaps := 0, 0
	for next < count && lines.Scan() {
		list, _ := records(t, lines.Text())
		if missed := list[0].Lines; missed > 0 {
			next, gaps = next+missed, gaps+1
			continue
		}
		if want := fmt.Sprintf("line %d ", next); !strings.HasPrefix(*list[0].Line, want) {
			t.Fatalf("line %q, want %q", *list[0].Line, want)
		}
		next++
	}
	if next != count || gaps == 0 {
		t.Errorf("%d of %d read or missed, in %d gaps", next, count, gaps)
	}
	write(t, l, "again\n")
	finish()
	var rest []string
	for lines.Scan() {
		rest = append(rest, lines.Text())
	}
	if len(rest) != 1 || !strings.Contains(rest[0], `"line":"again"`) {
		t.Errorf("after the gap: %q", rest)
	}
	close(told)
	said := 0
	for stream := range told {
		if said++; stream != wire.Stdout {
			t.Errorf("told of %s", stream)
		}
	}
	if said != gaps {
		t.Errorf("of %d gaps it was told %d times", gaps, said)
	}
}

func TestLinesOfManyWritersAreNotInterleaved(t *testing.T) {
	t.Parallel()
	reader, out := aPipe(t)
	// One pipe for both, as on a terminal, and the unit's own log beside them.
	c, err := newConsole(ConsoleOptions{flush: ample}, out, &stdStream{fd: out.fd})
	if err != nil {
		t.Fatal(err)
	}
	own := New("/dev/stdout", Options{})
	own.std = out
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
	c.Close()
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

func TestCloseDoesNotWaitForAReaderForEver(t *testing.T) {
	t.Parallel()
	c, stdout, _, _ := aConsole(t, time.Second, nil)
	l := c.Lines("api", "create", wire.Stdout, Prefixed)
	write(t, l, strings.Repeat(strings.Repeat("x", 1000)+"\n", 200)) // more than the pipe holds
	c.Close()
	if s := c.Stats(wire.Stdout); s.Written == 0 || s.Dropped == 0 || s.Err == nil {
		t.Errorf("stats: %+v", s)
	}
	write(t, l, "late\n")
	if s := l.Stats(); s.Dropped != 4 {
		t.Errorf("stats: %+v", s)
	}
	stdout.Close()
}

func TestAReaderThatIsGoneIsNoReasonToStop(t *testing.T) {
	t.Parallel()
	c, stdout, _, _ := aConsole(t, ample, nil)
	// A child of another test, until it executes something, would have the reader's end, too.
	syscall.ForkLock.RLock()
	stdout.Close()
	syscall.ForkLock.RUnlock()
	l := c.Lines("api", "create", wire.Stdout, Prefixed)
	for range 1000 {
		write(t, l, strings.Repeat("x", 5000)+"\n")
	}
	c.Close()
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
	to := newStdStream(int(null.Fd()), patience)
	c, err := newConsole(ConsoleOptions{}, to, to)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	l := c.Lines("api", "create", wire.Stdout, JSON)
	text := []byte(strings.Repeat(strings.Repeat("x", 99)+"\n", 600))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		_, _ = l.Write(text)
	}
}
