package proctree

import (
	"testing"
	"time"

	"github.com/toskose/toskose/unit/reaper/reapertest"
)

// askedOften asks in a series, until the answer is what it is to be.
func (w *world) askedOften(want bool) {
	w.t.Helper()
	for end := time.Now().Add(patience); ; {
		if w.childless() == want {
			return
		}
		if time.Now().After(end) {
			w.t.Fatalf("that nobody has forked is never %t", want)
		}
	}
}

func TestThatNobodyHasForkedIsKnownUntilSomebodyDoes(t *testing.T) {
	reapertest.AsInit(t, func(t *testing.T) {
		w := newWorld(t)
		_, out := w.start(1, reapertest.Sleeper())
		out.pid()
		w.askedOften(true)
		main, out := w.start(2, reapertest.Spawn("setsid", reapertest.Sleeper()...))
		pid := out.pid()
		// Its parent ends once it has forked: what is left is nobody's child but ours.
		if w.childless() {
			t.Errorf("process %d was forked by a child", pid)
		}
		w.done(main)
		w.askedOften(false)
		w.end(patience, 2)
		w.askedOften(true)
	})
}

func TestOnlyAmongManyQuestionsAllProcessesAreListed(t *testing.T) {
	reapertest.AsInit(t, func(t *testing.T) {
		w := newWorld(t)
		w.childlessness.lastQuery = time.Now().Add(-seriesGap)
		if w.childless() {
			t.Error("one question by itself has a cheaper answer")
		}
	})
}
