package proctree

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/toskose/toskose/unit/reaper"
	"github.com/toskose/toskose/unit/reaper/reapertest"
)

const filterFile = "/proc/self/coredump_filter"

// marked sets up a world where the mark can be used.
func marked(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	if w.core.off != nil {
		t.Skip(w.core.off)
	}
	return w
}

// detached is a script that leaves a process without a parent, a session and a
// group that anyone knows, and prints its pid.
const detached = `setsid sh -c 'echo $$; exec sleep 100000' &`

// TestWhatChangesTheUserIsStillItsComponents has programs that reset the limit
// and the environment, and end before anyone has looked.
func TestWhatChangesTheUserIsStillItsComponents(t *testing.T) {
	escapes := map[string][]string{
		"su":      {"su", "-", "nobody", "-s", "/bin/sh", "-c", detached},
		"runuser": {"runuser", "-l", "nobody", "-s", "/bin/sh", "-c", detached},
		"sudo":    {"sudo", "-u", "nobody", "/bin/sh", "-c", detached},
		"prlimit": {"prlimit", "--rttime=unlimited", "env", "-i", "/bin/sh", "-c", detached},
		"setpriv": {"setpriv", "--reuid=65534", "--clear-groups", "prlimit", "--rttime=unlimited", "env", "-i", "/bin/sh", "-c", detached},
	}
	reapertest.InWorlds(t, func(t *testing.T) {
		for name, command := range escapes {
			t.Run(name, func(t *testing.T) { escape(t, command) })
		}
	})
}

func escape(t *testing.T, command []string) {
	t.Helper()
	path, err := exec.LookPath(command[0])
	if err != nil {
		t.Skip(err)
	}
	w := marked(t)
	main, out := w.start(1, append([]string{path}, command[1:]...))
	pid := out.pid()
	w.done(main)
	if program := w.byLimit(pid); program != Unclaimed {
		t.Logf("it has the limit still, and is of program %d: PAM does not reset it here", program)
	}
	if p := w.find(pid); p.Program != 1 || p.Parent != os.Getpid() || p.Group != pid {
		t.Errorf("it is %+v, want an orphan of program 1", p)
	}
	w.end(patience, 1)
	if p := w.orphan(pid); p.Program != 1 || !p.Zombie {
		t.Errorf("dead it is %+v, want of program 1", p)
	}
}

// reset is the command line of a script without the limit and the environment.
func reset(script string) []string {
	return reapertest.Spawn("setsid clean rttime=unlimited", reapertest.Shell(script)...)
}

func TestAValueThatComponentsShareClaimsNothing(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		w := marked(t)
		want := map[Program]Program{1: Unclaimed, 2: 2, 3: 3, 4: Unclaimed}
		pids := map[Program]int{}
		for program := Program(1); program <= 4; program++ {
			main, out := w.start(program, reset("echo $$; exec sleep 100000"))
			pids[program] = out.pid()
			w.done(main)
		}
		for program, pid := range pids {
			if p := w.find(pid); p.Program != want[program] {
				t.Errorf("of program %d it is %+v, want of %d", program, p, want[program])
			}
		}
	})
}

// copied is the command line of a script that has the limit of another program, as
// su and the like give it to what they start while the unit forks that program.
func (w *world) copied(of Program, script string) []string {
	return reapertest.Spawn("setsid clean rttime="+strconv.FormatUint(w.boot.mark(of), 10), reapertest.Shell(script)...)
}

func TestALimitThatWasCopiedFromTheUnitClaimsNothing(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		w := marked(t)
		_, out := w.start(2, reapertest.Sleeper())
		out.pid()
		main, out := w.start(1, w.copied(2, "echo $$; exec sleep 100000"))
		first := out.pid()
		w.done(main)
		const check = MaxProgram // has no value itself
		main, out = w.start(1, w.copied(check, "echo $$; exec sleep 100000"))
		second := out.pid()
		w.done(main)
		for _, program := range []Program{2, check} {
			ending := w.end(patience, program)
			for _, pid := range []int{first, second} {
				if got := signals(ending, pid); len(got) > 0 {
					t.Errorf("%d is of program 1, and got %v with program %d", pid, got, program)
				}
			}
		}
		ending := w.end(patience, 1)
		for _, pid := range []int{first, second} {
			if got := signals(ending, pid); len(got) != 1 {
				t.Errorf("%d got %v with its own program", pid, got)
			}
		}
	})
}

// A component may be represented by another program after a reload, which gives
// it another value.
func TestALimitHoldsWithEachValueThatTheProgramHad(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		w := marked(t)
		var pids []int
		for _, component := range []Program{1, 2} {
			_, out := w.startSpec(reaper.Spec{Around: w.Around(1, component)}, reapertest.Spawn("setsid", reapertest.Sleeper()...))
			pids = append(pids, out.pid())
		}
		for _, pid := range pids {
			if p := w.find(pid); p.Program != 1 {
				t.Errorf("it is %+v, want of program 1", p)
			}
		}
	})
}

func TestValuesThatAreNotMarksClaimNothing(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		w := marked(t)
		for _, filter := range []string{"0x33", "0x73", "0xb3", "0x133", "0x1f3", "0"} {
			main, out := w.start(1, reset("echo "+filter+" > "+filterFile+"; echo $$; exec sleep 100000"))
			pid := out.pid()
			w.done(main)
			if p := w.find(pid); p.Program != Unclaimed {
				t.Errorf("with %s it is of program %d", filter, p.Program)
			}
		}
	})
}

func TestTheFilterIsTheUnitsOwnAgain(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		w := marked(t)
		before, err := os.ReadFile(filterFile)
		if err != nil {
			t.Fatal(err)
		}
		main, out := w.start(1, reapertest.Shell("cat "+filterFile))
		old, _ := parseFilter(before)
		if filter, ok := parseFilter([]byte(out.line())); !ok || filter != old|coreValues[0] {
			t.Errorf("the child's is %#x, want %#x", filter, old|coreValues[0])
		}
		w.done(main)
		if after, err := os.ReadFile(filterFile); err != nil || !bytes.Equal(before, after) {
			t.Errorf("it was %q and is %q, %v", before, after, err)
		}
	})
}

func TestTheFilterIsLeftAloneWhereItIsNoMark(t *testing.T) {
	proc := procfs{root: t.TempDir()}
	if m := openCoreMark(proc); m.off == nil {
		t.Error("a kernel without the file")
	}
	path := filepath.Join(proc.root, "self", "coredump_filter")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, bit := range []uint64{1 << 6, 1 << 7, 1 << 8} {
		text := strconv.FormatUint(0x33|bit, 16) + "\n"
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		m := openCoreMark(proc)
		if m.off == nil {
			t.Errorf("%s: it is used", text)
		}
		m.set(1, 1)()
		if after, err := os.ReadFile(path); err != nil || string(after) != text {
			t.Errorf("%s became %s, %v", text, after, err)
		}
	}
	tree, err := New(Options{NoCoreMark: true})
	if err != nil || tree.core.off == nil {
		t.Errorf("switched off it is used: %v", err)
	}
}

func TestWhatItsParentShowsIsRememberedWhenThatEnds(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		w := newWorld(t)
		w.core.off = os.ErrNotExist // as on a kernel without it
		lost := "prlimit --rttime=unlimited env -i " + strings.TrimSuffix(detached, "&")
		main, out := w.start(1, reapertest.Shell("trap 'exit 0' TERM; ("+lost+"; true) & "+lost+"& read forever < "+newFIFO(t)))
		pids := []int{out.pid(), out.pid()}
		if err := w.Recognise(1, main.PID()); err != nil {
			t.Fatal(err)
		}
		if err := main.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		w.done(main)
		ending := w.end(patience, 1)
		for _, pid := range pids {
			if got := signals(ending, pid); len(got) == 0 {
				t.Errorf("%d of %v got no signal", pid, pids)
			}
		}
	})
}
