package unit

import (
	"cmp"
	"sync"
	"time"

	"github.com/toskose/toskose/unit/process"
)

// defaultGrace is the grace period of processes outside all programs.
const defaultGrace = 10 * time.Second

// stopAll ends every process of the container: first the running programs by their own stop
// signals, by descending priority and in parallel within one priority; then every other process by
// TERM; and the rest by KILL after the grace period.
func (u *Unit) stopAll() {
	u.log.Info("shutting down", "state", u.State().String())
	u.components.Shutdown()
	for _, batch := range u.batches() {
		u.quiesce(batch)
		for _, p := range batch {
			if err := p.Finish(u.lifetime); err != nil {
				u.log.Error("cannot stop", "process", p.Name(), "error", err)
			}
		}
		for _, p := range batch {
			if s, err := p.Await(u.lifetime, process.Status.StopAnswered); err == nil && s.Stuck != "" {
				u.log.Error("cannot stop", "process", p.Name(), "error", s.Stuck)
			}
		}
	}
	u.programs.EndAll(u.lifetime, defaultGrace)
}

// listenerGrace is how long a shutdown waits for an event listener with pending events that accepts
// none.
const listenerGrace = time.Second

// quiesce lets event listeners that are about to be stopped process their pending events.
func (u *Unit) quiesce(batch []*process.Program) {
	var listening sync.WaitGroup
	for _, p := range batch {
		listening.Go(func() { p.Quiesce(u.lifetime, listenerGrace) })
	}
	listening.Wait()
}

// batches returns the programs to stop together: dependents before their dependencies, and
// otherwise by descending priority.
func (u *Unit) batches() [][]*process.Program {
	type level struct{ group, program int }
	levels := map[string]level{}
	var names []string
	for _, g := range u.names.allGroups() {
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
