package logs

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toskose/toskose/unit/wire"
)

// atOnce is a context for those who do not wait.
func atOnce(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func after(t *testing.T, f *File, cursor string) Page {
	t.Helper()
	page, err := f.After(atOnce(t), cursor)
	if err != nil {
		t.Fatalf("After(%q): %v", cursor, err)
	}
	return page
}

func wantPage(t *testing.T, f *File, cursor, data string, gap bool) string {
	t.Helper()
	page := after(t, f, cursor)
	if string(page.Data) != data || page.Gap != gap {
		t.Fatalf("After(%q) = %q, gap %t; want %q, gap %t", cursor, page.Data, page.Gap, data, gap)
	}
	return page.Next
}

func TestAReaderGoesOnWhereItWasThroughRotations(t *testing.T) {
	t.Parallel()
	f := newFile(t, Options{MaxBytes: 10, Backups: 2})
	start := wantPage(t, f, "", "", false)
	mustWrite(t, f, "abc")
	middle := wantPage(t, f, start, "abc", false)
	wantPage(t, f, "", "abc", false)
	mustWrite(t, f, "defghijkl") // rotates
	next := wantPage(t, f, middle, "defghijkl", false)
	wantPage(t, f, next, "", false)
	mustWrite(t, f, "0123456789") // rotates
	mustWrite(t, f, "mn")
	wantPage(t, f, wantPage(t, f, middle, "defghijkl", false), "0123456789", false)
	last := wantPage(t, f, wantPage(t, f, next, "0123456789", false), "mn", false)
	// The file that both were in is dropped. Who had read all of it lost nothing.
	mustWrite(t, f, "opqrstuv") // rotates
	wantPage(t, f, next, "0123456789", false)
	wantPage(t, f, middle, "0123456789", true)
	wantPage(t, f, "", "0123456789", true) // what it began with is gone
	if page := after(t, f, ""); page.Lost != 12 {
		t.Errorf("%d bytes are said to be lost, of 12", page.Lost)
	}
	wantPage(t, f, last, "opqrstuv", false)
}

func TestAReaderIsToldWhatItHasMissed(t *testing.T) {
	t.Parallel()
	f := newFile(t, Options{MaxBytes: 10})
	mustWrite(t, f, "abc")
	read := wantPage(t, f, "", "abc", false)
	mustWrite(t, f, "0123456789") // cuts the file
	mustWrite(t, f, "xyz")
	read = wantPage(t, f, read, "xyz", true)
	mustWrite(t, f, "12")
	part := read
	read = wantPage(t, f, read, "12", false)
	if err := f.Clear(); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, f, "new")
	wantPage(t, f, part, "new", true)         // it had not read 12
	read = wantPage(t, f, read, "new", false) // it had
	if err := os.Truncate(f.Path(), 1); err != nil {
		t.Fatal(err)
	}
	wantPage(t, f, read, "n", true)
	// A cursor of an earlier run of the unit.
	f.Close()
	again := New(f.Path(), Options{})
	defer again.Close()
	wantPage(t, again, read, "n", true)
}

func TestAReaderSurvivesARenameBySomebodyElse(t *testing.T) {
	t.Parallel()
	f := newFile(t, Options{})
	mustWrite(t, f, "abc")
	read := wantPage(t, f, "", "abc", false)
	if err := os.Rename(f.Path(), f.Path()+".old"); err != nil {
		t.Fatal(err)
	}
	wantPage(t, f, read, "", false)
	if err := f.Reopen(); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, f, "def")
	wantPage(t, f, read, "def", false)
}

func TestAReaderMayBeginAtTheEnd(t *testing.T) {
	t.Parallel()
	f := newFile(t, Options{})
	page, err := f.After(t.Context(), EndCursor) // does not wait
	if err != nil || len(page.Data) != 0 {
		t.Fatalf("%+v, %v", page, err)
	}
	mustWrite(t, f, "abc")
	wantPage(t, f, page.Next, "abc", false)
	mustWrite(t, f, "def")
	wantPage(t, f, wantPage(t, f, EndCursor, "", false), "", false)
}

func TestAReaderWaitsForTheWriter(t *testing.T) {
	t.Parallel()
	f := newFile(t, Options{})
	cursor := after(t, f, "").Next
	var reading sync.WaitGroup
	reading.Go(func() {
		page, err := f.After(t.Context(), cursor)
		if err != nil || string(page.Data) != "abc" {
			t.Errorf("%+v, %v", page, err)
		}
	})
	mustWrite(t, f, "abc")
	reading.Wait()
	end := after(t, f, EndCursor).Next
	reading.Go(func() {
		if page, err := f.After(t.Context(), end); err != nil || len(page.Data) != 0 || page.Next != end {
			t.Errorf("after the log's end: %+v, %v", page, err)
		}
	})
	f.Close()
	reading.Wait()
}

func TestACursorThatIsNoneIsAFault(t *testing.T) {
	t.Parallel()
	f := newFile(t, Options{})
	good := after(t, f, "").Next
	life, _, _ := strings.Cut(good, ".")
	for _, cursor := range []string{"x", "1.2.3", life, life + ".0", life + ".0.-1", life + ".-1.0", life + ".0.0.0", life + ".0.x", "../../etc/passwd"} {
		if _, err := f.After(t.Context(), cursor); err == nil {
			t.Errorf("%q is taken", cursor)
		} else if code, _ := wire.FaultCodeOf(err); code != wire.BadArguments {
			t.Errorf("%q: %v", cursor, err)
		}
	}
	if page := after(t, f, life+".7.3"); !page.Gap || page.Next != good {
		t.Errorf("a cursor from the future: %+v", page)
	}
	if _, err := New("/dev/stdout", Options{}).After(t.Context(), ""); err == nil {
		t.Error("the container's output can be read")
	}
}

func TestAReaderOfAllOfAFileThatWasRotatedMissesNothingByAClear(t *testing.T) {
	t.Parallel()
	f := newFile(t, Options{MaxBytes: 10, Backups: 1})
	mustWrite(t, f, "0123456789") // rotates
	read := wantPage(t, f, "", "0123456789", false)
	if err := f.Clear(); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, f, "new")
	wantPage(t, f, read, "new", false)
}

// A reader that is interrupted at random, loses every answer now and then, and
// comes back with its cursor has in the end read each byte once.
func TestAnInterruptedReaderHasEveryByteOnce(t *testing.T) {
	t.Parallel()
	const lines = 3000
	f := newFile(t, Options{MaxBytes: 500, Backups: lines})
	var writing sync.WaitGroup
	var want strings.Builder
	for i := range lines {
		fmt.Fprintf(&want, "line %d\n", i)
	}
	writing.Go(func() {
		for line := range strings.Lines(want.String()) {
			if _, err := f.Write([]byte(line)); err != nil {
				t.Error(err)
			}
		}
	})
	cursor := ""
	var got strings.Builder
	for got.Len() < want.Len() {
		wait := time.Duration(rand.IntN(3)) * 100 * time.Microsecond
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		page, err := f.After(ctx, cursor)
		cancel()
		if err != nil || page.Gap {
			t.Fatalf("after %q: %+v, %v", cursor, page, err)
		}
		if rand.IntN(4) == 0 {
			continue // the answer was lost on its way
		}
		got.Write(page.Data)
		cursor = page.Next
	}
	writing.Wait()
	if got.String() != want.String() {
		t.Error("what was read is not what was written")
	}
}
