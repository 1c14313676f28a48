package unit

import (
	"context"
	"slices"

	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/process"
	"github.com/toskose/toskose/unit/wire"
)

// sequence acts on processes, each as soon as no other one blocks it, and otherwise in the given
// order. It is used by one goroutine at a time.
type sequence struct {
	u            *Processes
	waiting      []*pendingProcess
	pending      map[string]bool // their names
	together     map[string]bool // the names of all given processes
	refused      map[string]bool // those for which begin failed
	blockedBy    func(q *sequence, p *process.Program) blocker
	begin        func(ctx context.Context, p *process.Program, why error) error // why is nil, or the reason why it cannot begin
	starts       bool
	waitsForever bool // also waits for processes that nothing will start
}

// pendingProcess is a process that the sequence has not acted on yet.
type pendingProcess struct {
	*process.PendingStart
	deferred bool
}

// blocker is the reason why a process has to wait.
type blocker struct {
	reason    string // empty: not blocked
	permanent bool   // nothing will remove the reason
}

func (u *Processes) sequence(programs []*process.Program) *sequence {
	q := &sequence{u: u, pending: map[string]bool{}, together: map[string]bool{}, refused: map[string]bool{}}
	for _, p := range programs {
		q.waiting = append(q.waiting, &pendingProcess{PendingStart: p.PendingStart()})
		q.together[p.Name()], q.pending[p.Name()] = true, true
	}
	return q
}

// run runs until the sequence has acted on every process, or ctx ends.
func (q *sequence) run(ctx context.Context) {
	for {
		changed := q.u.programs.Changed()
		q.pass(ctx)
		if len(q.waiting) == 0 {
			return
		}
		select {
		case <-changed:
			continue
		case <-ctx.Done():
		case <-q.u.lifetime.Done():
		}
		why := ctx.Err()
		if why == nil {
			why = toFault(process.ErrUnserved)
		}
		for _, t := range q.waiting {
			q.beginWith(ctx, t, why)
		}
		return
	}
}

// pass checks each process once.
func (q *sequence) pass(ctx context.Context) {
	var waiting []*pendingProcess
	for _, t := range q.waiting {
		if its, why := q.checkBlocker(t); its {
			q.beginWith(ctx, t, why)
		} else {
			waiting = append(waiting, t)
		}
	}
	q.waiting = waiting
}

func (q *sequence) beginWith(ctx context.Context, t *pendingProcess, why error) {
	delete(q.pending, t.Name())
	if q.begin(ctx, t.Program, why) != nil {
		q.refused[t.Name()] = true
	}
	if t.deferred && q.starts {
		t.SetReason("") // without effect if it was started
	}
}

// checkBlocker reports whether the sequence can act on a process now, or why it never can.
func (q *sequence) checkBlocker(t *pendingProcess) (its bool, why error) {
	if q.starts {
		switch err := q.u.serving(); {
		case err != nil:
			return true, err
		case t.deferred && t.Status().State.InRunningSet():
			return true, wire.NewFault(wire.AlreadyStarted, t.Namespec())
		case t.deferred && (t.Canceled() || q.u.names.process(t.Name()) != t.Program):
			return true, wire.NewFault(wire.SpawnError, t.Namespec()+": it was stopped before its turn came")
		}
	}
	h := blocker{}
	if q.blockedBy != nil {
		h = q.blockedBy(q, t.Program)
	}
	switch {
	case h.reason == "":
		return true, nil
	case h.permanent && !q.waitsForever:
		return true, wire.NewFault(wire.SpawnError, t.Namespec()+" "+h.reason)
	}
	t.deferred = true
	if q.starts && t.SetReason(h.reason) {
		log := q.u.log.Info
		if h.permanent {
			log = q.u.log.Error
		}
		log("a process is waiting to be started", "process", t.Name(), "why", h.reason)
	}
	return false, nil
}

// notYetStarted blocks the start of a process until the processes it depends on have started,
// unless they are neither required nor started together with it.
func notYetStarted(q *sequence, p *process.Program) blocker {
	var found blocker
	for _, name := range p.Settings().After {
		progress := progressOf(q.u.names.process(name), slices.Contains(p.Settings().AfterExit, name))
		needed := q.together[name] || slices.Contains(p.Settings().Requires, name)
		before := q.u.names.process(name)
		h := blocker{reason: "waits for " + shortName(name)}
		switch {
		case q.pending[name]:
		case before == nil && (needed || q.waitsForever):
			h = blocker{h.reason + ", which is not in use", true}
		case before == nil, progress == process.Reached:
			continue
		case progress == process.InProgress, q.waitsForever && !q.together[name] && before.Settings().Autostart && before.Status().Run == 0:
		case needed:
			h = blocker{h.reason + ", which is " + before.Status().State.String(), true}
		default:
			continue
		}
		if found.reason == "" || h.permanent && !found.permanent {
			found = h
		}
	}
	return found
}

// progressOf returns the progress of a program for another one that waits for it: exits means until
// it has exited. nil is a program that is not in use.
func progressOf(p *process.Program, exits bool) process.Progress {
	switch {
	case p == nil:
		return process.NotStarting
	case !exits:
		return p.Progress()
	}
	switch s := p.Status(); {
	case s.State == wire.Exited:
		return process.Reached
	case s.State.InRunningSet(), s.State == wire.Stopping, s.WaitsFor != "":
		return process.InProgress
	}
	return process.NotStarting
}

// notYetStopped blocks the stop of a process until its dependents have ended.
func notYetStopped(dependents config.Graph) func(*sequence, *process.Program) blocker {
	return func(q *sequence, p *process.Program) blocker {
		for _, name := range dependents[p.Name()] {
			after := q.u.names.process(name)
			if q.pending[name] || q.together[name] && !q.refused[name] && after != nil && !after.Status().StopAnswered() {
				return blocker{reason: "waits for " + shortName(name)}
			}
		}
		return blocker{}
	}
}

// shortName returns the name that clients use for a process.
func shortName(full string) string {
	for i := range full {
		if full[i] == ':' && full[:i] == full[i+1:] {
			return full[:i]
		}
	}
	return full
}

func after(p *config.Program) []string    { return p.After }
func requires(p *config.Program) []string { return p.Requires }

// graph returns the dependencies of the processes in use.
func (u *core) graph(by func(*config.Program) []string) config.Graph {
	g := config.Graph{}
	for _, p := range u.names.inOrder() {
		if ties := by(p.Settings()); len(ties) > 0 {
			g[p.Name()] = ties
		}
	}
	return g
}
