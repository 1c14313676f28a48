package logs

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// sizeOf is the size of a file; 0: there is none.
func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// TestIndexesStaySmallerThanTheirLogs: lines may be short, and many, and come at any pace.
func TestIndexesStaySmallerThanTheirLogs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, line string
		apart      time.Duration
		lines      int
	}{
		{"a letter, as often as it is noted", "x\n", markEvery, 8_000},
		{"a letter a second", "x\n", time.Second, 8_000},
		{"a word a second", "working\n", time.Second, 10_000},
		{"a line a minute", strings.Repeat("x", 50) + "\n", time.Minute, 12_000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			clock := newClock()
			f := newFile(t, clock.timed(Options{}))
			for i := range tt.lines {
				clock.pass(tt.apart)
				mustWrite(t, f, tt.line)
				room := max(timesFree, int64(len(tt.line)*(i+1))/timesShare)
				if size := sizeOf(f.Path() + timesSuffix); size > 2*room/3 { // a third is for another that takes its place
					t.Fatalf("%d bytes beside %d lines, of %d", size, i+1, room)
				}
			}
		})
	}
}

// TestTheFilesOfALogTakeNoMoreThanTheirRoom: a word a second had eight times as much in indexes as in logs.
func TestTheFilesOfALogTakeNoMoreThanTheirRoom(t *testing.T) {
	t.Parallel()
	const size, files = 64 << 10, 3
	clock := newClock()
	f := newFile(t, clock.timed(Options{MaxBytes: size, Backups: files - 1}))
	most := int64(0)
	for range 28_000 {
		clock.pass(time.Second)
		mustWrite(t, f, "working\n")
		if f.size%(16<<10) > 0 {
			continue
		}
		entries, err := filepath.Glob(f.Path() + "*")
		if err != nil {
			t.Fatal(err)
		}
		sum := int64(0)
		for _, path := range entries {
			sum += sizeOf(path)
		}
		most = max(most, sum)
	}
	if room := int64(files * (size + timesFree)); most > room || most < files*size {
		t.Errorf("the files of %d KiB took %d bytes, of %d", size>>10, most, room)
	}
}

// TestTimesStayNearWhereTheyAreThinned: what was written is shown no later than it was, and at
// the pace of a word a second not much earlier, also after the unit has begun again.
func TestTimesStayNearWhereTheyAreThinned(t *testing.T) {
	t.Parallel()
	const lines = 40_000
	clock := newClock()
	clock.pass(-24 * time.Hour) // the file is no older than its last line
	o := clock.timed(Options{})
	f := newFile(t, o)
	begin := clock.now()
	for i := range lines {
		if i == lines/2 {
			f.Close()
			f = New(f.Path(), o)
			defer f.Close()
		}
		clock.pass(time.Second)
		mustWrite(t, f, fmt.Sprintf("%07d\n", i))
	}
	m, err := Merge([]*File{f}, []string{""}, Begin{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	next := 0
	for {
		c, err := m.Next()
		if err != nil {
			t.Fatal(err)
		}
		if c == nil {
			break
		}
		for line := range strings.Lines(string(c.Data)) {
			if line != fmt.Sprintf("%07d\n", next) {
				t.Fatalf("%q, not %d", line, next)
			}
			next++
			late := begin.Add(time.Duration(next) * time.Second).Sub(c.Time)
			if late < 0 || late > 41*time.Second {
				t.Fatalf("line %d has the time %v, %v before it was written", next, c.Time, late)
			}
		}
	}
	if next != lines {
		t.Errorf("%d lines of %d", next, lines)
	}
	for i := 1; i < lines; i += lines / 10 {
		at := begin.Add(time.Duration(i+1) * time.Second)
		got, _ := merged(t, []*File{f}, []string{""}, Begin{Since: at})
		first, err := strconv.Atoi(strings.TrimPrefix(strings.SplitN(strings.Join(got, ""), "\n", 2)[0], "0:"))
		if err != nil || first > i || first < i-41 {
			t.Errorf("since line %d: from %d, %v", i, first, err)
		}
	}
}

// TestTimesAreExactAgain where there is room: once the log has grown, and in the next file.
func TestTimesAreExactAgain(t *testing.T) {
	t.Parallel()
	clock := newClock()
	f := newFile(t, clock.timed(Options{MaxBytes: 2 << 20, Backups: 1}))
	slowly := func() {
		for range 10_000 {
			clock.pass(time.Second)
			mustWrite(t, f, "working\n")
		}
	}
	quickly := func(when string) {
		t.Helper()
		_, next := merged(t, []*File{f}, []string{""}, Begin{Last: -1})
		for range 10 {
			clock.pass(markEvery)
			mustWrite(t, f, "busy\n")
		}
		if got, _ := merged(t, []*File{f}, next, Begin{}); len(got) != 10 {
			t.Errorf("%s: %q", when, got)
		}
	}
	slowly()
	mustWrite(t, f, strings.Repeat("working\n", 128<<10))
	quickly("in a log that has grown")
	slowly()
	mustWrite(t, f, strings.Repeat("working\n", 128<<10))
	if f.kept != 1 {
		t.Fatal("the log has not rotated")
	}
	slowly()
	f.rotate()
	quickly("in the next file")
}

// TestAnIndexOfTheReleaseBeforeIsReadAndThinned: it may be eight times as large as its log.
func TestAnIndexOfTheReleaseBeforeIsReadAndThinned(t *testing.T) {
	t.Parallel()
	clock := newClock()
	clock.pass(-24 * time.Hour)
	o := clock.timed(Options{})
	f := newFile(t, o)
	mustWrite(t, f, "0\n")
	mustWrite(t, f, strings.Repeat("0\n", 29_999))
	marks := []mark{}
	for i := 1; i < 30_000; i++ {
		clock.pass(time.Second)
		marks = append(marks, mark{int64(2 * i), clock.now().UnixNano()})
	}
	if !f.writeIndex(marks...) {
		t.Fatal("no index was written")
	}
	f.Close()
	thinned := f.Path() + timesSuffix + thinnedSuffix
	if err := os.WriteFile(thinned, []byte("of a unit that was killed"), 0o600); err != nil {
		t.Fatal(err)
	}
	again := New(f.Path(), o)
	defer again.Close()
	before, next := merged(t, []*File{again}, []string{""}, Begin{})
	if strings.Count(strings.Join(before, ""), "0:") != 30_000 {
		t.Errorf("%d chunks, one of each second", len(before))
	}
	if sizeOf(thinned) > 0 {
		t.Error("what a unit that was killed has left is still there")
	}
	clock.pass(time.Second)
	mustWrite(t, again, "1\n")
	if size := sizeOf(f.Path() + timesSuffix); size > timesFree/3 || size < timesFree/6 {
		t.Errorf("then the index has %d bytes", size)
	}
	if got, _ := merged(t, []*File{again}, next, Begin{}); strings.Join(got, "") != "0:1\n" {
		t.Errorf("%q since the cursor from before", got)
	}
	if got, _ := merged(t, []*File{again}, []string{""}, Begin{}); strings.Count(strings.Join(got, ""), "0") < 30_000 {
		t.Errorf("%d chunks once it was thinned", len(got))
	}
}

// TestAnIndexThatCannotBeThinnedGrowsNoFurther, as on a disk that is full, and is tried again.
func TestAnIndexThatCannotBeThinnedGrowsNoFurther(t *testing.T) {
	t.Parallel()
	clock := newClock()
	f := newFile(t, clock.timed(Options{}))
	mustWrite(t, f, "x\n")
	obstacle := filepath.Join(f.Path()+timesSuffix+thinnedSuffix, "obstacle")
	if err := os.MkdirAll(obstacle, 0o700); err != nil {
		t.Fatal(err)
	}
	for range 5000 {
		clock.pass(time.Second)
		mustWrite(t, f, "x\n")
	}
	if size := sizeOf(f.Path() + timesSuffix); size > 2*timesFree/3 || size < timesFree/2 {
		t.Errorf("%d bytes", size)
	}
	if err := os.RemoveAll(filepath.Dir(obstacle)); err != nil {
		t.Fatal(err)
	}
	clock.pass(10_000 * time.Second)
	mustWrite(t, f, "x\n")
	if size := sizeOf(f.Path() + timesSuffix); size > timesFree/3 {
		t.Errorf("then %d bytes", size)
	}
	if got, _ := merged(t, []*File{f}, []string{""}, Begin{}); strings.Count(strings.Join(got, ""), "x") != 5002 {
		t.Errorf("%d chunks", len(got))
	}
}

func BenchmarkAWordASecond(b *testing.B) {
	clock := newClock()
	f := New(filepath.Join(b.TempDir(), "log"), clock.timed(Options{MaxBytes: 10 << 20, Backups: 1}))
	defer f.Close()
	for b.Loop() {
		clock.pass(time.Second)
		if _, err := f.Write([]byte("working\n")); err != nil {
			b.Fatal(err)
		}
	}
}
