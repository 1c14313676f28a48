package unit

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/process"
)

// batch describes an action on several processes.
type batch struct {
	begin     action
	eligible  func(*process.Program) bool
	starts    bool
	blockedBy func(*sequence, *process.Program) blocker // nil: nothing blocks
	with      []*process.Program                        // further processes to act on
	then      func()                                    // called after the action has begun; may be nil
}

// result is the result for one process.
type result struct {
	*process.Program
	err error
}

// start returns the start of processes and their requirements.
func (u *Processes) start(programs []*process.Program) batch {
	v := batch{begin: u.starting, eligible: startable, starts: true, blockedBy: notYetStarted}
	v.with = u.missingRequirements(programs)
	if followers := u.stoppedRequirers(slices.Concat(programs, v.with)); len(followers) > 0 {
		v.then = func() { u.tasks.Go(func() { u.startInBackground(followers) }) }
	}
	return v
}

// stop returns the stop of processes and their dependents.
func (u *Processes) stop(programs []*process.Program) batch {
	v := batch{begin: u.stopping, eligible: withStatus(process.Status.Stoppable), blockedBy: notYetStopped(u.graph(after).Reversed())}
	v.with = u.related(programs, u.graph(requires).Reversed(), v.eligible)
	u.tied.record(programs, v.with)
	return v
}

// perform acts on processes in sequence and waits for the ends, or lets them continue in the
// background. It returns the results of the processes in its arguments.
func (u *Processes) perform(ctx context.Context, programs []*process.Program, wait bool, what batch) []result {
	programs = slices.Concat(programs, what.with)
	results := make([]result, len(programs))
	at := map[*process.Program]int{}
	for i, p := range programs {
		results[i].Program, at[p] = p, i
	}
	var mu sync.Mutex
	become := func(p *process.Program, err error) error {
		mu.Lock()
		defer mu.Unlock()
		results[at[p]].err = err
		return err
	}
	var ending sync.WaitGroup
	var ends []func() // of stops: a stopped process may not start until the ends of all have been waited for
	q := u.sequence(programs)
	q.blockedBy, q.starts = what.blockedBy, what.starts
	q.begin = func(ctx context.Context, p *process.Program, why error) error {
		if why != nil {
			return become(p, why)
		}
		end, err := what.begin(ctx, p)
		switch {
		case err != nil:
			return become(p, err)
		case wait && !what.starts:
			ends = append(ends, func() { _ = become(p, u.conclude(ctx, p, end, true)) })
		case wait:
			ending.Go(func() { _ = become(p, u.conclude(ctx, p, end, true)) })
		default:
			return become(p, u.conclude(ctx, p, end, false))
		}
		return nil
	}
	q.pass(ctx)
	if what.then != nil {
		what.then()
	}
	if wait {
		q.run(ctx)
	} else if len(q.waiting) > 0 {
		u.tasks.Go(func() { q.run(u.lifetime) })
	}
	ending.Wait()
	for _, end := range ends {
		end()
	}
	mu.Lock()
	defer mu.Unlock()
	return slices.Clone(results)
}

// autostart starts programs with autostart that have never run, their requirements, and programs
// that were stopped with these.
func (u *Processes) autostart(programs []*process.Program) {
	var starting []*process.Program
	for _, p := range programs {
		if p.Settings().Autostart && p.Status().Run == 0 {
			starting = append(starting, p)
		}
	}
	starting = slices.Concat(starting, u.missingRequirements(starting))
	u.startInBackground(slices.Concat(starting, u.stoppedRequirers(starting)))
}

// startInBackground starts programs that no client waits for.
func (u *Processes) startInBackground(programs []*process.Program) {
	q := u.sequence(programs)
	q.blockedBy, q.starts, q.waitsForever = notYetStarted, true, true
	q.begin = func(ctx context.Context, p *process.Program, err error) error {
		if err != nil {
			return err // it was started or removed meanwhile, or the unit is shutting down
		}
		if p.Kind() == protocol.KindNone {
			err = p.Start(ctx, nil)
		} else {
			_, err = u.startingOperation(p)
		}
		if err != nil && !errors.Is(err, process.ErrAlreadyStarted) {
			u.log.Error("cannot start automatically", "process", p.Name(), "error", err)
		}
		return err
	}
	q.run(u.lifetime)
}

// missingRequirements returns the requirements of programs that are not running.
func (u *Processes) missingRequirements(programs []*process.Program) []*process.Program {
	found := u.related(programs, u.graph(requires), startable)
	return slices.DeleteFunc(found, func(p *process.Program) bool { return p.Progress() != process.NotStarting })
}

// related returns the eligible programs that a graph connects to the eligible ones of the given
// programs, in starting order.
func (u *Processes) related(programs []*process.Program, ties config.Graph, eligible func(*process.Program) bool) []*process.Program {
	if len(ties) == 0 {
		return nil
	}
	var names []string
	for _, p := range programs {
		if eligible(p) {
			names = append(names, p.Name())
		}
	}
	reached := ties.Reach(names...)
	return slices.DeleteFunc(u.names.inOrder(), func(p *process.Program) bool {
		return !reached[p.Name()] || slices.Contains(programs, p) || !eligible(p)
	})
}

// stoppedRequirers returns the programs that were stopped because they require one of the given
// programs.
func (u *Processes) stoppedRequirers(programs []*process.Program) []*process.Program {
	var found []*process.Program
	for _, name := range u.tied.sorted() {
		p := u.names.process(name)
		reached := u.graph(requires).Reach(name)
		if p == nil || slices.Contains(programs, p) || !slices.ContainsFunc(programs, func(r *process.Program) bool { return reached[r.Name()] }) {
			continue
		}
		u.tied.remove(p)
		if p.Progress() == process.NotStarting {
			found = append(found, p)
		}
	}
	return found
}

// stoppedPrograms are the programs that were stopped together with a requirement and are to be
// started with it again.
type stoppedPrograms struct {
	mu    sync.Mutex
	names map[string]bool
}

// record records a requested stop and the further stops that it caused.
func (t *stoppedPrograms) record(asked, with []*process.Program) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range asked {
		delete(t.names, p.Name())
	}
	if t.names == nil && len(with) > 0 {
		t.names = map[string]bool{}
	}
	for _, p := range with {
		t.names[p.Name()] = true
	}
}

func (t *stoppedPrograms) remove(p *process.Program) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.names, p.Name())
}

// sorted returns the names, sorted.
func (t *stoppedPrograms) sorted() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	names := make([]string, 0, len(t.names))
	for name := range t.names {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
