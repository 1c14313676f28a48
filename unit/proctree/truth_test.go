package proctree

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/toskose/toskose/unit/reaper"
	"github.com/toskose/toskose/unit/reaper/reapertest"
)

const (
	victim Program = 1 // whose marks are copied
	forger Program = 2
)

// forging is a command that copies all marks of the victim and prints its pid. prefix
// begins it, and suffix is what follows.
func (w *world) forging(prefix, suffix string) []string {
	mark := w.boot.mark(victim)
	return reapertest.Shell(fmt.Sprintf(`%s sh -c 'echo 0x%x > /proc/self/coredump_filter
		exec prlimit --rttime=%d: env %s=%d sh -c "echo \$\$; exec sleep 100000"'%s`,
		prefix, 0x33|w.core.value(victim, victim), mark, EnvMark, mark, suffix))
}

func (w *world) startAs(program Program, uid int, argv []string) (*reaper.Child, *pipe) {
	w.t.Helper()
	w.Describe(program, program, fmt.Sprint(program), uid)
	spec := reaper.Spec{
		Around: w.Around(program, program), Env: append(w.Env(program, "api", "Standard.start"), "PATH="+os.Getenv("PATH")),
		Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)},
	}
	return w.startSpec(spec, argv)
}

// wantForger checks to whom a process belongs, and that it ends with that one.
func (w *world) wantForger(t *testing.T, pid int) {
	t.Helper()
	if w.Gone(forger) {
		t.Error("the forger counts as gone")
	}
	if p := w.find(pid); p.Program != forger {
		t.Errorf("the process is claimed by %d, want %d: %+v", p.Program, forger, p)
	}
	if members, err := w.Live(victim); err != nil || len(members) != 1 {
		t.Errorf("the victim has %v, %v", members, err)
	}
	if got := signals(w.end(patience, forger), pid); len(got) == 0 {
		t.Error("the process survives the stop of its component")
	}
}

func TestACopiedMarkDoesNotMakeAProcessAnotherUsersComponents(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		for name, victimsUser := range map[string]int{"root": 0, "another user": 12346} {
			t.Run(name, func(t *testing.T) {
				w := newWorld(t)
				if err := w.Degraded(); err != nil || os.Geteuid() != 0 {
					t.Skip("it needs root and marks: ", err)
				}
				_, out := w.startAs(victim, victimsUser, reapertest.Shell("echo $$; exec sleep 100000"))
				out.pid()
				_, out = w.startAs(forger, 12345, w.forging("setsid -f", ""))
				w.wantForger(t, out.pid())
			})
		}
	})
}

func TestACopiedMarkDoesNotOutweighAParentThatIsKnown(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		w := newWorld(t)
		if err := w.Degraded(); err != nil || os.Geteuid() != 0 {
			t.Skip("it needs root and marks: ", err)
		}
		_, out := w.startAs(victim, 12345, reapertest.Shell("echo $$; exec sleep 100000"))
		out.pid()
		_, out = w.startAs(forger, 12345, w.forging("setsid", "; exit 0"))
		w.wantForger(t, out.pid())
	})
}

// TestACopiedMarkDoesNotOutweighASessionThatIsKnown has an orphan copy marks: its parent is known no longer, but it has not
// left the session of its component, whose programs have the victim's user.
func TestACopiedMarkDoesNotOutweighASessionThatIsKnown(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		w := newWorld(t)
		if err := w.Degraded(); err != nil || os.Geteuid() != 0 {
			t.Skip("it needs root and marks: ", err)
		}
		_, out := w.startAs(victim, 12345, reapertest.Shell("echo $$; exec sleep 100000"))
		out.pid()
		command := w.forging("echo $$; kill -STOP $$; (", " & ); exec sleep 100000")
		_, out = w.startAs(forger, 12345, append(reapertest.Shell(`exec setsid --wait sh -c "$0"`), command[len(command)-1]))
		leader := out.pid()
		if p := w.find(leader); p.Program != forger {
			t.Fatalf("the leader of the session is claimed by %d", p.Program)
		}
		for stopped := false; !stopped; { // or the signal that resumes it is lost
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", leader))
			if err != nil {
				t.Fatal(err)
			}
			stopped = strings.Contains(string(stat), ") T ")
		}
		if err := syscall.Kill(leader, syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		w.wantForger(t, out.pid())
	})
}

func TestUsersThatNoComponentHasStayWithTheMark(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		w := newWorld(t)
		if err := w.Degraded(); err != nil || os.Geteuid() != 0 {
			t.Skip("it needs root and marks: ", err)
		}
		_, out := w.startAs(forger, 12345, reapertest.Shell("echo $$; exec sleep 100000"))
		out.pid()
		_, out = w.startAs(victim, 0, reapertest.Spawn("setsid", reapertest.Spawn("pgid nobody", reapertest.Sleeper()...)...))
		if p := w.find(out.pid()); p.Program != victim {
			t.Errorf("what a root component has started as nobody is claimed by %d: %+v", p.Program, p)
		}
	})
}
