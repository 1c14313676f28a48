package reaper_test

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toskose/toskose/internal/leak"
	"github.com/toskose/toskose/unit/reaper"
	"github.com/toskose/toskose/unit/reaper/reapertest"
)

func TestMain(m *testing.M) { reapertest.Main(m) }

// limit is how long anything may take before a test gives up.
const limit = 60 * time.Second

type orphan struct {
	pid    int
	exit   reaper.Exit
	limits string // of its /proc, when it was reported
	state  string
}

// fixture is a reaper whose Run runs until the test ends.
type fixture struct {
	*reaper.Reaper
	orphans chan orphan
	drained chan struct{}
	start   func()
}

func newReaper(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{orphans: make(chan orphan, 1<<16), drained: make(chan struct{}, 1<<16)}
	r, err := reaper.New(reaper.Options{
		Orphan: func(pid int, exit reaper.Exit, _ time.Duration) {
			dir := filepath.Join("/proc", strconv.Itoa(pid))
			limits, _ := os.ReadFile(filepath.Join(dir, "limits"))
			status, _ := os.ReadFile(filepath.Join(dir, "status"))
			f.orphans <- orphan{pid, exit, string(limits), string(status)}
		},
		Drained: func() { f.drained <- struct{}{} },
	})
	if err != nil {
		t.Fatal(err)
	}
	f.Reaper = r
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	f.start = sync.OnceFunc(func() {
		running.Go(func() {
			if err := r.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
		leak.None(t)
	})
	return f
}

func receive[T any](t *testing.T, ch <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-ch:
	case <-time.After(limit):
		t.Fatalf("%s: not within %v", what, limit)
	}
	return v
}

func (f *fixture) run(t *testing.T, spec reaper.Spec) *reaper.Child {
	t.Helper()
	child, err := f.Start(spec)
	if err != nil {
		t.Fatal(err)
	}
	return child
}

func command(argv []string) reaper.Spec {
	return reaper.Spec{Path: argv[0], Args: argv, Env: []string{"PATH=" + os.Getenv("PATH")}, Stderr: os.Stderr}
}

// output runs a command and gives what it printed.
func (f *fixture) output(t *testing.T, spec reaper.Spec) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	spec.Stdout = w
	child := f.run(t, spec)
	w.Close()
	var lines []string
	for scanner := bufio.NewScanner(r); scanner.Scan(); {
		lines = append(lines, scanner.Text())
	}
	receive(t, child.Done(), "the end of "+spec.Path)
	if !child.Exit().Success() {
		t.Fatalf("%q ended with %v", spec.Args, child.Exit())
	}
	return strings.Join(lines, "\n")
}

func TestDoubleForkedOrphanIsSeenAsAZombieThenReapedWithItsExitCode(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		f := newReaper(t)
		f.start()
		argv := reapertest.Spawn("setsid clean", reapertest.Spawn("", reapertest.Shell("exit 7")...)...)
		child := f.run(t, command(argv))
		receive(t, child.Done(), "the end of the daemon's first process")
		if got := child.Exit(); !got.Success() {
			t.Errorf("the daemon's first process ended with %v, want exit code 0", got)
		}
		// The middle process exits 0 and is an orphan, too.
		codes := map[int]orphan{}
		for range 2 {
			o := receive(t, f.orphans, "an orphan's end")
			codes[o.exit.Code] = o
		}
		seven, ok := codes[7]
		if !ok {
			t.Fatalf("no orphan ended with 7, but with %v", codes)
		}
		if !strings.Contains(seven.state, "Z (zombie)") {
			t.Errorf("when it was reported it was no zombie:\n%s", seven.state)
		}
		if !strings.Contains(seven.limits, "Max realtime timeout") {
			t.Errorf("when it was reported its limits read %q", seven.limits)
		}
		receive(t, f.drained, "the end of reaping")
		for f.exists(t, seven.pid) {
			receive(t, f.drained, "the end of reaping")
		}
	})
}

func (f *fixture) exists(t *testing.T, pid int) bool {
	t.Helper()
	_, err := os.Stat("/proc/" + strconv.Itoa(pid))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

func TestEndsOfChildrenAreDeliveredWithCodeOrSignal(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		f := newReaper(t)
		f.start()
		for script, want := range map[string]reaper.Exit{
			"exit 0":        {},
			"exit 3":        {Code: 3},
			"exit 255":      {Code: 255},
			"kill -KILL $$": {Signal: syscall.SIGKILL},
			"kill -TERM $$": {Signal: syscall.SIGTERM},
		} {
			child := f.run(t, command(reapertest.Shell(script)))
			receive(t, child.Done(), "the end of "+script)
			if got := child.Exit(); got != want {
				t.Errorf("%s: ended with %v, want %v", script, got, want)
			}
		}
	})
}

func TestChildrenThatDieAtOnceAreNeverTakenForOrphans(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		f := newReaper(t)
		f.start()
		var starters sync.WaitGroup
		for range 4 {
			starters.Go(func() {
				for range 100 {
					child, err := f.Start(command([]string{"/bin/true"}))
					if err != nil {
						t.Error(err)
						return
					}
					receive(t, child.Done(), "the end of /bin/true")
				}
			})
		}
		starters.Wait()
		if len(f.orphans) > 0 {
			t.Errorf("%d children were taken for orphans", len(f.orphans))
		}
	})
}

func TestChildrenThatDiedBeforeRunAreDelivered(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		f := newReaper(t)
		child := f.run(t, command(reapertest.Shell("exit 5")))
		if err := unix.Waitid(unix.P_PID, child.PID(), nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
			t.Fatal(err)
		}
		if got := child.Exit(); got != (reaper.Exit{}) {
			t.Errorf("before it was reaped its end was %v", got)
		}
		f.start()
		receive(t, child.Done(), "the end of the child")
		if got := child.Exit().Code; got != 5 {
			t.Errorf("exit code %d, want 5", got)
		}
	})
}

func TestRunEndsWithItsContextWhileAChildLivesAndReapsNothingMore(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		t.Cleanup(func() { leak.None(t) })
		r, err := reaper.New(reaper.Options{Drained: func() { t.Error("a drain was reported") }})
		if err != nil {
			t.Fatal(err)
		}
		child, err := r.Start(command(reapertest.Sleeper()))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan error, 1)
		go func() { over <- r.Run(ctx) }()
		cancel()
		if err := receive(t, over, "the end of Run"); err != nil {
			t.Error(err)
		}
		if err := child.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		// It stays to be waited for: by us, for whom the kernel holds it.
		if err := unix.Waitid(unix.P_PID, child.PID(), nil, unix.WEXITED, nil); err != nil {
			t.Errorf("it was reaped after the end of Run: %v", err)
		}
		select {
		case <-child.Done():
			t.Error("its end was delivered after the end of Run")
		default:
		}
	})
}

func TestTwoThousandOrphansAreReapedAndNoneIsLeft(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		const many = 2000
		f := newReaper(t)
		f.start()
		// Each is forked by a subshell that does not wait for it.
		child := f.run(t, command(reapertest.Shell("i=0; while [ $i -lt 2000 ]; do ( (exit 9) & ); i=$((i+1)); done")))
		for range many {
			if o := receive(t, f.orphans, "an orphan's end"); o.exit.Code != 9 {
				t.Fatalf("orphan %d ended with %v, want exit code 9", o.pid, o.exit)
			}
		}
		receive(t, child.Done(), "the end of the shell")
		if n := len(f.drained); n > many+1 {
			t.Errorf("reported %d drains for %d ends", n, many+1)
		}
		// An orphan's end is told before it is reaped, so the last may be a zombie
		// still; the drain that reaps it is reported after.
		for !errors.Is(unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil), unix.ECHILD) {
			receive(t, f.drained, "the drain after which no child is left")
		}
	})
}

func TestADrainIsReportedOnceForAllThatWereDead(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		f := newReaper(t)
		children := make([]*reaper.Child, 50)
		for i := range children {
			children[i] = f.run(t, command([]string{"/bin/true"}))
			if err := unix.Waitid(unix.P_PID, children[i].PID(), nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
				t.Fatal(err)
			}
		}
		f.start()
		receive(t, f.drained, "the drain")
		for _, child := range children {
			select {
			case <-child.Done():
			default:
				t.Errorf("the drain was reported before the end of %d", child.PID())
			}
		}
		if len(f.drained) > 0 {
			t.Errorf("%d more drains were reported", len(f.drained))
		}
	})
}

func TestSignalsReachAChildUntilItWasReaped(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		f := newReaper(t)
		f.start()
		child := f.run(t, command([]string{"/bin/sleep", "100000"}))
		if err := child.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		receive(t, child.Done(), "the end of the child")
		if got := child.Exit(); got.Signal != syscall.SIGKILL || got.String() != "SIGKILL" {
			t.Errorf("ended with %v, want SIGKILL", got)
		}
		for _, signal := range []func(syscall.Signal) error{child.Signal, child.SignalGroup} {
			if err := signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
				t.Errorf("signal after the end: %v, want ErrProcessDone", err)
			}
		}
	})
}

func TestSignalGroupReachesWhatTheChildForked(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		f := newReaper(t)
		f.start()
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		spec := command(reapertest.Shell("sleep 100000 & echo started; wait"))
		spec.Stdout = w
		child := f.run(t, spec)
		w.Close()
		if _, err := bufio.NewReader(r).ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		if err := child.SignalGroup(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		receive(t, child.Done(), "the end of the shell")
		if o := receive(t, f.orphans, "the end of what it forked"); o.exit.Signal != syscall.SIGTERM {
			t.Errorf("what it forked ended with %v, want SIGTERM", o.exit)
		}
	})
}

func TestSIGCHLDIsHandledOnlyWhileThereAreNoChildren(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		f := newReaper(t)
		f.start()
		for range 3 {
			awaitHandled(t, true)
			child := f.run(t, command(reapertest.Sleeper()))
			// Another child's end is what wakes the reaper when it thought itself alone.
			receive(t, f.run(t, command([]string{"/bin/true"})).Done(), "the end of /bin/true")
			awaitHandled(t, false)
			if err := child.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			receive(t, child.Done(), "the end of the child")
		}
	})
}

// awaitHandled waits until this process has a handler for SIGCHLD, or has none.
func awaitHandled(t *testing.T, want bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); ; time.Sleep(time.Millisecond) {
		status, err := os.ReadFile("/proc/self/status")
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(status), "\nSigCgt:\t")
		text, _, _ := strings.Cut(rest, "\n")
		caught, err := strconv.ParseUint(text, 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		if got := caught>>(syscall.SIGCHLD-1)&1 == 1; got == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("SIGCHLD handled: %t", !want)
		}
	}
}

func TestAChildIsSuspendedWhileASignalStopsIt(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		f := newReaper(t)
		f.start()
		child := f.run(t, command(reapertest.Shell("exec sleep 100000")))
		until := func(want bool, sig syscall.Signal) {
			t.Helper()
			if err := child.Signal(sig); err != nil {
				t.Fatal(err)
			}
			for end := time.Now().Add(limit); child.Suspended() != want; time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("after %v suspended is %v", sig, !want)
				}
			}
		}
		if child.Suspended() {
			t.Error("it is suspended from the beginning")
		}
		until(true, syscall.SIGSTOP)
		until(false, syscall.SIGCONT)
		until(true, syscall.SIGSTOP)
		until(false, syscall.SIGKILL)
		receive(t, child.Done(), "the end of the child")
		if child.Suspended() {
			t.Error("it is suspended when it has ended")
		}
	})
}
