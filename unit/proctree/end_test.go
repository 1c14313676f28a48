package proctree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toskose/toskose/unit/reaper/reapertest"
)

// newFIFO makes something for a script to wait at. Use it once: whoever opens
// it again may still meet the other side of the first time.
func newFIFO(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(path, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// openFIFO lets the script go on that waits there, or will.
func openFIFO(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("go\n"); err != nil {
		t.Fatal(err)
	}
	f.Close()
}

// alsoWithoutPidfd runs a test on the kernel as it is, and as on an old one.
func alsoWithoutPidfd(t *testing.T, body func(t *testing.T, w *world)) {
	t.Helper()
	reapertest.InWorlds(t, func(t *testing.T) {
		for _, pidfd := range []bool{true, false} {
			t.Run(fmt.Sprintf("pidfd=%v", pidfd), func(t *testing.T) {
				w := newWorld(t)
				if pidfd && !w.pidfd {
					t.Skip("this kernel has no pidfd")
				}
				w.pidfd = pidfd
				body(t, w)
			})
		}
	})
}

func TestWhatIgnoresTERMGetsKILLAfterTheGraceAndOthersAreUntouched(t *testing.T) {
	alsoWithoutPidfd(t, func(t *testing.T, w *world) {
		_, out := w.start(2, reapertest.Spawn("setsid", reapertest.Sleeper()...))
		other := out.pid()
		var ending EndResult
		var stubborn, docile int
		// On a machine with much to do, the grace may be too short to look, and to
		// heed TERM, also for the helper that started it; then a longer one is given.
		for grace := time.Second; grace < patience; grace *= 5 {
			_, out = w.start(1, reapertest.Shell("trap '' TERM; echo $$; exec sleep 100000"))
			stubborn = out.pid()
			_, out = w.start(1, reapertest.Spawn("setsid", reapertest.Sleeper()...))
			docile = out.pid()
			ending = w.end(grace, 1)
			if len(ending.Killed()) == 1 && slices.Equal(signals(ending, docile), []syscall.Signal{syscall.SIGTERM}) {
				break
			}
		}
		if got := signals(ending, stubborn); !slices.Equal(got, []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL}) {
			t.Errorf("what ignores TERM got %v", got)
		}
		if got := signals(ending, docile); !slices.Equal(got, []syscall.Signal{syscall.SIGTERM}) {
			t.Errorf("what heeds TERM got %v", got)
		}
		if got := ending.Killed(); len(got) != 1 || got[0].PID != stubborn {
			t.Errorf("killed were %+v, want %d", got, stubborn)
		}
		if len(ending.Left)+len(ending.Refused) > 0 {
			t.Errorf("left are %+v and %+v", ending.Left, ending.Refused)
		}
		if got := signals(ending, other); len(got) > 0 {
			t.Errorf("the other program's process got %v", got)
		}
		if p := w.find(other); p.Program != 2 || p.Zombie {
			t.Errorf("the other program's process is %+v", p)
		}
	})
}

func TestNothingToEndIsNothingSignalled(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		w := newWorld(t)
		if ending := w.end(patience, 1, 2); len(ending.Signalled) > 0 {
			t.Errorf("signalled %+v", ending.Signalled)
		}
	})
}

func TestAStoppedProcessHeedsTERM(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		w := newWorld(t)
		child, out := w.start(1, reapertest.Shell("trap 'echo bye; exit 0' TERM; echo ready; kill -STOP $$; while :; do sleep 1; done"))
		out.line()
		if err := unix.Waitid(unix.P_PID, child.PID(), nil, unix.WSTOPPED|unix.WNOWAIT, nil); err != nil {
			t.Fatal(err)
		}
		if killed := func() []Process { e := w.end(patience, 1); return e.Killed() }(); len(killed) > 0 {
			t.Errorf("killed %+v", killed)
		}
		if got := out.line(); got != "bye" {
			t.Errorf("it printed %q", got)
		}
	})
}

func TestWhatATrapForksIsLeftToItsParent(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		w := newWorld(t)
		fifo := newFIFO(t)
		script := `trap 'cat ` + fifo + ` >/dev/null && echo cleaned; exit 0' TERM; echo $$; while :; do sleep 1; done`
		child, out := w.start(1, reapertest.Shell(script))
		out.pid()
		result := make(chan EndResult, 1)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			ending, err := w.End(ctx, []Program{1}, patience)
			if err != nil {
				t.Error(err)
			}
			result <- ending
		}()
		openFIFO(t, fifo) // returns once cat reads
		if got := out.line(); got != "cleaned" {
			t.Errorf("the trap printed %q", got)
		}
		ending := <-result
		if killed := ending.Killed(); len(killed) > 0 {
			t.Errorf("killed %+v", killed)
		}
		w.done(child)
		if !child.Exit().Success() {
			t.Errorf("it ended with %v", child.Exit())
		}
	})
}

func TestWhatADyingProcessLeavesGetsTERM(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		w := newWorld(t)
		fifo := newFIFO(t)
		// It exits once what it leaves has become a program of its own: a
		// shell's fork that TERM meets earlier still has the shell's trap, and
		// would lose it.
		script := `trap "sh -c 'echo \$\$; exec sleep 100000' & read go <` + fifo + `; exit 0" TERM; ` +
			`echo $$; while :; do sleep 1; done`
		_, out := w.start(1, reapertest.Shell(script))
		out.pid()
		left := make(chan int, 1)
		go func() {
			left <- out.pid()
			openFIFO(t, fifo)
		}()
		ending := w.end(patience, 1)
		if got := signals(ending, <-left); !slices.Equal(got, []syscall.Signal{syscall.SIGTERM}) {
			t.Errorf("what the trap left behind got %v", got)
		}
	})
}

func TestAZombieThatItsParentDoesNotReapHasEnded(t *testing.T) {
	alsoWithoutPidfd(t, func(t *testing.T, w *world) {
		if err := w.Degraded(); err != nil {
			t.Skip(err)
		}
		// The child is of another program than its parent, by its limit, which nothing contradicts.
		w.core.off = os.ErrNotExist
		mark := fmt.Sprintf("linger rttime=%d", w.boot.mark(2))
		parent, out := w.start(1, reapertest.Spawn(mark, reapertest.Sleeper()...))
		child := 0
		for range 2 { // the pid, and, once the parent's own limit is back, "lingering"
			if line := out.line(); line != "lingering" {
				child, _ = strconv.Atoi(line)
			}
		}
		ending := w.end(patience, 2)
		if got := signals(ending, child); len(ending.Signalled) != 1 || len(got) != 1 {
			t.Errorf("got %+v, want TERM to %d only", ending.Signalled, child)
		}
		if p := w.find(child); !p.Zombie || p.Program != 2 {
			t.Errorf("the child is %+v, want a zombie of program 2", p)
		}
		if p := w.find(parent.PID()); p.Zombie || p.Program != 1 {
			t.Errorf("the parent is %+v, want alive and of program 1", p)
		}
	})
}

func TestWhoMayNotSignalNamesTheProcesses(t *testing.T) {
	reapertest.AsInit(t, func(t *testing.T) {
		w := newWorld(t)
		child, out := w.start(1, reapertest.Sleeper())
		pid := out.pid()
		if err := syscall.Setresuid(65534, 65534, 0); err != nil {
			t.Fatal(err)
		}
		ending := w.end(50*time.Millisecond, 1)
		if len(ending.Refused) != 1 || ending.Refused[0].PID != pid || len(ending.Left) != 1 || len(ending.Signalled) > 0 {
			t.Errorf("got %+v, want only %d refused", ending, pid)
		}
		reached, refused, err := w.Signal([]Program{1}, syscall.SIGTERM)
		if err != nil || len(reached) > 0 || len(refused) != 1 {
			t.Errorf("signal reached %v, was refused by %v, %v", reached, refused, err)
		}
		if err := syscall.Setresuid(0, 0, 0); err != nil {
			t.Fatal(err)
		}
		if reached, _, err := w.Signal([]Program{1}, syscall.SIGTERM); err != nil || len(reached) != 1 {
			t.Errorf("signal reached %v, %v", reached, err)
		}
		w.done(child)
	})
}

func TestACancelledEndKillsNobody(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		w := newWorld(t)
		_, out := w.start(1, reapertest.Shell("trap '' TERM; echo $$; exec sleep 100000"))
		pid := out.pid()
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		ending, err := w.End(ctx, []Program{1}, patience)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if len(ending.Left) != 1 || ending.Left[0].PID != pid || len(ending.Killed()) > 0 {
			t.Errorf("got %+v, want %d left and not killed", ending, pid)
		}
	})
}

func TestAForkingProgramIsEndedToTheLast(t *testing.T) {
	reapertest.AsInit(t, func(t *testing.T) {
		w := newWorld(t)
		_, out := w.start(1, reapertest.Shell(
			`trap '' TERM; echo $$; while :; do sleep 100000 & sh -c 'sleep 100000 & sleep 0.01' & done`))
		out.pid()
		w.end(20*time.Millisecond, 1)
		if left, err := w.Live(1); err != nil || len(left) > 0 {
			t.Errorf("left are %v, %v", left, err)
		}
	})
}

func TestWhatForksAndEndsAllTheTimeIsEnded(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		w := newWorld(t)
		for stop := range 20 {
			child, out := w.start(1, reapertest.Relay(100*time.Microsecond))
			out.line()
			w.done(child)
			began := time.Now()
			const grace = 100 * time.Millisecond
			ending := w.end(grace, 1)
			if took := time.Since(began); took < grace {
				t.Errorf("stop %d took %v, but it ignores TERM: %+v", stop, took, ending)
			}
			// Whoever holds the other end of the pipe is alive.
			if rest, err := out.lines.ReadString('\n'); !errors.Is(err, io.EOF) {
				t.Fatalf("stop %d: %q, %v", stop, rest, err)
			}
			w.untilGone(1) // not even zombies are left, so that they are not more and more
		}
	})
}

func TestWaitGoneSeesTheLastOneEnd(t *testing.T) {
	alsoWithoutPidfd(t, func(t *testing.T, w *world) {
		_, out := w.start(1, reapertest.Spawn("linger setsid", reapertest.Sleeper()...))
		last := out.pid()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if err := w.WaitGone(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("while it lives: %v", err)
		}
		cancel()
		gone := make(chan error, 1)
		ctx, cancel = context.WithTimeout(t.Context(), patience)
		defer cancel()
		go func() { gone <- w.WaitGone(ctx, 1) }()
		if _, _, err := w.Signal([]Program{1}, syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := <-gone; err != nil {
			t.Fatal(err)
		}
		if err := unix.Kill(last, 0); err == nil {
			if p, err := w.Identify(last); err == nil && !p.Zombie {
				t.Errorf("%+v is alive", p)
			}
		}
	})
}

func TestASignalNeverReachesAnotherProcessOfTheSamePid(t *testing.T) {
	alsoWithoutPidfd(t, func(t *testing.T, w *world) {
		child, out := w.start(1, reapertest.Sleeper())
		s, err := w.proc.stat(out.pid())
		if err != nil {
			t.Fatal(err)
		}
		// As if the marks had been read of an earlier process of this pid.
		before := &entry{stat: s, program: 1}
		before.start--
		if _, ok := w.openHandle(before); ok {
			t.Error("held a process that is another one than was claimed")
		}
		// As if it had ended after it was held.
		h, ok := w.openHandle(&entry{stat: s, program: 1})
		if !ok {
			t.Fatal("could not hold the living process")
		}
		defer h.close()
		if err := child.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		w.done(child)
		if err := w.signal(h, syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("signal to an ended process: %v", err)
		}
	})
}
