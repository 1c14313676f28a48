package process

import (
	"maps"
	"sync"
	"time"
)

// tally counts what became of a program since it was configured.
type tally struct {
	mu       sync.Mutex
	starts   uint64
	restarts uint64 // starts that nobody asked for
	exits    map[Exit]uint64
	spent    time.Duration // CPU time of processes that have ended
	shown    time.Duration // the most CPU time that was ever told: a counter never falls
}

// Counts are what became of a program since it was configured.
type Counts struct {
	Starts, Restarts uint64          // the latter are starts that nobody asked for
	Exits            map[Exit]uint64 // of the main process
	CPU              time.Duration   // of processes that have ended
}

func (t *tally) started() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.starts++
}

// unasked counts as restarts what a step that nobody asked for has started.
func (t *tally) unasked(step func()) {
	before := t.counts().Starts
	step()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.restarts += t.starts - before
}

func (t *tally) ended(exit Exit) {
	exit.Core = false // counted alike
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.exits == nil {
		t.exits = map[Exit]uint64{}
	}
	t.exits[exit]++
}

// spend adds the CPU time of a process that has ended, with that of the
// children it had waited for.
func (t *tally) spend(cpu time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spent += cpu
}

func (t *tally) counts() Counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Counts{Starts: t.starts, Restarts: t.restarts, Exits: maps.Clone(t.exits), CPU: t.spent}
}

// Counts returns what became of the program so far.
func (p *Program) Counts() Counts { return p.tally.counts() }

// CPU returns the CPU time to tell of a program, given what is known of it now: a
// counter never falls, also where a process that ended just now is not counted
// yet.
func (p *Program) CPU(known time.Duration) time.Duration {
	t := &p.tally
	t.mu.Lock()
	defer t.mu.Unlock()
	t.shown = max(t.shown, known)
	return t.shown
}
