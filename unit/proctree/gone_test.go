package proctree

import (
	"context"
	"errors"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toskose/toskose/unit/reaper"
	"github.com/toskose/toskose/unit/reaper/reapertest"
)

// untilGone waits until nothing of a program is there, zombies included.
func (w *world) untilGone(program Program) {
	w.t.Helper()
	for end := time.Now().Add(patience); !w.Gone(program); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("something of program %d is left", program)
		}
	}
}

// surveyable skips a test where it cannot be told whose orphans are.
func (w *world) surveyable() {
	w.t.Helper()
	if _, ok := w.proc.ownChildren(); !ok {
		w.t.Skip("this kernel does not show the children of a process")
	}
	if err := w.Degraded(); err != nil {
		w.t.Skip(err)
	}
}

func TestWhateverEscapesIsNotGone(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		w := newWorld(t)
		w.surveyable()
		program := Program(0)
		for how, argv := range escapes {
			program++
			if !w.Gone(program) {
				t.Errorf("%s: it is there before it was started", how)
			}
			child, out := w.start(program, argv)
			if pid := out.pid(); pid != child.PID() {
				w.done(child)
			}
			if w.Gone(program) {
				t.Errorf("%s: it is gone", how)
			}
		}
		for ; program > 0; program-- {
			w.end(patience, program)
			w.untilGone(program)
		}
	})
}

func TestASiblingOfTheFirstProcessIsNotGone(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		w := newWorld(t)
		w.surveyable()
		child, out := w.start(1, reapertest.Sibling())
		if got := out.line(); got != "here" {
			t.Fatalf("it printed %q", got)
		}
		w.done(child)
		if w.Gone(1) {
			t.Error("it is gone")
		}
		w.end(patience, 1)
		w.untilGone(1)
	})
}

func TestAZombieIsNotGoneUntilItIsReaped(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		w := newWorld(t)
		w.surveyable()
		held := make(chan struct{})
		w.hook = func() { <-held } // before an orphan is reaped
		release := sync.OnceFunc(func() { close(held) })
		t.Cleanup(release)
		child, _ := w.start(1, reapertest.Spawn("setsid", reapertest.Shell("exit 7")...))
		for end := time.Now().Add(patience); w.reaping.Load() == 0; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("no orphan ended")
			}
		}
		if w.Gone(1) {
			t.Error("it is gone")
		}
		release()
		w.done(child)
		w.untilGone(1)
	})
}

func TestWhileAnOrphanIsNobodysNothingIsKnownToBeGone(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		w := newWorld(t)
		w.surveyable()
		_, out := w.startSpec(reaper.Spec{}, reapertest.Spawn("setsid", reapertest.Sleeper()...))
		out.pid()
		if w.Gone(1) {
			t.Error("it may be of program 1")
		}
		w.end(patience, Unclaimed)
		w.untilGone(1)
	})
}

func TestWhatRepresentsAComponentIsNotGoneWhileAnyOfThatIsThere(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		w := newWorld(t)
		w.surveyable()
		spec := reaper.Spec{Around: w.Around(2, 1), Env: w.Env(2, "db", "Standard.configure")}
		main, out := w.startSpec(spec, reapertest.Sleeper())
		out.pid()
		if w.Gone(1) {
			t.Error("what its other program's process loses of its marks would be its own")
		}
		spec.Around = w.Around(2, 1)
		child, out := w.startSpec(spec, reapertest.Spawn("setsid", reapertest.Sleeper()...))
		out.pid()
		w.done(child)
		if err := main.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		w.done(main)
		if w.Gone(1) {
			t.Error("nor while the other program has an orphan")
		}
		w.end(patience, 2)
		w.untilGone(1)
	})
}

// In a storm of forks one look at all processes hardly ever is exact.
func TestWhatIsGoneIsKnownInAStormOfOthers(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		w := newWorld(t)
		w.surveyable()
		first, out := w.start(1, reapertest.Relay(100*time.Microsecond))
		out.line()
		w.done(first)
		for range 100 {
			child, _ := w.start(2, []string{"/bin/true"})
			w.done(child)
			w.untilGone(2)
			if w.Gone(1) {
				t.Fatal("the one that forks and ends all the time is gone")
			}
		}
		w.end(0, 1)
		w.untilGone(1)
	})
}

func TestThoseWhoAskAtTheSameTimeShareALook(t *testing.T) {
	reapertest.AsInit(t, func(t *testing.T) {
		w := newWorld(t)
		w.surveyable()
		still, entered, goOn := w.freeze, make(chan struct{}), make(chan struct{})
		w.freeze = func(do func(forked func(pid int) bool)) {
			entered <- struct{}{}
			<-goOn
			still(do)
		}
		const many = 50
		var asking sync.WaitGroup
		ask := func(program Program) {
			asking.Go(func() {
				if !w.Gone(program) {
					t.Errorf("program %d was never started", program)
				}
			})
		}
		ask(1)
		<-entered
		for program := range Program(many) {
			ask(program + 2)
		}
		for asked := 0; asked < many; time.Sleep(time.Millisecond) {
			w.surveys.mu.Lock()
			if w.surveys.next != nil {
				asked = len(w.surveys.next.asked)
			}
			w.surveys.mu.Unlock()
		}
		goOn <- struct{}{}
		<-entered
		goOn <- struct{}{}
		asking.Wait() // a third look would wait for ever
	})
}

// A storm of forks can prevent every exact look, and where the children of this process do
// not tell either, a wait for the end of a program must not last as long as the storm.
func TestAWaitEndsThoughNoLookIsEverExact(t *testing.T) {
	t.Parallel()
	tree, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	forked := 0
	tree.fakeLastPID = func() (int, bool) {
		forked++
		return forked, true
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := tree.WaitGone(ctx, 1); !errors.Is(err, ErrUnproven) {
		t.Errorf("the wait ended with %v", err)
	}
}

func TestWithoutAReaperNothingIsKnownToBeGone(t *testing.T) {
	t.Parallel()
	tree, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if tree.Gone(1) {
		t.Error("it is gone")
	}
	tree.freeze = func(do func(forked func(pid int) bool)) { do(func(int) bool { return false }) }
	tree.proc.root = t.TempDir() // as on a kernel without these files
	if tree.Gone(1) {
		t.Error("where no children are shown it is gone")
	}
}

func TestAListOfManyChildrenIsReadWhole(t *testing.T) {
	reapertest.AsInit(t, func(t *testing.T) {
		w := newWorld(t)
		w.surveyable()
		const many = 900 // numbers of five digits, more than fit into one read
		w.chooseNext(20_000)
		main, out := w.start(1, reapertest.Shell("i=0; while [ $i -lt 900 ]; do sleep 100000 & i=$((i+1)); done; echo up; wait"))
		out.line()
		children, err := w.proc.children(main.PID())
		if err != nil || len(children) != many {
			t.Errorf("%d children, %v", len(children), err)
		}
		for _, pid := range children {
			if err := unix.Kill(pid, 0); err != nil {
				t.Errorf("process %d: %v", pid, err)
			}
		}
	})
}
