package safepath

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const stranger = 12345

// strangersFolder is a folder of another user, with a victim beside it that only root
// can read.
func strangersFolder(t *testing.T) (dir, victim string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can be misled")
	}
	parent := t.TempDir()
	dir, victim = filepath.Join(parent, "dir"), filepath.Join(parent, "victim")
	must(t, os.Mkdir(dir, 0o755))
	must(t, os.Chown(dir, stranger, stranger))
	must(t, os.WriteFile(victim, []byte("secret"), 0o600))
	return dir, victim
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantContent(t *testing.T, path, want string) {
	t.Helper()
	if text, err := os.ReadFile(path); err != nil || string(text) != want {
		t.Errorf("%s contains %q, %v; want %q", path, text, err, want)
	}
}

func TestALinkOfAnotherUserIsRefused(t *testing.T) {
	t.Parallel()
	calls := map[string]func(path string) error{
		"open":     func(path string) error { return closed(Open(path)) },
		"append":   func(path string) error { return closed(OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)) },
		"truncate": func(path string) error { return closed(OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0o644)) },
		"read":     func(path string) error { _, err := ReadFile(path); return err },
		"write":    func(path string) error { return WriteFile(path, []byte("x"), 0o644) },
		"stat":     func(path string) error { _, err := Stat(path); return err },
		"own":      func(path string) error { return OwnSocket(path, true, stranger, stranger, 0o777) },
	}
	for name, call := range calls {
		for _, linked := range []string{"file", "folder", "hard link"} {
			if name == "stat" && linked == "hard link" {
				continue // it says what is there
			}
			t.Run(name+" "+linked, func(t *testing.T) {
				t.Parallel()
				dir, victim := strangersFolder(t)
				path := filepath.Join(dir, "victim")
				switch linked {
				case "file":
					must(t, os.Symlink(victim, path))
				case "folder":
					must(t, os.Symlink(filepath.Dir(victim), filepath.Join(dir, "way")))
					path = filepath.Join(dir, "way", "victim")
				case "hard link":
					must(t, os.Link(victim, path))
				}
				if err := call(path); err == nil || !strings.Contains(err.Error(), "link") && name != "own" {
					t.Errorf("the error is %v", err)
				}
				wantContent(t, victim, "secret")
				if info, err := os.Stat(victim); err != nil || info.Mode() != 0o600 || info.Sys().(*syscall.Stat_t).Uid != 0 {
					t.Errorf("the victim is %v, %v", info, err)
				}
			})
		}
	}
}

func closed(file *os.File, err error) error {
	if err != nil {
		return err
	}
	return file.Close()
}

func TestWhatIsCreatedRenamedOrRemovedIsTheLinkItself(t *testing.T) {
	t.Parallel()
	dir, victim := strangersFolder(t)
	path := filepath.Join(dir, "x")
	must(t, os.Symlink(victim, path))
	must(t, Rename(path, filepath.Join(dir, "y")))
	file, err := Create(filepath.Join(dir, "y"), 0o644)
	must(t, closed(file, err))
	must(t, os.Symlink(victim, path))
	must(t, Remove(path))
	wantContent(t, victim, "secret")
	wantContent(t, filepath.Join(dir, "y"), "")
}

func TestNothingIsMadeOrRemovedBehindALinkToAFolder(t *testing.T) {
	t.Parallel()
	dir, victim := strangersFolder(t)
	must(t, os.Symlink(filepath.Dir(victim), filepath.Join(dir, "way")))
	for name, err := range map[string]error{
		"remove": Remove(filepath.Join(dir, "way", "victim")),
		"rename": Rename(filepath.Join(dir, "way", "victim"), filepath.Join(dir, "way", "new")),
		"mkdir":  MkdirAll(filepath.Join(dir, "way", "new"), 0o755),
		"listen": func() error { _, err := Listen(t.Context(), filepath.Join(dir, "way", "new")); return err }(),
	} {
		if !errors.Is(err, errLink) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	if entries, err := os.ReadDir(filepath.Dir(victim)); err != nil || len(entries) != 2 {
		t.Errorf("the folder has %v, %v", entries, err)
	}
}

func TestAFileOfAnotherUserIsReadButNotWritten(t *testing.T) {
	t.Parallel()
	dir, _ := strangersFolder(t)
	must(t, os.Chown(dir, 0, 0))
	must(t, os.Chmod(dir, 0o777))
	for name, tt := range map[string]struct {
		owner int
		ok    bool
	}{"root's": {0, true}, "a stranger's": {stranger, false}} {
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, []byte("text"), 0o644))
		must(t, os.Chown(path, tt.owner, tt.owner))
		if text, err := ReadFile(path); err != nil || string(text) != "text" {
			t.Errorf("%s is read as %q, %v", name, text, err)
		}
		if err := WriteFile(path, []byte("new"), 0o644); (err == nil) != tt.ok || !tt.ok && !errors.Is(err, errOwner) {
			t.Errorf("%s is written: %v", name, err)
		}
	}
	wantContent(t, filepath.Join(dir, "a stranger's"), "text")
	must(t, os.Chown(dir, stranger, 0))
	must(t, WriteFile(filepath.Join(dir, "a stranger's"), []byte("new"), 0o644)) // whose folder it is
}

func TestPathsThatOnlyRootCanChangeWorkAsUsual(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, MkdirAll(filepath.Join(dir, "a/b"), 0o755))
	must(t, os.Symlink("a", filepath.Join(dir, "way")))
	must(t, os.Symlink("../b/made", filepath.Join(dir, "a/b/link")))
	must(t, os.Symlink("loop", filepath.Join(dir, "loop")))
	must(t, WriteFile(filepath.Join(dir, "way/b/link"), []byte("text"), 0o640))
	wantContent(t, filepath.Join(dir, "a/b/made"), "text")
	if info, err := Stat(filepath.Join(dir, "way/../way/b/link")); err != nil || info.Size() != 4 || !info.Mode().IsRegular() {
		t.Errorf("the file is %v, %v", info, err)
	}
	if info, err := Lstat(filepath.Join(dir, "a/b/link")); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info, err)
	}
	if _, err := Open(filepath.Join(dir, "loop")); !errors.Is(err, unix.ELOOP) {
		t.Errorf("the loop is %v", err)
	}
	if _, err := Open(filepath.Join(dir, "a/b/made/x")); !errors.Is(err, unix.ENOTDIR) {
		t.Errorf("below a file: %v", err)
	}
	if _, err := Open(filepath.Join(dir, "none/x")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("below nothing: %v", err)
	}
	if err := MkdirAll(filepath.Join(dir, "a/b/made/x"), 0o755); !errors.Is(err, unix.ENOTDIR) {
		t.Errorf("a folder below a file: %v", err)
	}
	for _, path := range []string{"/", "/dev/fd/0", "/proc/self/cwd", "."} {
		if _, err := Stat(path); err != nil {
			t.Error(err)
		}
	}
}

// A reader that is misled to a named pipe would wait for a writer that never comes.
func TestANamedPipeOfAnotherUserDoesNotBlock(t *testing.T) {
	t.Parallel()
	dir, _ := strangersFolder(t)
	path := filepath.Join(dir, "pipe")
	must(t, syscall.Mkfifo(path, 0o666))
	opened := make(chan error, 1)
	go func() { opened <- closed(Open(path)) }()
	select {
	case err := <-opened:
		must(t, err)
	case <-time.After(10 * time.Second):
		t.Error("opening blocks")
	}
}

func TestASocketBetweenOtherUsersFiles(t *testing.T) {
	t.Parallel()
	dir, victim := strangersFolder(t)
	path := filepath.Join(dir, "socket")
	listener, err := Listen(t.Context(), path)
	must(t, err)
	defer listener.Close()
	must(t, OwnSocket(path, true, stranger, 23456, 0o620))
	info, err := os.Lstat(path)
	must(t, err)
	if owner := info.Sys().(*syscall.Stat_t); info.Mode() != os.ModeSocket|0o620 || owner.Uid != stranger || owner.Gid != 23456 {
		t.Errorf("the socket is %v of %d:%d", info.Mode(), owner.Uid, owner.Gid)
	}
	must(t, os.Remove(path))
	must(t, os.Symlink(victim, path))
	if err := OwnSocket(path, true, stranger, stranger, 0o777); !errors.Is(err, errNoSocket) {
		t.Errorf("a link in its place: %v", err)
	}
}
