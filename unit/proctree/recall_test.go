package proctree

import (
	"os"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"github.com/toskose/toskose/unit/reaper"
	"github.com/toskose/toskose/unit/reaper/reapertest"
)

// chooseNext sets the pid that is given out next, if it is free.
func (w *world) chooseNext(pid int) {
	w.t.Helper()
	if err := os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(pid-1)), 0); err != nil {
		w.t.Skipf("pids cannot be chosen here: %v", err)
	}
}

// startTwice starts a process of the one program, ends it, and starts one of the other that gets its pid. The
// threads of this process take pids, too: one that comes between takes that pid for good, so that another is tried.
func (w *world) startTwice(one, other Program) int {
	w.t.Helper()
	const highest = 30_000 // the least limit of pids there is is 32,768
	for pid := highest; pid > highest/2; pid -= 100 {
		w.chooseNext(pid)
		first, out := w.start(one, reapertest.Sleeper())
		out.pid()
		known, err := w.proc.stat(first.PID())
		if err != nil {
			w.t.Fatal(err)
		}
		if found := w.live(other); len(found) > 0 { // and now it is known whose the pid is
			w.t.Fatalf("of program %d there are %v already", other, found)
		}
		if err := first.Signal(syscall.SIGKILL); err != nil {
			w.t.Fatal(err)
		}
		w.done(first)
		for ticks, ok := now(); ok && ticks <= known.start; ticks, ok = now() { // no pid is used again within one tick
		}
		w.chooseNext(first.PID())
		second, out := w.start(other, reapertest.Sleeper())
		if out.pid(); second.PID() == first.PID() {
			return second.PID()
		}
		if err := second.Signal(syscall.SIGKILL); err != nil {
			w.t.Fatal(err)
		}
		w.done(second)
	}
	w.t.Fatal("no pid was given out twice")
	return 0
}

// live returns the pids of the processes of a program that have not ended.
func (w *world) live(program Program) []int {
	w.t.Helper()
	processes, err := w.Live(program)
	if err != nil {
		w.t.Fatal(err)
	}
	var pids []int
	for _, p := range processes {
		pids = append(pids, p.PID)
	}
	return pids
}

func TestAProcessWithThePidOfAnotherProgramsIsNotTakenForIt(t *testing.T) {
	reapertest.AsInit(t, func(t *testing.T) {
		w := newWorld(t)
		pid := w.startTwice(1, 2)
		if found := w.live(2); !slices.Equal(found, []int{pid}) {
			t.Errorf("of program 2 it finds %v, want %d", found, pid)
		}
		if found := w.live(1); len(found) > 0 {
			t.Errorf("of program 1 it finds %v", found)
		}
		if ending := w.end(patience, 2); len(signals(ending, pid)) != 1 {
			t.Errorf("it was not ended: %+v", ending)
		}
	})
}

func TestASessionThatAKnownProcessBeganClaimsWhatThatLeaves(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		w := newWorld(t)
		begin, leave := newFIFO(t), newFIFO(t)
		// No leader of a group, so that it becomes the session's itself.
		const script = `sh -c 'echo $$; read go <"$0"; exec setsid sh -c "echo \$\$; read go <\"\$0\"; \"\$@\"" "$@"' "$@" & wait`
		argv := append([]string{"/bin/sh", "-c", script, "sh", begin, leave},
			reapertest.Spawn("clean rttime=unlimited", reapertest.Sleeper()...)...)
		parent, out := w.start(1, argv)
		leader := out.pid()
		w.live(2)
		openFIFO(t, begin)
		if again := out.pid(); again != leader {
			t.Fatalf("process %d leads the session, not %d", again, leader)
		}
		w.live(2)
		openFIFO(t, leave)
		left := out.pid()
		w.done(parent)
		if p := w.find(left); p.Program != 1 || p.Session != leader || p.Parent == leader {
			t.Errorf("what it left is %+v, want of program 1 in session %d", p, leader)
		}
	})
}

func TestWhatHasNoMarkIsLookedForAmongTheKinOfTheKnown(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		w := newWorld(t)
		fork := newFIFO(t)
		argv := append([]string{"/bin/sh", "-c", `echo $$; read go <"$0"; "$@" & wait`, fork},
			reapertest.Spawn("linger clean rttime=unlimited setsid", reapertest.Sleeper()...)...)
		_, out := w.start(1, argv)
		out.pid()
		w.live(2) // the shell is known now, and nobody asks for it any more
		openFIFO(t, fork)
		child := out.pid()
		if found := w.live(1); !slices.Contains(found, child) {
			t.Errorf("of program 1 it finds %v, without %d", found, child)
		}
		_, out = w.startSpec(reaper.Spec{}, reapertest.Sleeper())
		stranger := out.pid()
		if found := w.live(1); slices.Contains(found, stranger) || !slices.Contains(found, child) {
			t.Errorf("beside the stranger %d it finds %v, want %d among them", stranger, found, child)
		}
	})
}

func TestALookBeforeTheFirstForkFindsNothingAndWhatIsForkedThenIsFound(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		w := newWorld(t)
		if found, err := w.Scan(); err != nil || len(found) > 0 {
			t.Fatalf("before anything was forked it finds %v, %v", found, err)
		}
		_, out := w.start(1, reapertest.Sleeper())
		if pid := out.pid(); !slices.Equal(w.live(1), []int{pid}) {
			t.Errorf("it finds %v, want %d", w.live(1), pid)
		}
	})
}
