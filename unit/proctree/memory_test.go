package proctree

import (
	"os"
	"syscall"
	"testing"

	"github.com/toskose/toskose/unit/reaper/reapertest"
)

// remembered is the size of the largest set of the memory.
func (w *world) remembered() int {
	m := w.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	return max(len(m.groups), len(m.sessions), len(m.processes), len(m.mains), len(m.forks))
}

func TestWhatHasEndedIsForgottenWithoutALook(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		w := newWorld(t)
		w.core.off = os.ErrNotExist // so that nothing but their groups tells whose the unmarked are
		first, out := w.start(1, reapertest.Spawn("clean rttime=unlimited", reapertest.Sleeper()...))
		left := out.pid()
		w.done(first)
		looks := w.memory.begin()

		const starts, stops, most = 1000, 300, 100
		for range starts {
			child, out := w.start(2, []string{"/bin/true"})
			w.done(child)
			out.file.Close()
		}
		if n := w.remembered(); n > most {
			t.Errorf("after %d starts %d are remembered", starts, n)
		}
		for range stops {
			main, out := w.start(3, reapertest.Shell("sleep 100000 & echo $!; wait"))
			child := out.pid()
			if err := w.Recognise(3, main.PID()); err != nil {
				t.Fatal(err)
			}
			if w.memory.recall(child) == nil {
				t.Fatalf("process %d is not recognised", child)
			}
			if err := main.SignalGroup(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			w.done(main)
			w.orphan(child)
			out.file.Close()
		}
		if n := w.remembered(); n > most {
			t.Errorf("after %d stops %d are remembered", stops, n)
		}

		if again := w.memory.begin(); again != looks+1 {
			t.Fatalf("there were %d looks", again-looks-1)
		}
		if p := w.find(left); p.Program != 1 || p.Group != first.PID() {
			t.Errorf("what the first left is %+v, want of program 1 in group %d", p, first.PID())
		}
	})
}
