package unit

import (
	"context"
	"sort"
	"time"

	"github.com/toskose/toskose/unit/proctree"
)

// defaultGrace is how long what no program claims may take to end.
const defaultGrace = 10 * time.Second

// recordGrace is how long the end waits for a journal that cannot be written.
const recordGrace = time.Second

// stopAll ends every process of the container: first what runs, by its own
// stop signal to its main process, priority by priority, the highest first and
// in parallel within one; then everything else that is alive, by TERM; and what
// is left of that after the grace by KILL.
func (u *Unit) stopAll() {
	u.log.Info("shutting down", "state", u.State().String())
	for _, x := range u.ledger.allLive() {
		x.cancel(errShutdown)
	}
	for _, batch := range u.batches() {
		u.finishListening(batch)
		for _, p := range batch {
			if err := p.tell(u.life, command{kind: commandFinish}); err != nil {
				u.log.Error("cannot stop", "process", p.name(), "error", err)
			}
		}
		for _, p := range batch {
			if s, err := p.await(u.life, status.halted); err == nil && s.stuck != "" {
				u.log.Error("cannot stop", "process", p.name(), "error", s.stuck)
			}
		}
	}
	everyone := []proctree.Program{proctree.Unclaimed}
	grace := defaultGrace
	for _, p := range u.roster.all() {
		everyone = append(everyone, p.number)
		grace = max(grace, p.stopWait())
	}
	// KILL ends what it reaches at once; what is stuck in the kernel is left to it.
	ctx, cancel := context.WithTimeout(u.life, grace+time.Second)
	defer cancel()
	ended, err := u.tree.End(ctx, everyone, grace)
	if err != nil {
		u.log.Error("cannot end all processes", "error", err)
	}
	for _, s := range ended.Signalled {
		u.log.Info("ended", "pid", s.Process.PID, "command", s.Process.Command, "signal", s.Signal.String())
	}
}

// batches gives the programs that are stopped at the same time.
func (u *Unit) batches() [][]*program {
	type level struct{ group, program int }
	levels := map[level][]*program{}
	var order []level
	for _, g := range u.names.every() {
		for _, p := range g.programs {
			l := level{g.priority, p.settings().Priority}
			if _, ok := levels[l]; !ok {
				order = append(order, l)
			}
			levels[l] = append(levels[l], p)
		}
	}
	sort.SliceStable(order, func(i, j int) bool {
		a, b := order[i], order[j]
		return a.group > b.group || a.group == b.group && a.program > b.program
	})
	batches := make([][]*program, len(order))
	for i, l := range order {
		batches[i] = levels[l]
	}
	return batches
}

// settle waits until the ends of all executions are in the journal, not for
// ever where it cannot be written.
func (u *Unit) settle() {
	timer := time.NewTimer(recordGrace)
	defer timer.Stop()
	for _, x := range u.ledger.allLive() {
		select {
		case <-x.done:
		case <-timer.C:
			return
		}
	}
}
