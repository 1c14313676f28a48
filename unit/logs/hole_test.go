package logs

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/toskose/toskose/internal/dice"
)

// plain is what merged read of one log, with !BYTES! where some are missing.
func plain(all []string) string {
	var read strings.Builder
	for _, part := range all {
		text, isText := strings.CutPrefix(part, "0:")
		if !isText {
			text = strings.TrimPrefix(part, "0") + "!"
		}
		read.WriteString(text)
	}
	return read.String()
}

// TestWhatAFullDiskDoesNotTakeIsMissingWhereItWas fills a small disk, and makes room
// on it again.
func TestWhatAFullDiskDoesNotTakeIsMissingWhereItWas(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("it needs a file system of its own (run as root)")
	}
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("no tmpfs can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	f := New(filepath.Join(disk, "log"), newClock().timed(Options{}))
	defer f.Close()
	mustWrite(t, f, "before\n")
	other, err := os.Create(filepath.Join(disk, "other"))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for err == nil {
		_, err = other.Write(make([]byte, 4096))
	}
	text := strings.Repeat("x", 9999) + "\n"
	n, err := f.Write([]byte(text))
	if !errors.Is(err, syscall.ENOSPC) || n == 0 {
		t.Fatalf("the disk took %d of %d bytes, %v", n, len(text), err)
	}
	if _, err := f.Write([]byte(text)); err == nil {
		t.Fatal("the disk is not full")
	}
	lost := int64(2*len(text) - n)
	if got, _ := merged(t, []*File{f}, []string{""}, Begin{}); plain(got) != "before\n"+text[:n] {
		t.Errorf("as long as it is full there is %.60q", got)
	}
	if err := other.Truncate(0); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, f, "after\n")
	want := fmt.Sprintf("before\n%s!%d!after\n", text[:n], lost)
	got, next := merged(t, []*File{f}, []string{""}, Begin{})
	if plain(got) != want {
		t.Errorf("there is %.60q, not %.60q", got, want)
	}
	if got, _ := merged(t, []*File{f}, next, Begin{}); len(got) > 0 {
		t.Errorf("at the end there is %.60q", got)
	}
	page := after(t, f, "")
	if string(page.Data) != "before\n"+text[:n] || page.Gap {
		t.Errorf("the first page has %d bytes, gap %v", len(page.Data), page.Gap)
	}
	if page = after(t, f, page.Next); string(page.Data) != "after\n" || !page.Gap || page.Lost != lost {
		t.Errorf("the second page is %+v", page)
	}
}

// TestWhoeverReadsIsToldOfEachHoleOnce has a log that takes only some of what is written,
// through rotations, and readers that come and go.
func TestWhoeverReadsIsToldOfEachHoleOnce(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(dice.Seed(), 1))
	for range 100 {
		f := newFile(t, newClock().timed(Options{MaxBytes: int64(5 + r.IntN(40)), Backups: 100}))
		var want strings.Builder
		var got []string
		next := []string{""}
		missing := int64(0)
		for i := range 2 + r.IntN(20) {
			if r.IntN(3) == 0 {
				n := int64(1 + r.IntN(9))
				f.mu.Lock()
				f.recordHole(n)
				f.mu.Unlock()
				missing += n
			} else {
				if missing > 0 {
					fmt.Fprintf(&want, "!%d!", missing)
				}
				missing = 0
				text := fmt.Sprintf("<%d>", i)
				mustWrite(t, f, text)
				want.WriteString(text)
			}
			if r.IntN(2) == 0 {
				var more []string
				more, next = merged(t, []*File{f}, next, Begin{})
				got = append(got, more...)
			}
		}
		more, _ := merged(t, []*File{f}, next, Begin{})
		if read := plain(slices.Concat(got, more)); read != want.String() {
			t.Fatalf("it was read as\n%s, not\n%s", read, want.String())
		}
	}
}
