package unit

import (
	"context"
	"time"

	"github.com/toskose/toskose/unit/reaper"
	"github.com/toskose/toskose/unit/wire"
)

// status is what others may know of a program.
type status struct {
	run      uint64 // counts the starts; 0: never started
	state    wire.ProcessState
	settled  bool // this run was running
	pid      int  // of the main process, 0: none; once it ended, of the oldest that it left
	spawnErr string
	started  time.Time
	stopped  time.Time
	exit     *reaper.Exit // of the main process of this run
	last     *orphan      // the last of its orphans to end
	left     bool         // processes live on after the main process
	killed   bool         // this run's grace passed, and KILL was sent
	unready  bool         // this run did not become ready, and the unit ended it
	stuck    string       // why the stop under way cannot end it; empty: it can
}

// orphan is the end of a process of the program that the unit adopted.
type orphan struct {
	pid  int
	exit reaper.Exit
}

// resting tells whether nothing runs, and nothing will by itself.
func (s status) resting() bool { return s.state.InStoppedSet() }

// halted tells whether a stop that was asked for has its answer.
func (s status) halted() bool { return s.resting() || s.stuck != "" }

// observe gives the status, and a channel that is closed when it changes.
func (p *program) observe() (status, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status, p.changed
}

// await waits until the status is as wanted.
func (p *program) await(ctx context.Context, wanted func(status) bool) (status, error) {
	for {
		s, changed := p.observe()
		if wanted(s) {
			return s, nil
		}
		select {
		case <-changed:
		case <-p.closed:
			if s, _ = p.observe(); wanted(s) {
				return s, nil
			}
			return s, p.over()
		case <-ctx.Done():
			return s, ctx.Err()
		}
	}
}

// publish changes the status under its lock and wakes those who wait.
func (p *program) publish(change func(*status)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.status)
	close(p.changed)
	p.changed = make(chan struct{})
}

// exitStatus is an exit as Supervisor counts it: -1 for a signal.
func exitStatus(exit reaper.Exit) int {
	if exit.Signalled() {
		return -1
	}
	return exit.Code
}
