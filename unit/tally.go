package unit

import (
	"maps"
	"sync"
	"time"

	"github.com/toskose/toskose/unit/reaper"
)

// tally counts what became of a program since it was configured.
type tally struct {
	mu       sync.Mutex
	starts   uint64
	restarts uint64 // starts that nobody asked for
	exits    map[exitKey]uint64
	spent    time.Duration // CPU time of processes that have ended
	shown    time.Duration // the most CPU time that was ever told: a counter never falls
}

// exitKey is how a main process ended: one of the two is set.
type exitKey struct{ code, signal int }

// counts are what a tally stood at.
type counts struct {
	starts, restarts uint64
	exits            map[exitKey]uint64
	spent            time.Duration
}

func (t *tally) started() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.starts++
}

// unasked counts as restarts what a step that nobody asked for has started.
func (t *tally) unasked(step func()) {
	before := t.counts().starts
	step()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.restarts += t.starts - before
}

func (t *tally) ended(exit reaper.Exit) {
	key := exitKey{code: exit.Code}
	if exit.Signalled() {
		key = exitKey{signal: int(exit.Signal)}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.exits == nil {
		t.exits = map[exitKey]uint64{}
	}
	t.exits[key]++
}

// spend adds the CPU time of a process that has ended, with that of the
// children it had waited for.
func (t *tally) spend(cpu time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spent += cpu
}

func (t *tally) counts() counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	return counts{starts: t.starts, restarts: t.restarts, exits: maps.Clone(t.exits), spent: t.spent}
}

// show gives the CPU time to tell: what is known now, or what was told before
// where a process that ended just now is not counted yet.
func (t *tally) show(cpu time.Duration) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.shown = max(t.shown, cpu)
	return t.shown
}
