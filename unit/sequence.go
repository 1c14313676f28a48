package unit

import (
	"context"
	"slices"

	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/process"
	"github.com/toskose/toskose/unit/wire"
)

// sequence begins something with processes, with each as soon as no other hinders
// it, and of those that nothing hinders in the order in which it was given them. One
// goroutine at a time has it.
type sequence struct {
	u        *Processes
	waiting  []*turn
	pending  map[string]bool // their names
	together map[string]bool // the names of all that it was given
	refused  map[string]bool // those that could not be begun with
	hinder   func(q *sequence, p *process.Program) hindrance
	begin    func(ctx context.Context, p *process.Program, why error) error // why is nil unless its turn never came
	starts   bool
	patient  bool // it also waits for what will not come by itself
}

// turn is a process that is still to be begun with.
type turn struct {
	*process.PendingStart
	deferred bool
}

// hindrance is why a process has to wait.
type hindrance struct {
	why      string // empty: it does not
	hopeless bool   // what it waits for will not come by itself
}

func (u *Processes) sequence(programs []*process.Program) *sequence {
	q := &sequence{u: u, pending: map[string]bool{}, together: map[string]bool{}, refused: map[string]bool{}}
	for _, p := range programs {
		q.waiting = append(q.waiting, &turn{PendingStart: p.PendingStart()})
		q.together[p.Name()], q.pending[p.Name()] = true, true
	}
	return q
}

// run goes on until every process had its turn, or ctx ends.
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
		case <-q.u.life.Done():
		}
		why := ctx.Err()
		if why == nil {
			why = faulty(process.ErrUnserved)
		}
		for _, t := range q.waiting {
			q.take(ctx, t, why)
		}
		return
	}
}

// pass looks at each process once.
func (q *sequence) pass(ctx context.Context) {
	var waiting []*turn
	for _, t := range q.waiting {
		if its, why := q.turnOf(t); its {
			q.take(ctx, t, why)
		} else {
			waiting = append(waiting, t)
		}
	}
	q.waiting = waiting
}

func (q *sequence) take(ctx context.Context, t *turn, why error) {
	delete(q.pending, t.Name())
	if q.begin(ctx, t.Program, why) != nil {
		q.refused[t.Name()] = true
	}
	if t.deferred && q.starts {
		t.SetReason("") // unless it was started
	}
}

// turnOf reports whether it is a process's turn, or why that will never come.
func (q *sequence) turnOf(t *turn) (its bool, why error) {
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
	h := hindrance{}
	if q.hinder != nil {
		h = q.hinder(q, t.Program)
	}
	switch {
	case h.why == "":
		return true, nil
	case h.hopeless && !q.patient:
		return true, wire.NewFault(wire.SpawnError, t.Namespec()+" "+h.why)
	}
	t.deferred = true
	if q.starts && t.SetReason(h.why) {
		log := q.u.log.Info
		if h.hopeless {
			log = q.u.log.Error
		}
		log("a process is not started yet", "process", t.Name(), "why", h.why)
	}
	return false, nil
}

// notYetStarted hinders the start of a process while what it comes after is not
// there. What is neither started together with it nor required may stay away.
func notYetStarted(q *sequence, p *process.Program) hindrance {
	var found hindrance
	for _, name := range p.Settings().After {
		needed := q.together[name] || slices.Contains(p.Settings().Requires, name)
		before := q.u.names.process(name)
		h := hindrance{why: "waits for " + shortName(name)}
		switch {
		case q.pending[name]:
		case before == nil && (needed || q.patient):
			h = hindrance{h.why + ", which is not in use", true}
		case before == nil, before.Progress() == process.Reached:
			continue
		case before.Progress() == process.InProgress, q.patient && !q.together[name] && before.Settings().Autostart && before.Status().Run == 0:
		case needed:
			h = hindrance{h.why + ", which is " + before.Status().State.String(), true}
		default:
			continue
		}
		if found.why == "" || h.hopeless && !found.hopeless {
			found = h
		}
	}
	return found
}

// notYetStopped hinders the stop of a process while something that comes after it
// has not ended.
func notYetStopped(dependents config.Graph) func(*sequence, *process.Program) hindrance {
	return func(q *sequence, p *process.Program) hindrance {
		for _, name := range dependents[p.Name()] {
			after := q.u.names.process(name)
			if q.pending[name] || q.together[name] && !q.refused[name] && after != nil && !after.Status().StopAnswered() {
				return hindrance{why: "waits for " + shortName(name)}
			}
		}
		return hindrance{}
	}
}

// shortName is what clients call a process.
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

// graph returns how the processes in use are tied.
func (u *core) graph(by func(*config.Program) []string) config.Graph {
	g := config.Graph{}
	for _, p := range u.names.inOrder() {
		if ties := by(p.Settings()); len(ties) > 0 {
			g[p.Name()] = ties
		}
	}
	return g
}
