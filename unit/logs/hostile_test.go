package logs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// hostileFolder is a folder that another user can write, with a file beside it that
// only root may change or read.
func hostileFolder(t *testing.T) (dir, victim string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can be misled")
	}
	parent := t.TempDir()
	dir, victim = filepath.Join(parent, "dir"), filepath.Join(parent, "victim")
	for _, err := range []error{
		os.Mkdir(dir, 0o755), os.Chown(dir, 12345, 12345), os.WriteFile(victim, []byte("secret\n"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir, victim
}

// A component's user has put links where root writes a log and its index: both were
// followed, and op.log.times was truncated through one.
func TestALogFollowsNoLinkOfAnotherUser(t *testing.T) {
	t.Parallel()
	for _, suffix := range []string{"", timesSuffix, timesSuffix + thinnedSuffix, ".1", ".1" + timesSuffix} {
		t.Run("op.log"+suffix, func(t *testing.T) {
			t.Parallel()
			dir, victim := hostileFolder(t)
			path := filepath.Join(dir, "op.log")
			if err := os.Symlink(victim, path+suffix); err != nil {
				t.Fatal(err)
			}
			clock := newClock()
			f := New(path, clock.timed(Options{MaxBytes: 1 << 20, Backups: 1}))
			defer f.Close()
			line := strings.Repeat("x", 16) + "\n"
			for range 70_000 { // it rotates, and its index is thinned
				clock.pass(markEvery)
				_, _ = f.Write([]byte(line)) // whether that fails is not what counts
			}
			_ = f.Reopen()
			_ = f.Clear()
			if text, err := os.ReadFile(victim); err != nil || string(text) != "secret\n" {
				t.Errorf("the file of root has %.40q, %v", text, err)
			}
		})
	}
}

// Whoever may read a log must not read root's files by it.
func TestReadersOfALogFollowNoLinkOfAnotherUser(t *testing.T) {
	t.Parallel()
	dir, victim := hostileFolder(t)
	path := filepath.Join(dir, "op.log")
	if err := os.Symlink(victim, path); err != nil {
		t.Fatal(err)
	}
	f := New(path, Options{})
	defer f.Close()
	data, err := f.Read(0, 0)
	if err == nil || len(data) > 0 {
		t.Errorf("read is %q, %v", data, err)
	}
	if data, _, _ := f.Tail(0, 100); len(data) > 0 {
		t.Errorf("the tail is %q", data)
	}
	page, err := f.After(t.Context(), "")
	if err == nil || len(page.Data) > 0 {
		t.Errorf("the page is %q, %v", page.Data, err)
	}
}

func TestALogIsNotMadeBehindALinkToAFolder(t *testing.T) {
	t.Parallel()
	dir, victim := hostileFolder(t)
	if err := os.Symlink(filepath.Dir(victim), filepath.Join(dir, "logs")); err != nil {
		t.Fatal(err)
	}
	f := New(filepath.Join(dir, "logs", "new", "op.log"), Options{})
	defer f.Close()
	if err := f.Open(); err == nil {
		t.Error("it is open")
	}
	if _, err := AutoFile(filepath.Join(dir, "logs"), "op", "stdout", "x"); err == nil {
		t.Error("an AUTO log is made there")
	}
	if entries, err := os.ReadDir(filepath.Dir(victim)); err != nil || len(entries) != 2 {
		t.Errorf("there are %v, %v", entries, err)
	}
}
