package unit

import (
	"cmp"
	"sync"
	"time"

	"github.com/toskose/toskose/unit/process"
)

// defaultGrace is how long what no program claims may take to end.
const defaultGrace = 10 * time.Second

// stopAll ends every process of the container: first what runs, by its own
// stop signal to its main process, priority by priority, the highest first and
// in parallel within one; then everything else that is alive, by TERM; and what
// is left of that after the grace by KILL.
func (u *Unit) stopAll() {
	u.log.Info("shutting down", "state", u.State().String())
	u.components.Shutdown()
	for _, batch := range u.batches() {
		u.quiesce(batch)
		for _, p := range batch {
			if err := p.Finish(u.life); err != nil {
				u.log.Error("cannot stop", "process", p.Name(), "error", err)
			}
		}
		for _, p := range batch {
			if s, err := p.Await(u.life, process.Status.StopAnswered); err == nil && s.Stuck != "" {
				u.log.Error("cannot stop", "process", p.Name(), "error", s.Stuck)
			}
		}
	}
	u.programs.EndAll(u.life, defaultGrace)
}

// lastEvents is how long a shutdown waits for an event listener that still has
// events to take and accepts none of them.
const lastEvents = time.Second

// quiesce lets the event listeners among programs that are about to be stopped
// take the events that wait for them.
func (u *Unit) quiesce(batch []*process.Program) {
	var listening sync.WaitGroup
	for _, p := range batch {
		listening.Go(func() { p.Quiesce(u.life, lastEvents) })
	}
	listening.Wait()
}

// batches returns the programs that are stopped at the same time: what comes after
// others before these, and of the rest the highest priority first.
func (u *Unit) batches() [][]*process.Program {
	type level struct{ group, program int }
	levels := map[string]level{}
	var names []string
	for _, g := range u.names.every() {
		for _, p := range g.programs {
			levels[p.Name()] = level{g.priority, p.Settings().Priority}
			names = append(names, p.Name())
		}
	}
	stopsAfter := u.graph(after).Reversed()
	var batches [][]*process.Program
	for _, batch := range stopsAfter.Batches(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(levels[b].group, levels[a].group), cmp.Compare(levels[b].program, levels[a].program))
	}) {
		programs := make([]*process.Program, len(batch))
		for i, name := range batch {
			programs[i] = u.names.process(name)
		}
		batches = append(batches, programs)
	}
	return batches
}
