package tree

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// hostileNames are names that a walk, a tar or a terminal may stumble on.
var hostileNames = []string{
	".toskose-restore-x", ".toskose-restore-old-1", ".toskose-restore-new-1", ".toskose-restore-gone-1", "lost+found", "new", "ready", "placing", "done", "old", "proof", "top", "evicted",
	"a\nb", "\x1b[31mred\x1b[0m", "back\\slash", "not\xffutf8", "-rf", "*", " ", "...", "ünïcode", "PaxHeaders.0", strings.Repeat("long", 63), "=", "a=b",
}

var hostileAttributes = []string{"user.a=b", "user.=", "user.100%", "user.%3D", "user.new\nline", "user.plain"}

// grow fills a folder with entries of all kinds, as any component could.
func grow(t *testing.T, dice *rand.Rand, dir string, depth int) {
	t.Helper()
	files := []string{}
	for _, name := range hostileNames {
		path := filepath.Join(dir, name)
		switch dice.IntN(14) {
		case 0, 1:
			must(t, os.Mkdir(path, 0o700))
			if depth > 0 {
				grow(t, dice, path, depth-1)
			}
			must(t, os.Chmod(path, os.FileMode(dice.IntN(0o1000))|fs.ModeSetgid)) // readable or not
		case 2:
			must(t, os.Symlink([]string{"/", "..", "nowhere", "/proc/self/mem", name}[dice.IntN(5)], path))
		case 3:
			must(t, unix.Mkfifo(path, 0o620))
		case 4:
			must(t, unix.Mknod(path, unix.S_IFSOCK|0o700, 0))
		case 5:
			if len(files) > 0 {
				must(t, os.Link(files[dice.IntN(len(files))], path))
			}
		case 6: // with a hole
			f, err := os.Create(path)
			must(t, err)
			_, err = f.WriteAt([]byte("end"), int64(dice.IntN(1<<16)))
			must(t, err, f.Close())
		case 7, 8:
			must(t, os.WriteFile(path, bytes.Repeat([]byte(name), dice.IntN(30)), 0o600))
			if attribute := hostileAttributes[dice.IntN(len(hostileAttributes))]; dice.IntN(2) == 0 {
				if err := unix.Lsetxattr(path, attribute, []byte("x\x00=\n"), 0); err != nil && !errors.Is(err, unix.ENOTSUP) {
					t.Fatal(err)
				}
			}
			files = append(files, path)
		}
	}
}

// hostileFolder returns a new folder with a hostile tree.
func hostileFolder(t *testing.T, seed uint64, depth int) string {
	t.Helper()
	dir := t.TempDir()
	if os.Geteuid() == 0 { // else some of its folders cannot be read, or removed
		grow(t, rand.New(rand.NewPCG(seed, 1)), dir, depth)
	} else {
		must(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(seed)), nil, 0o600))
	}
	return dir
}

func summarized(t *testing.T, dir string) ([]byte, *Summary) {
	t.Helper()
	var b bytes.Buffer
	must(t, WriteWithSummary(&b, dir))
	r, got := NewReader(bytes.NewReader(b.Bytes())), Size{}
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		must(t, err, Check(h))
		got.Entries, got.Bytes = got.Entries+1, got.Bytes+h.Size
	}
	s := r.Summary()
	if s == nil {
		t.Fatal("the stream has no summary")
	}
	must(t, s.Verify(got))
	return b.Bytes(), s
}

// TestHostileTreesComeBackAsTheyWere is a property of all trees: nothing is left out, all
// counts agree, and what is restored is what there was.
func TestHostileTreesComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		from := hostileFolder(t, seed, 2)
		stream, s := summarized(t, from)
		if len(s.LeftOut) > 0 || s.Changed {
			t.Fatalf("seed %d: %+v", seed, s)
		}
		to := hostileFolder(t, seed+1000, 1)
		must(t, ReplaceUnobserved(bytes.NewReader(stream), to))
		if diff := cmp.Diff(listing(t, from), listing(t, to)); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
	}
}

// TestFilesWithTheNamesOfARestoreAreData: one of them made every later backup empty.
func TestFilesWithTheNamesOfARestoreAreData(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".toskose-restore-x", "lost+found"} {
		for _, folder := range []bool{false, true} {
			from, to := t.TempDir(), t.TempDir()
			must(t, os.WriteFile(filepath.Join(from, "zebra"), []byte("data"), 0o600), os.WriteFile(filepath.Join(from, "-first"), []byte("data"), 0o600))
			if folder {
				must(t, os.MkdirAll(filepath.Join(from, name, "in"), 0o700))
			} else {
				must(t, os.WriteFile(filepath.Join(from, name), nil, 0o600))
			}
			must(t, os.WriteFile(filepath.Join(to, name), []byte("another"), 0o600))
			must(t, ReplaceUnobserved(bytes.NewReader(written(t, from)), to))
			if diff := cmp.Diff(listing(t, from), listing(t, to)); diff != "" {
				t.Errorf("%s, a folder: %v: %s", name, folder, diff)
			}
		}
	}
}

// TestALinkIsNotTakenForARestoresFolder: what it leads to was deleted.
func TestALinkIsNotTakenForARestoresFolder(t *testing.T) {
	t.Parallel()
	elsewhere, to := t.TempDir(), t.TempDir()
	must(t, os.WriteFile(filepath.Join(elsewhere, "precious"), nil, 0o600), os.WriteFile(filepath.Join(to, "data"), nil, 0o600))
	for _, name := range []string{"old-1", "new-1", "gone-1"} {
		must(t, os.Symlink(elsewhere, filepath.Join(to, ".toskose-restore-"+name)))
	}
	must(t, ReplaceUnobserved(bytes.NewReader(written(t, t.TempDir())), to))
	if _, err := os.Stat(filepath.Join(elsewhere, "precious")); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(to); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestAFolderThatARestoreDidNotMakeIsNotTouched: not even one that has the right name, which
// a component can see while a restore that was interrupted waits.
func TestAFolderThatARestoreDidNotMakeIsNotTouched(t *testing.T) {
	t.Parallel()
	const token = "secret"
	for what, plant := range map[string]func(path, elsewhere string) error{
		"a link":                      func(path, elsewhere string) error { return os.Symlink(elsewhere, path) },
		"a file":                      func(path, _ string) error { return os.WriteFile(path, nil, 0o600) },
		"a folder with another phase": func(path, _ string) error { return os.MkdirAll(filepath.Join(path, phaseNew), 0o700) },
		"a folder with data":          func(path, _ string) error { return os.MkdirAll(filepath.Join(path, phaseDone, "data"), 0o700) },
		"a copy of the folder's proof": func(path, _ string) error {
			return errors.Join(os.MkdirAll(filepath.Join(path, phaseReady), 0o700), os.Symlink(proof(token, 1), filepath.Join(path, proofLink)))
		},
	} {
		elsewhere, to := t.TempDir(), t.TempDir()
		must(t, os.WriteFile(filepath.Join(elsewhere, "precious"), nil, 0o600), os.WriteFile(filepath.Join(to, "data"), nil, 0o600), plant(filepath.Join(to, stateName(token)), elsewhere))
		before := listing(t, to) + listing(t, elsewhere)
		err := Replace(bytes.NewReader(written(t, t.TempDir())), to, token, nothing, nil)
		if !errors.Is(err, errForeign) && !strings.Contains(fmt.Sprint(err), stateName(token)) {
			t.Errorf("%s: %v", what, err)
		}
		if diff := cmp.Diff(before, listing(t, to)+listing(t, elsewhere)); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
}

// TestWhatCannotBeCopiedIsListed with its reason, and the counts agree nevertheless.
func TestWhatCannotBeCopiedIsListed(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can make devices")
	}
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	must(t, os.WriteFile(in("a"), []byte("data"), 0o600), unix.Mknod(in("dev\nice"), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))), os.WriteFile(in("z"), []byte("more"), 0o600))
	deep := dir
	for range 20 { // longer than any path may be
		deep = filepath.Join(deep, strings.Repeat("d", 200))
		must(t, os.Mkdir(deep, 0o700))
	}
	top, err := os.Open(deep)
	must(t, err)
	defer top.Close()
	must(t, unix.Mkdirat(int(top.Fd()), strings.Repeat("e", 200), 0o700))
	below, err := openFolder(top, strings.Repeat("e", 200))
	must(t, err)
	defer below.Close()
	must(t, unix.Mkdirat(int(below.Fd()), "f", 0o700))
	_, s := summarized(t, dir)
	if len(s.LeftOut) != 2 || s.Without.Entries != 2 || s.LeftOut[0].Why != fmt.Sprintf("its path has more than %d bytes", maxPath) || s.LeftOut[1] != (LeftOut{Name: "dev\nice", Why: "it is a device"}) {
		t.Errorf("%+v", s)
	}
	if err := Write(io.Discard, dir); err == nil || !strings.Contains(err.Error(), "cannot copy") {
		t.Errorf("without a summary: %v", err)
	}
	must(t, ReplaceUnobserved(bytes.NewReader(written(t, t.TempDir())), dir)) // and all of that can be removed
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestAWalkThatMissesAnEntryFails: the count is another one than the walk's.
func TestAWalkThatMissesAnEntryFails(t *testing.T) {
	t.Parallel()
	s := Summary{Written: Size{3, 10}, Counted: Size{5, 12}, Without: Size{1, 2}}
	if err := s.Verify(Size{3, 10}); err == nil || !strings.Contains(err.Error(), "the volume has 5 entries and 12 bytes, and 4 entries and 12 bytes were read") {
		t.Error(err)
	}
	if err := s.Verify(Size{2, 10}); err == nil || !strings.Contains(err.Error(), "2 entries and 10 bytes arrived") {
		t.Error(err)
	}
	s.Changed = true
	must(t, s.Verify(Size{3, 10}))
}

// TestAVolumeInUseRaisesNoFalseAlarm: what other programs remove, replace, add and lengthen
// meanwhile may be in the stream or not.
func TestAVolumeInUseRaisesNoFalseAlarm(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 200 {
		must(t, os.WriteFile(filepath.Join(dir, fmt.Sprint("stays", i)), []byte("x"), 0o600))
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		dice := rand.New(rand.NewPCG(1, 2))
		for {
			select {
			case <-stop:
				return
			default:
			}
			name, other := filepath.Join(dir, fmt.Sprint("file", dice.IntN(20))), filepath.Join(dir, fmt.Sprint("file", dice.IntN(20)))
			switch dice.IntN(6) { // as they succeed
			case 0:
				_ = os.RemoveAll(name)
			case 1:
				_ = os.MkdirAll(filepath.Join(name, "in"), 0o700)
			case 2:
				_ = os.Rename(name, other)
			case 3:
				_ = os.Symlink("nowhere", name)
			case 4:
				_ = os.Link(name, other)
			default:
				_ = os.WriteFile(name, make([]byte, dice.IntN(100000)), 0o600)
			}
		}
	}()
	t.Cleanup(func() {
		close(stop)
		<-stopped
	})
	changed := 0
	for range 50 {
		stream, s := summarized(t, dir)
		if s.Changed {
			changed++
		}
		if n := bytes.Count(stream, []byte("stays")); n < 200 || len(s.LeftOut) > 0 {
			t.Errorf("%d of 200 files, %+v", n, s)
		}
	}
	if changed == 0 {
		t.Error("nothing has changed meanwhile")
	}
}

// TestAnEntryThatTheWalkSkipsIsMissed by the count after it.
func TestAnEntryThatTheWalkSkipsIsMissed(t *testing.T) {
	t.Parallel()
	dir, seed := t.TempDir(), maphash.MakeSeed()
	must(t, os.WriteFile(filepath.Join(dir, "copied"), nil, 0o600), os.WriteFile(filepath.Join(dir, "skipped"), nil, 0o600))
	before, err := count(dir, seed, nil)
	must(t, err)
	for _, name := range []string{".", "copied"} {
		var s unix.Stat_t
		must(t, unix.Lstat(filepath.Join(dir, name), &s))
		before.mark(name, s)
		if name == "." {
			before.markWalked(name, s.Ino)
		}
	}
	after, err := count(dir, seed, before)
	must(t, err)
	if after.missed != 1 || after.first != "skipped" || after.Size != before.Size {
		t.Errorf("%+v", after)
	}
}
