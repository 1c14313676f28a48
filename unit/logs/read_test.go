package logs

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/toskose/toskose/unit/wire"
)

func TestReadsGiveWhatSupervisorGives(t *testing.T) {
	t.Parallel()
	f := newFile(t, Options{})
	mustWrite(t, f, "0123456789")
	for _, test := range []struct {
		offset, length int64
		want           string
	}{
		{0, 0, "0123456789"},
		{3, 0, "3456789"},
		{3, 2, "34"},
		{8, 100, "89"},
		{10, 0, ""},
		{100, 5, ""},
		{-3, 0, "789"},
		{-100, 0, "0123456789"},
		{math.MinInt64, 0, "0123456789"},
		{0, math.MaxInt64, "0123456789"},
		{math.MaxInt64, math.MaxInt64, ""},
	} {
		got, err := f.Read(test.offset, test.length)
		if err != nil || string(got) != test.want {
			t.Errorf("Read(%d, %d) = %q, %v; want %q", test.offset, test.length, got, err, test.want)
		}
	}
}

func TestReadsThatMakeNoSenseAreFaults(t *testing.T) {
	t.Parallel()
	f := newFile(t, Options{})
	wantFault := func(code wire.FaultCode, offset, length int64) {
		t.Helper()
		_, err := f.Read(offset, length)
		if got, ok := wire.FaultCodeOf(err); !ok || got != code {
			t.Errorf("Read(%d, %d): %v, want %s", offset, length, err, code)
		}
	}
	wantFault(wire.NoFile, 0, 0)
	mustWrite(t, f, "x")
	wantFault(wire.BadArguments, -1, 1)
	wantFault(wire.BadArguments, -1, -1)
	wantFault(wire.BadArguments, 0, -1)
	if err := os.Remove(f.Path()); err != nil {
		t.Fatal(err)
	}
	wantFault(wire.NoFile, 0, 0)
	if err := os.Mkdir(f.Path(), 0o700); err != nil {
		t.Fatal(err)
	}
	wantFault(wire.Failed, 0, 0)
	if _, err := New("/dev/stdout", Options{}).Read(0, 0); err == nil {
		t.Error("the container's output can be read")
	}
}

func TestNoReadIsLongerThanMaxRead(t *testing.T) {
	t.Parallel()
	f := newFile(t, Options{})
	mustWrite(t, f, "x")
	if err := os.Truncate(f.Path(), MaxRead+10); err != nil {
		t.Fatal(err)
	}
	for _, offset := range []int64{0, 5, -(MaxRead + 5)} {
		if data, err := f.Read(offset, 0); err != nil || len(data) != MaxRead {
			t.Errorf("Read(%d, 0) gives %d bytes, %v", offset, len(data), err)
		}
	}
	if data, next, _ := f.Tail(0, math.MaxInt64); len(data) != MaxRead || next != MaxRead+10 {
		t.Errorf("Tail gives %d bytes, %d", len(data), next)
	}
}

func TestTailsGiveWhatSupervisorGives(t *testing.T) {
	t.Parallel()
	f := newFile(t, Options{})
	if data, next, overflow := f.Tail(7, 5); len(data) != 0 || next != 0 || overflow {
		t.Fatalf("no log: %q, %d, %t", data, next, overflow)
	}
	mustWrite(t, f, "0123456789")
	for _, test := range []struct {
		offset, length int64
		want           string
		overflow       bool
	}{
		{0, 10, "0123456789", false},
		{0, 20, "0123456789", false},
		{0, 4, "6789", true},
		{0, 1, "9", true},
		{0, 0, "", true},
		{5, 5, "56789", false},
		{5, 8, "23456789", false}, // filled up with what is before the offset
		{9, 3, "789", false},
		{10, 5, "", false},
		{50, 5, "", false},
		{-5, 3, "789", true},
		{0, -1, "", true},
		{math.MaxInt64, math.MaxInt64, "", false},
		{math.MinInt64, math.MinInt64, "", true},
	} {
		data, next, overflow := f.Tail(test.offset, test.length)
		if string(data) != test.want || next != 10 || overflow != test.overflow {
			t.Errorf("Tail(%d, %d) = %q, %d, %t; want %q, 10, %t",
				test.offset, test.length, data, next, overflow, test.want, test.overflow)
		}
	}
}

// follow reads until it has so many bytes.
func follow(t *testing.T, w *Follower, bytes int) string {
	t.Helper()
	var got strings.Builder
	for got.Len() < bytes {
		data, err := w.Next(t.Context())
		if err != nil {
			t.Fatalf("after %q: %v", got.String(), err)
		}
		got.Write(data)
	}
	return got.String()
}

func mustFollow(t *testing.T, f *File) *Follower {
	t.Helper()
	w, err := f.Follow()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func wantNext(t *testing.T, w *Follower, want string) {
	t.Helper()
	if got := follow(t, w, len(want)); got != want {
		t.Fatalf("followed %q, want %q", got, want)
	}
}

func TestFollowingStartsShortlyBeforeTheEnd(t *testing.T) {
	t.Parallel()
	f := newFile(t, Options{})
	if _, err := f.Follow(); err == nil {
		t.Fatal("a log that is not there can be followed")
	}
	mustWrite(t, f, strings.Repeat("x", 5000)+strings.Repeat("y", 1024))
	w := mustFollow(t, f)
	wantNext(t, w, strings.Repeat("y", 1024))
	mustWrite(t, f, "more")
	wantNext(t, w, "more")
}

func TestFollowingIsWokenByTheWriter(t *testing.T) {
	t.Parallel()
	f := newFile(t, Options{})
	mustWrite(t, f, "a")
	w := mustFollow(t, f)
	wantNext(t, w, "a")
	got := make(chan string)
	go func() {
		data, err := w.Next(context.WithoutCancel(t.Context()))
		if err != nil {
			t.Error(err)
		}
		got <- string(data)
	}()
	mustWrite(t, f, "b")
	if text := <-got; text != "b" {
		t.Fatalf("followed %q", text)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("a cancelled follower: %v", err)
	}
	mustWrite(t, f, "end")
	f.Close()
	wantNext(t, w, "end")
	if _, err := w.Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Fatalf("after the end: %v", err)
	}
}

func TestFollowingLosesNothingThroughRotations(t *testing.T) {
	t.Parallel()
	f := newFile(t, Options{MaxBytes: 4, Backups: 3})
	mustWrite(t, f, "a")
	w := mustFollow(t, f)
	wantNext(t, w, "a")
	for _, text := range []string{"aaaa", "bbbb", "cccc", "d"} {
		mustWrite(t, f, text)
	}
	wantNext(t, w, "aaaabbbbccccd")
	mustWrite(t, f, "eee")
	mustWrite(t, f, "f")
	wantNext(t, w, "eeef")
}

func TestFollowingSaysWhereBackupsAreGone(t *testing.T) {
	t.Parallel()
	f := newFile(t, Options{MaxBytes: 4, Backups: 1})
	mustWrite(t, f, "a")
	w := mustFollow(t, f)
	for _, text := range []string{"aaaa", "bbbb", "cccc", "d"} {
		mustWrite(t, f, text)
	}
	wantNext(t, w, "aaaaa"+string(truncated)+"ccccd")
}

func TestFollowingSaysThatTheFileWasTruncated(t *testing.T) {
	t.Parallel()
	f := newFile(t, Options{MaxBytes: 10})
	mustWrite(t, f, "123")
	w := mustFollow(t, f)
	wantNext(t, w, "123")
	mustWrite(t, f, "4567890")
	wantNext(t, w, string(truncated))
	mustWrite(t, f, "abcde") // longer than where the follower was
	wantNext(t, w, "abcde")
	mustWrite(t, f, "fghij")
	mustWrite(t, f, "ABCDEFG") // cut and grown beyond, before anybody looked
	wantNext(t, w, string(truncated)+"ABCDEFG")
	if err := os.Truncate(f.Path(), 0); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, f, "x") // by somebody else
	wantNext(t, w, string(truncated)+"x")
}

func TestFollowingGoesOnAfterClearAndReopen(t *testing.T) {
	t.Parallel()
	f := newFile(t, Options{})
	mustWrite(t, f, "a")
	w := mustFollow(t, f)
	mustWrite(t, f, "b")
	if err := f.Clear(); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, f, "c")
	wantNext(t, w, "abc")
	if err := f.Reopen(); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, f, "d")
	wantNext(t, w, "d")
	if err := os.Rename(f.Path(), f.Path()+".old"); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, f, "e")
	if err := f.Reopen(); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, f, "f")
	wantNext(t, w, "ef")
}

func TestAFollowerAndAWriterAtTheSameTimeAgree(t *testing.T) {
	t.Parallel()
	f := newFile(t, Options{MaxBytes: 100, Backups: 10_000})
	mustWrite(t, f, "start")
	w := mustFollow(t, f)
	const lines = 2000
	go func() {
		for range lines {
			if _, err := f.Write([]byte("0123456789abcdef")); err != nil {
				t.Error(err)
			}
		}
	}()
	if got, want := follow(t, w, 5+16*lines), "start"+strings.Repeat("0123456789abcdef", lines); got != want {
		t.Fatal("what was followed is not what was written")
	}
}
