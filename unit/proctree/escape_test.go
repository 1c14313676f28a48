package proctree

import (
	"errors"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toskose/toskose/unit/reaper"
	"github.com/toskose/toskose/unit/reaper/reapertest"
)

// escapes are the ways in which processes leave what they were started by.
var escapes = map[string][]string{
	"a plain child":  reapertest.Sleeper(),
	"setsid":         reapertest.Spawn("setsid", reapertest.Sleeper()...),
	"a double fork":  reapertest.Spawn("setsid", reapertest.Spawn("pgid", reapertest.Sleeper()...)...),
	"env -i":         reapertest.Spawn("clean", reapertest.Sleeper()...),
	"another user":   reapertest.Spawn("nobody", reapertest.Sleeper()...),
	"all of them":    reapertest.Spawn("setsid clean", reapertest.Spawn("pgid nobody", reapertest.Sleeper()...)...),
	"nohup in shell": reapertest.Shell("nohup sh -c 'echo $$; exec sleep 100000' 2>/dev/null </dev/null & exit 0"),
}

func TestWhateverEscapesIsStillItsPrograms(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		w := newWorld(t)
		if err := w.Degraded(); err != nil {
			t.Skip(err)
		}
		program := Program(0)
		for how, argv := range escapes {
			program++
			_, out := w.start(program, argv)
			pid := out.pid()
			if p := w.find(pid); p.Program != program {
				t.Errorf("%s: claimed by %d, want %d: %+v", how, p.Program, program, p)
			}
			ending := w.end(patience, program)
			if got := signals(ending, pid); len(got) != 1 || got[0] != syscall.SIGTERM {
				t.Errorf("%s: got %v, want SIGTERM", how, got)
			}
		}
	})
}

func TestADeadOrphanIsClaimedBeforeItIsReaped(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		w := newWorld(t)
		if err := w.Degraded(); err != nil {
			t.Skip(err)
		}
		daemon := reapertest.Spawn("setsid", reapertest.Spawn("clean nobody", reapertest.Shell("echo $$; exit 7")...)...)
		_, out := w.start(4, daemon)
		pid := out.pid()
		if p := w.orphan(pid); p.Program != 4 || !p.Zombie {
			t.Errorf("identified as %+v, want a zombie of program 4", p)
		}
		if exit, _ := w.exits.Load(pid); exit != (reaper.Exit{Code: 7}) {
			t.Errorf("it ended with %v, want exit code 7", exit)
		}
	})
}

func TestTheMarkIsTakenOffTheUnitAgain(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		w := newWorld(t)
		var before, after unix.Rlimit
		if err := unix.Prlimit(0, unix.RLIMIT_RTTIME, nil, &before); err != nil {
			t.Fatal(err)
		}
		child, out := w.start(1, reapertest.Shell("grep 'Max realtime timeout' /proc/self/limits; env"))
		if err := unix.Prlimit(0, unix.RLIMIT_RTTIME, nil, &after); err != nil {
			t.Fatal(err)
		}
		if before != after {
			t.Errorf("the unit's limit was %+v and is %+v", before, after)
		}
		mark := strconv.FormatUint(w.boot.mark(1), 10)
		if line := out.line(); w.Degraded() == nil && !strings.Contains(line, mark) {
			t.Errorf("the child's limit reads %q, want %s", line, mark)
		}
		var env []string
		for range 3 {
			env = append(env, out.line())
		}
		got := strings.Join(env, " ")
		for _, want := range []string{"TOSKOSE_COMPONENT=api", "TOSKOSE_OPERATION=Standard.start", "TOSKOSE_MARK=" + mark} {
			if !strings.Contains(got+" "+strings.Join(rest(out), " "), want) {
				t.Errorf("the child's environment has no %s: %s", want, got)
			}
			got += " " + want
		}
		w.done(child)
	})
}

func rest(p *pipe) (lines []string) {
	for {
		line, err := p.lines.ReadString('\n')
		if err != nil {
			return lines
		}
		lines = append(lines, strings.TrimSuffix(line, "\n"))
	}
}

func TestWithoutTheLimitTheEnvironmentClaims(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		const tooLow = 1_000_000 // µs, as a container may be started with
		low := unix.Rlimit{Cur: tooLow, Max: tooLow}
		if err := unix.Prlimit(0, unix.RLIMIT_RTTIME, &low, nil); err != nil {
			t.Fatal(err)
		}
		w := newWorld(t)
		if err := w.Degraded(); !errors.Is(err, errNoLimit) || !strings.Contains(err.Error(), "1000000 µs") {
			t.Errorf("degraded: %v", err)
		}
		_, out := w.start(1, reapertest.Spawn("setsid", reapertest.Spawn("pgid", reapertest.Sleeper()...)...))
		if p := w.find(out.pid()); p.Program != 1 {
			t.Errorf("claimed by %d, want 1: %+v", p.Program, p)
		}
	})
}

func TestAProcessWhoseLimitWasResetIsKnownByItsKin(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		w := newWorld(t)
		// As Debian's su does it: new session, new environment, new limits.
		// The process lives on, forks another in its session, and is known
		// first by its parent, then by itself; its child by it.
		script := "echo $$; read go <$0; (sh -c 'echo $$; exec sleep 100000' &); read go <$1; exit 0"
		fork, exit := newFIFO(t), newFIFO(t)
		su := reapertest.Spawn("linger setsid clean rttime=unlimited", "/bin/sh", "-c", script, fork, exit)
		parent, out := w.start(1, su)
		first := out.pid()
		if p := w.find(first); p.Program != 1 || p.Parent != parent.PID() {
			t.Fatalf("with its parent alive it is %+v, want of program 1", p)
		}
		if err := parent.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		w.done(parent)
		if p := w.find(first); p.Program != 1 || p.Parent == parent.PID() {
			t.Errorf("orphaned it is %+v, want of program 1", p)
		}
		openFIFO(t, fork)
		second := out.pid()
		if p := w.find(second); p.Program != 1 {
			t.Errorf("what it forked is %+v, want of program 1", p)
		}
		openFIFO(t, exit)
		if p := w.orphan(first); p.Program != 1 {
			t.Errorf("dead it is %+v, want of program 1", p)
		}
		if p := w.find(second); p.Program != 1 {
			t.Errorf("what it left is %+v, want of program 1", p)
		}
	})
}

func TestAnUnclaimedOrphanIsShownAndLeftAlone(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		w := newWorld(t)
		_, out := w.startSpec(reaper.Spec{}, reapertest.Spawn("setsid", reapertest.Sleeper()...))
		stranger := out.pid()
		_, out = w.start(1, reapertest.Sleeper())
		out.pid()
		w.end(0, 1)
		p := w.find(stranger)
		// It has said its pid before it executes sleep, which nothing else tells; and while the kernel does that
		// it may have a command line, but no memory yet.
		for end := time.Now().Add(patience); (p.Command != "sleep 100000" || p.Memory == 0) && time.Now().Before(end); {
			p = w.find(stranger)
		}
		if p.Program != Unclaimed || p.Zombie {
			t.Errorf("it is %+v, want alive and unclaimed", p)
		}
		if p.Command != "sleep 100000" || p.Memory <= 0 || p.Started.IsZero() {
			t.Errorf("it is shown as %+v", p)
		}
		ending := w.end(patience, Unclaimed)
		if got := signals(ending, stranger); len(got) != 1 || got[0] != syscall.SIGTERM {
			t.Errorf("asked to end the unclaimed it got %v", got)
		}
	})
}
