package logs

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/dice"
)

// ticking is a clock that a test moves.
type ticking struct{ nano atomic.Int64 }

func newClock() *ticking {
	c := &ticking{}
	c.nano.Store(time.Now().Add(-time.Hour).Truncate(time.Hour).UnixNano()) // files are no older than what is written
	return c
}

func (c *ticking) now() time.Time          { return time.Unix(0, c.nano.Load()) }
func (c *ticking) pass(d time.Duration)    { c.nano.Add(int64(d)) }
func (c *ticking) timed(o Options) Options { o.Now = c.now; return o }

// merged reads what there is, as "LOG:TEXT"; what is missing as "LOG!BYTES".
func merged(t *testing.T, files []*File, after []string, begin Begin) (all []string, next []string) {
	t.Helper()
	m, err := Merge(files, after, begin)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	next = slices.Clone(after)
	var last time.Time
	for {
		c, err := m.Next()
		if err != nil {
			t.Fatal(err)
		}
		if c == nil {
			return all, next
		}
		at, ok := parseCursor(c.At)
		if !ok {
			t.Fatalf("%q is no cursor", c.At)
		}
		at.offset += int64(len(c.Data))
		next[c.Log] = at.String()
		if c.Gap {
			all = append(all, fmt.Sprintf("%d!%d", c.Log, c.Lost))
		}
		if len(c.Data) > 0 {
			all = append(all, fmt.Sprintf("%d:%s", c.Log, c.Data))
			if c.Time.Before(last) {
				t.Errorf("%q is of %v, after %v", c.Data, c.Time, last)
			}
			last = c.Time
		}
	}
}

func TestSeveralLogsAreReadInTheOrderInWhichTheyWereWritten(t *testing.T) {
	t.Parallel()
	clock := newClock()
	a, b := newFile(t, clock.timed(Options{MaxBytes: 6, Backups: 9})), newFile(t, clock.timed(Options{}))
	files := []*File{a, b, New("/dev/stdout", Options{}), nil}
	for i, f := range []*File{a, b, a, a, b, a, b, b} {
		clock.pass(markEvery)
		mustWrite(t, f, fmt.Sprintf("%d\n", i))
	}
	want := []string{"0:0\n", "1:1\n", "0:2\n", "0:3\n", "1:4\n", "0:5\n", "1:6\n", "1:7\n"}
	got, next := merged(t, files, make([]string, 4), Begin{})
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	clock.pass(markEvery)
	mustWrite(t, b, "8\n")
	if got, _ := merged(t, files, next, Begin{}); !slices.Equal(got, []string{"1:8\n"}) {
		t.Errorf("then: %q", got)
	}
}

func TestAReaderBeginsAtATimeOrSoManyLinesBeforeTheEnd(t *testing.T) {
	t.Parallel()
	clock := newClock()
	f := newFile(t, clock.timed(Options{MaxBytes: 8, Backups: 9}))
	var times []time.Time
	for i := range 10 {
		clock.pass(time.Minute)
		times = append(times, clock.now())
		mustWrite(t, f, fmt.Sprintf("%d\n", i))
	}
	for _, c := range []struct {
		begin Begin
		want  string
	}{
		{Begin{}, "0123456789"},
		{Begin{Since: times[0].Add(-time.Hour)}, "0123456789"},
		{Begin{Since: times[5]}, "456789"}, // 4 may have been written with its mark, or later
		{Begin{Last: -1}, ""},
		{Begin{Last: 1}, "9"},
		{Begin{Last: 7}, "3456789"},
		{Begin{Last: 100}, "0123456789"},
		{Begin{Last: 7, Since: times[9]}, "89"},
		{Begin{Last: 1, Since: times[2]}, "9"},
	} {
		got, _ := merged(t, []*File{f}, []string{""}, c.begin)
		text := strings.NewReplacer("0:", "", "\n", "").Replace(strings.Join(got, ""))
		if text != c.want {
			t.Errorf("%+v: %q, want %q", c.begin, text, c.want)
		}
	}
}

func TestACursorOutlivesTheUnitThatKeepsAnIndex(t *testing.T) {
	t.Parallel()
	clock := newClock()
	o := clock.timed(Options{MaxBytes: 8, Backups: 3})
	f := newFile(t, o)
	for i := range 5 {
		clock.pass(time.Second)
		mustWrite(t, f, fmt.Sprintf("%d\n", i))
	}
	m, err := Merge([]*File{f}, []string{""}, Begin{})
	if err != nil {
		t.Fatal(err)
	}
	first, err := m.Next()
	if err != nil || string(first.Data) != "0\n" {
		t.Fatalf("%+v, %v", first, err)
	}
	second, err := m.Next()
	m.Close()
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	again := New(f.Path(), o)
	clock.pass(time.Second)
	if got, _ := merged(t, []*File{again}, []string{second.At}, Begin{}); !slices.Equal(got, []string{"0:1\n", "0:2\n", "0:3\n", "0:4\n"}) {
		t.Errorf("before the first write: %q", got)
	}
	mustWrite(t, again, "5\n")
	got, next := merged(t, []*File{again}, []string{second.At}, Begin{})
	if !slices.Equal(got, []string{"0:1\n", "0:2\n", "0:3\n", "0:4\n", "0:5\n"}) {
		t.Errorf("after it: %q", got)
	}
	again.Close()
	if err := os.WriteFile(f.Path(), []byte("x\n"), 0o600); err != nil { // somebody else begins anew
		t.Fatal(err)
	}
	other := New(f.Path(), o)
	defer other.Close()
	if got, _ := merged(t, []*File{other}, next, Begin{}); len(got) == 0 || got[0] != "0!0" {
		t.Errorf("of another file: %q", got)
	}
}

func TestWhatWasRotatedAwayIsCounted(t *testing.T) {
	t.Parallel()
	clock := newClock()
	f := newFile(t, clock.timed(Options{MaxBytes: 10, Backups: 1}))
	mustWrite(t, f, "abc")
	_, next := merged(t, []*File{f}, []string{""}, Begin{})
	mustWrite(t, f, "0123456789") // rotates, and so on
	mustWrite(t, f, "0123456789")
	mustWrite(t, f, "0123456789")
	mustWrite(t, f, "end")
	if got, _ := merged(t, []*File{f}, next, Begin{}); !slices.Equal(got, []string{"0!20", "0:0123456789", "0:end"}) {
		t.Errorf("%q", got)
	}
	if page := after(t, f, next[0]); page.Lost != 20 {
		t.Errorf("a page says %d", page.Lost)
	}
}

func TestAMergerWaitsAndEndsWithItsLogs(t *testing.T) {
	t.Parallel()
	a, b := newFile(t, newClock().timed(Options{})), newFile(t, newClock().timed(Options{}))
	m, err := Merge([]*File{a, b}, []string{"", ""}, Begin{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, f := range []*File{b, a} {
		if c, err := m.Next(); c != nil || err != nil {
			t.Fatalf("%+v, %v", c, err)
		}
		done := make(chan struct{})
		go func() { defer close(done); m.Wait(t.Context()) }()
		mustWrite(t, f, "x")
		<-done
		if c, err := m.Next(); c == nil || string(c.Data) != "x" {
			t.Fatalf("%+v, %v", c, err)
		}
	}
	a.Close()
	if _, err := m.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("a log that is closed: %v", err)
	}
}

// A reader of several logs that rotate, are cleared never, and whose unit ends now and
// then, is cut off at random, and has in the end every line once, each log's in order.
func TestAReaderOfSeveralLogsHasEveryLineOnce(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(dice.Seed(), 7))
	for story := range 20 {
		clock := newClock()
		o := clock.timed(Options{MaxBytes: 200, Backups: 1000})
		files, after := make([]*File, 4), make([]string, 4)
		var want, got [4]strings.Builder
		for i := range files {
			files[i] = newFile(t, o)
		}
		for step := range 300 {
			i := random.IntN(4)
			switch random.IntN(12) {
			case 0:
				files[i].Close()
				files[i] = New(files[i].Path(), o)
				t.Cleanup(func() { files[i].Close() })
			case 1, 2:
				m, err := Merge(files, after, Begin{})
				if err != nil {
					t.Fatal(err)
				}
				for range random.IntN(40) {
					c, err := m.Next()
					if err != nil {
						t.Fatal(err)
					}
					if c == nil {
						break
					}
					at, _ := parseCursor(c.At)
					at.offset += int64(len(c.Data))
					after[c.Log] = at.String()
					got[c.Log].Write(c.Data)
					if c.Gap {
						t.Errorf("story %d, step %d: a gap in %d", story, step, c.Log)
					}
				}
				m.Close()
			default:
				clock.pass(time.Duration(random.IntN(20)) * time.Millisecond)
				line := fmt.Sprintf("%d %d\n", i, step)
				want[i].WriteString(line)
				mustWrite(t, files[i], line)
			}
		}
		rest, _ := merged(t, files, after, Begin{})
		for _, line := range rest {
			i := int(line[0] - '0')
			got[i].WriteString(line[2:])
		}
		for i := range want {
			if got[i].String() != want[i].String() {
				t.Fatalf("story %d: of log %d\n%q was read, and\n%q written", story, i, got[i].String(), want[i].String())
			}
		}
	}
}
