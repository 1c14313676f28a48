package logs

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func newFile(t *testing.T, o Options) *File {
	t.Helper()
	f := New(filepath.Join(t.TempDir(), "api", "start.stdout.log"), o)
	t.Cleanup(func() { f.Close() })
	return f
}

func mustWrite(t *testing.T, f *File, text string) {
	t.Helper()
	if n, err := f.Write([]byte(text)); n != len(text) || err != nil {
		t.Fatalf("Write(%q) = %d, %v", text, n, err)
	}
}

// contents returns the text of a file, "-" where there is none.
func contents(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return "-"
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func wantFiles(t *testing.T, f *File, want ...string) {
	t.Helper()
	got := []string{contents(t, f.Path())}
	for i := 1; i < len(want); i++ {
		got = append(got, contents(t, f.backup(i)))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("the files are %q, want %q", got, want)
		}
	}
}

func TestALogAndItsFolderAreMadeByTheFirstWrite(t *testing.T) {
	t.Parallel()
	f := newFile(t, Options{})
	if contents(t, f.Path()) != "-" {
		t.Fatal("New has made a file")
	}
	mustWrite(t, f, "a\xff\x00b")
	wantFiles(t, f, "a\xff\x00b")
	if s := f.Stats(); s.Written != 4 || s.Dropped != 0 || s.Err != nil {
		t.Fatalf("stats: %+v", s)
	}
}

func TestALogOfAnEarlierRunIsContinued(t *testing.T) {
	t.Parallel()
	f := newFile(t, Options{MaxBytes: 10, Backups: 1})
	mustWrite(t, f, "12345")
	f.Close()
	again := New(f.Path(), Options{MaxBytes: 10, Backups: 1})
	defer again.Close()
	if err := again.Open(); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, again, "6789")
	wantFiles(t, again, "123456789", "-")
	mustWrite(t, again, "0")
	wantFiles(t, again, "", "1234567890")
}

func TestRotationIsCheckedAfterEachWrite(t *testing.T) {
	t.Parallel()
	f := newFile(t, Options{MaxBytes: 4, Backups: 2})
	for _, step := range []struct {
		write string
		files []string
	}{
		{"aaa", []string{"aaa", "-", "-", "-"}},
		{"bbbbbb", []string{"", "aaabbbbbb", "-", "-"}},
		{"cccc", []string{"", "cccc", "aaabbbbbb", "-"}},
		{"d", []string{"d", "cccc", "aaabbbbbb", "-"}},
		{"eee", []string{"", "deee", "cccc", "-"}},
	} {
		mustWrite(t, f, step.write)
		wantFiles(t, f, step.files...)
	}
}

func TestWithoutBackupsTheFileIsTruncated(t *testing.T) {
	t.Parallel()
	f := newFile(t, Options{MaxBytes: 4})
	mustWrite(t, f, "aaaa")
	wantFiles(t, f, "", "-")
	mustWrite(t, f, "b")
	wantFiles(t, f, "b", "-")
}

func TestRotationLosesNothingThatFitsIntoItsBackups(t *testing.T) {
	t.Parallel()
	for seed := range uint64(15) {
		random := rand.New(rand.NewPCG(seed, 0))
		o := Options{MaxBytes: random.Int64N(100) + 1, Backups: random.IntN(5) + 1}
		f := newFile(t, o)
		var all strings.Builder
		for i := range 100 {
			text := strings.Repeat(fmt.Sprint(i%10), random.IntN(int(o.MaxBytes)*2)+1)
			mustWrite(t, f, text)
			all.WriteString(text)
		}
		var kept string
		for i := o.Backups; i > 0; i-- {
			part := contents(t, f.backup(i))
			if int64(len(part)) < o.MaxBytes || int64(len(part)) >= 3*o.MaxBytes {
				t.Fatalf("%+v: backup %d has %d bytes", o, i, len(part))
			}
			kept += part
		}
		kept += contents(t, f.Path())
		if !strings.HasSuffix(all.String(), kept) {
			t.Fatalf("%+v: what is kept is not the end of what was written", o)
		}
		if contents(t, f.backup(o.Backups+1)) != "-" {
			t.Fatalf("%+v: there are too many backups", o)
		}
	}
}

func TestReopenFollowsARenameBySomebodyElse(t *testing.T) {
	t.Parallel()
	f := newFile(t, Options{})
	mustWrite(t, f, "old")
	if err := os.Rename(f.Path(), f.Path()+".old"); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, f, "er")
	if err := f.Reopen(); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, f, "new")
	if old := contents(t, f.Path()+".old"); old != "older" {
		t.Fatalf("the old file has %q", old)
	}
	wantFiles(t, f, "new")
}

func TestClearRemovesTheLogAndBeginsAnother(t *testing.T) {
	t.Parallel()
	f := newFile(t, Options{MaxBytes: 4, Backups: 1})
	if err := f.Clear(); err != nil {
		t.Fatalf("of a log that is not there: %v", err)
	}
	mustWrite(t, f, "aaaa")
	mustWrite(t, f, "b")
	if err := f.Clear(); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, f, "", "aaaa")
	mustWrite(t, f, "c")
	wantFiles(t, f, "c", "aaaa")
}

func TestClearLeavesADeviceWhereItIs(t *testing.T) {
	t.Parallel()
	link := filepath.Join(t.TempDir(), "log")
	if err := os.Symlink("/dev/null", link); err != nil {
		t.Fatal(err)
	}
	f := New(link, Options{MaxBytes: 1, Backups: 1})
	defer f.Close()
	mustWrite(t, f, "gone")
	if err := f.Clear(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(link); err != nil {
		t.Fatal(err)
	}
	if contents(t, f.backup(1)) != "-" {
		t.Fatal("the device was rotated")
	}
}

func TestAFullDiskDropsAndCountsAndRecovers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "log")
	if err := os.Symlink("/dev/full", path); err != nil {
		t.Fatal(err)
	}
	f := New(path, Options{MaxBytes: 100, Backups: 1})
	defer f.Close()
	for range 3 {
		if _, err := f.Write([]byte("12345")); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("Write: %v", err)
		}
	}
	if s := f.Stats(); s.Dropped != 15 || s.Written != 0 || !errors.Is(s.Err, syscall.ENOSPC) {
		t.Fatalf("stats: %+v", s)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := f.Reopen(); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, f, "again")
	if s := f.Stats(); s.Dropped != 15 || s.Written != 5 || s.Err != nil {
		t.Fatalf("stats: %+v", s)
	}
}

func TestAFolderThatCannotBeMadeIsTriedAgainByTheNextWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	obstacle := filepath.Join(dir, "api")
	if err := os.WriteFile(obstacle, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f := New(filepath.Join(obstacle, "log"), Options{})
	defer f.Close()
	if err := f.Open(); err == nil {
		t.Fatal("Open gives no error")
	}
	if _, err := f.Write([]byte("lost")); err == nil {
		t.Fatal("Write gives no error")
	}
	if err := os.Remove(obstacle); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, f, "kept")
	wantFiles(t, f, "kept")
	if s := f.Stats(); s.Dropped != 4 || s.Written != 4 {
		t.Fatalf("stats: %+v", s)
	}
}

func TestTheContainersOutputIsNotAFile(t *testing.T) {
	t.Parallel()
	stdout, o := anOutlet(t)
	f := New("/dev/stdout", Options{MaxBytes: 1, Backups: 1})
	f.std = &Spool{to: o}
	mustWrite(t, f, "hello")
	got := make([]byte, 5)
	if _, err := io.ReadFull(stdout, got); err != nil || string(got) != "hello" {
		t.Fatalf("read %q, %v", got, err)
	}
	if err := errors.Join(f.Open(), f.Reopen(), f.Clear()); err != nil {
		t.Fatal(err)
	}
}

func TestAllLogsOfTheContainersOutputShareItsOrder(t *testing.T) {
	t.Parallel()
	var set Set
	stdout, stderr := outlets()[0], outlets()[1]
	for path, want := range map[string]*outlet{
		"/dev/stdout": stdout, "/dev/stderr": stderr, "/proc/self/fd/1": stdout, "/dev/fd/2": stderr,
	} {
		one, other := set.File(path, Options{}), set.File(path, Options{})
		if one.spool().to != want || other.spool().to != want || one.spool() == other.spool() {
			t.Errorf("%s goes elsewhere, or one of its writers holds the other", path)
		}
		if err := errors.Join(set.Release(one), set.Release(other)); err != nil {
			t.Error(err)
		}
	}
	if New("/tmp/x", Options{}).spool() != nil {
		t.Error("a file waits for a reader")
	}
}

func TestWritersAtTheSameTimeKeepTheirLinesWhole(t *testing.T) {
	t.Parallel()
	f := newFile(t, Options{MaxBytes: 1000, Backups: 1000})
	logger := slog.New(slog.NewTextHandler(f, nil))
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for range 100 {
				logger.Info("line", "writer", i)
			}
		})
	}
	all.Wait()
	lines := strings.Count(contents(t, f.Path()), "\n")
	for i := 1; contents(t, f.backup(i)) != "-"; i++ {
		text := contents(t, f.backup(i))
		if !strings.HasSuffix(text, "\n") || !strings.HasPrefix(text, "time=") {
			t.Fatalf("backup %d does not hold whole lines", i)
		}
		lines += strings.Count(text, "\n")
	}
	if lines != 400 {
		t.Fatalf("there are %d lines", lines)
	}
}

func TestAClosedLogTakesNothing(t *testing.T) {
	t.Parallel()
	f := newFile(t, Options{})
	mustWrite(t, f, "a")
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := f.Write([]byte("b"))
	for _, err := range []error{err, f.Open(), f.Reopen(), f.Clear()} {
		if !errors.Is(err, errClosed) {
			t.Errorf("error: %v", err)
		}
	}
	wantFiles(t, f, "a")
}

func TestTwoUsersOfAPathShareItsLog(t *testing.T) {
	t.Parallel()
	var s Set
	path := filepath.Join(t.TempDir(), "log")
	a, b := s.File(path, Options{MaxBytes: 4, Backups: 1}), s.File(path, Options{})
	if a != b {
		t.Fatal("they are two logs")
	}
	if err := s.Release(a); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, b, "still open")
	if err := s.Release(b); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Write([]byte("x")); !errors.Is(err, errClosed) {
		t.Fatalf("after its last user: %v", err)
	}
	if c := s.File(path, Options{}); c == b {
		t.Fatal("a closed log is given out")
	}
	if err := s.Release(b); err != nil {
		t.Fatal(err)
	}
}

func TestAutoLogsAreNamedAndCleanedLikeSupervisors(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "childlogs")
	if err := CleanAuto(dir, "supervisor"); err != nil {
		t.Fatalf("of a folder that is not there: %v", err)
	}
	path, err := AutoFile(dir, "api", "stdout", "supervisor")
	if err != nil {
		t.Fatal(err)
	}
	if name := filepath.Base(path); !strings.HasPrefix(name, "api-stdout---supervisor-") || !strings.HasSuffix(name, ".log") {
		t.Fatalf("the name is %s", name)
	}
	other, err := AutoFile(dir, "api", "stdout", "other")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path + ".1", path + timesSuffix, path + ".1" + timesSuffix, path + timesSuffix + thinnedSuffix, filepath.Join(dir, "mine.log")} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := CleanAuto(dir, "supervisor"); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 || entries[0].Name() != filepath.Base(other) || entries[1].Name() != "mine.log" {
		t.Fatalf("left: %v, %v", entries, err)
	}
}

func TestALimitIsChangedWhileTheLogIsWritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	f := New(path, Options{})
	defer f.Close()
	for i, text := range []string{"first", "second", "third"} {
		if i == 1 {
			f.Limit(Options{MaxBytes: 8, Backups: 1})
		}
		if _, err := f.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{path + ".1": "firstsecond", path: "third"} {
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s has %q, %v, want %q", name, got, err, want)
		}
	}
}
