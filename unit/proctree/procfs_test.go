package proctree

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

func statLine(pid int, comm, state string, ppid, threads int, start uint64) string {
	n := strconv.Itoa
	return n(pid) + " (" + comm + ") " + state + " " + n(ppid) + " 11 12 0 -1 4194560 1 2 3 4 " +
		"150 50 0 0 20 0 " + n(threads) + " 0 " + strconv.FormatUint(start, 10) + " 1000 25 18446744073709551615 1 1 0\n"
}

func TestStatIsReadWhateverTheProcessCallsItself(t *testing.T) {
	t.Parallel()
	for _, comm := range []string{"sh", "tmux: server", "a) R 1 (b", ")", "((", "two\nlines", "", "\xff\x00"} {
		s, err := parseStat([]byte(statLine(42, comm, "S", 7, 1, 12345)))
		if err != nil {
			t.Errorf("%q: %v", comm, err)
			continue
		}
		want := stat{
			pid: 42, ppid: 7, pgid: 11, sid: 12, state: 'S', flags: 4194560, cpu: 200, threads: 1,
			start: 12345, rss: 25, comm: comm,
		}
		if s != want {
			t.Errorf("%q: got %+v, want %+v", comm, s, want)
		}
	}
}

func TestAZombieLeaderWithLivingThreadsHasNotEnded(t *testing.T) {
	t.Parallel()
	for line, ended := range map[string]bool{
		statLine(1, "z", "Z", 0, 1, 1): true,
		statLine(1, "z", "Z", 0, 2, 1): false,
		statLine(1, "x", "X", 0, 0, 1): true,
		statLine(1, "s", "S", 0, 1, 1): false,
		statLine(1, "t", "T", 0, 1, 1): false,
	} {
		s, err := parseStat([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		if s.ended() != ended {
			t.Errorf("%q: ended is %v", line, s.ended())
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte(statLine(42, "a) b", "S", 7, 1, 12345)))
	f.Add([]byte("1 () S"))
	f.Add([]byte(") ("))
	f.Fuzz(func(t *testing.T, text []byte) {
		if s, err := parseStat(text); err != nil && !errors.Is(err, errStat) {
			t.Errorf("%q: %+v and %v", text, s, err)
		}
	})
}

func TestCommandLinesArePrintedOnOneLine(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"plain":        "plain",
		"a\nb\tc":      "a b c",
		"\x1b[31mred":  "?[31mred",
		"caf\xc3\xa9":  "café",
		"\xff\xfebin":  "??bin",
		"bidi\u202etx": "bidi?tx",
	} {
		if got := printable([]byte(raw)); got != want {
			t.Errorf("%q reads %q, want %q", raw, got, want)
		}
	}
}

// fakeProc is a folder that looks like /proc.
type fakeProc struct {
	t   *testing.T
	dir string
}

func newFakeProc(t *testing.T) fakeProc {
	t.Helper()
	p := fakeProc{t, t.TempDir()}
	if err := os.Symlink(strconv.Itoa(os.Getpid()), filepath.Join(p.dir, "self")); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p fakeProc) write(pid int, name, content string) {
	p.t.Helper()
	dir := filepath.Join(p.dir, strconv.Itoa(pid))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p fakeProc) tree() *Tree {
	p.t.Helper()
	tree, err := New(Options{Proc: p.dir})
	if err != nil {
		p.t.Fatal(err)
	}
	tree.init = true // so that all that is there exists for it
	return tree
}

func TestProcessesThatVanishWhileTheyAreReadAreLeftOut(t *testing.T) {
	t.Parallel()
	p := newFakeProc(t)
	p.write(100, "stat", statLine(100, "stays", "S", os.Getpid(), 1, 5))
	p.write(101, "limits", "only the stat file is gone")
	p.write(102, "stat", "")
	p.write(103, "stat", "103 (half")
	p.write(104, "stat", statLine(104, "child of 101", "S", 101, 1, 6))
	processes, err := p.tree().Scan()
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, process := range processes {
		pids = append(pids, process.PID)
	}
	if len(pids) != 2 || pids[0] != 100 || pids[1] != 104 {
		t.Errorf("found %v, want 100 and 104", pids)
	}
	if got := processes[0]; got.Command != "[stays]" || got.CPU != 2*time.Second || got.Memory != 25*int64(os.Getpagesize()) {
		t.Errorf("read %+v", got)
	}
}

func TestKernelThreadsAndTheUnitAreLeftOut(t *testing.T) {
	t.Parallel()
	p := newFakeProc(t)
	p.write(os.Getpid(), "stat", statLine(os.Getpid(), "unit", "S", 0, 9, 1))
	p.write(2, "stat", "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 3 0 0 0\n")
	processes, err := p.tree().Scan()
	if err != nil {
		t.Fatal(err)
	}
	if len(processes) > 0 {
		t.Errorf("found %+v", processes)
	}
}

func TestAProcThatIsNotOursIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := New(Options{Proc: dir}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty folder: %v", err)
	}
	if err := os.Symlink("4194305", filepath.Join(dir, "self")); err != nil {
		t.Fatal(err)
	}
	if _, err := New(Options{Proc: dir}); err == nil {
		t.Error("another pid namespace's /proc was taken for ours")
	}
}
