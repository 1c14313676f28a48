package unit

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/toskose/toskose/tosca/protocol"
	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/process"
)

// verb is what is done with processes.
type verb struct {
	begin    action
	eligible func(*process.Program) bool
	starts   bool
	hinder   func(*sequence, *process.Program) hindrance // nil: nothing hinders
	with     []*process.Program                          // what it is done with, too
	then     func()                                      // what follows, once it was begun; nil: nothing
}

// result is what became of one process.
type result struct {
	*process.Program
	err error
}

// start returns the start of processes and of what they require.
func (u *Processes) start(programs []*process.Program) verb {
	v := verb{begin: u.starting, eligible: startable, starts: true, hinder: notYetStarted}
	v.with = u.required(programs)
	if followers := u.followers(slices.Concat(programs, v.with)); len(followers) > 0 {
		v.then = func() { u.tasks.Go(func() { u.startPatiently(followers) }) }
	}
	return v
}

// stop returns the stop of processes and of what requires them.
func (u *Processes) stop(programs []*process.Program) verb {
	v := verb{begin: u.stopping, eligible: when(process.Status.Stoppable), hinder: notYetStopped(u.graph(after).Reversed())}
	v.with = u.tiedTo(programs, u.graph(requires).Reversed(), v.eligible)
	u.tied.stopped(programs, v.with)
	return v
}

// perform begins with processes, each in its turn, and waits for the end of all that
// it began, or leaves that to the unit. It answers for those it was given first.
func (u *Processes) perform(ctx context.Context, programs []*process.Program, wait bool, what verb) []result {
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
	var ends []func() // of stops: they stay as they are, so that one after the other can be waited for
	q := u.sequence(programs)
	q.hinder, q.starts = what.hinder, what.starts
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
		u.tasks.Go(func() { q.run(u.life) })
	}
	ending.Wait()
	for _, end := range ends {
		end()
	}
	mu.Lock()
	defer mu.Unlock()
	return slices.Clone(results)
}

// autostart starts the programs that start by themselves and never ran, what they
// require, and what was stopped with them.
func (u *Processes) autostart(programs []*process.Program) {
	var starting []*process.Program
	for _, p := range programs {
		if p.Settings().Autostart && p.Status().Run == 0 {
			starting = append(starting, p)
		}
	}
	starting = slices.Concat(starting, u.required(starting))
	u.startPatiently(slices.Concat(starting, u.followers(starting)))
}

// startPatiently starts programs that nobody waits for.
func (u *Processes) startPatiently(programs []*process.Program) {
	q := u.sequence(programs)
	q.hinder, q.starts, q.patient = notYetStarted, true, true
	q.begin = func(ctx context.Context, p *process.Program, err error) error {
		if err != nil {
			return err // somebody has started or removed it, or the unit ends
		}
		if p.Kind() == protocol.KindNone {
			err = p.Start(ctx, nil)
		} else {
			_, err = u.startingOperation(p) //nolint:contextcheck // an execution outlives what began it
		}
		if err != nil && !errors.Is(err, process.ErrAlreadyStarted) {
			u.log.Error("cannot start by itself", "process", p.Name(), "error", err)
		}
		return err
	}
	q.run(u.life)
}

// required returns what programs require and is not there yet.
func (u *Processes) required(programs []*process.Program) []*process.Program {
	found := u.tiedTo(programs, u.graph(requires), startable)
	return slices.DeleteFunc(found, func(p *process.Program) bool { return p.Progress() != process.NotStarting })
}

// tiedTo returns, in the order in which they are started, what a graph ties to those
// of some programs that are eligible, as far as it is eligible itself.
func (u *Processes) tiedTo(programs []*process.Program, ties config.Graph, eligible func(*process.Program) bool) []*process.Program {
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

// followers returns what was stopped because it requires one of these programs.
func (u *Processes) followers(programs []*process.Program) []*process.Program {
	var found []*process.Program
	for _, name := range u.tied.all() {
		p := u.names.process(name)
		reached := u.graph(requires).Reach(name)
		if p == nil || slices.Contains(programs, p) || !slices.ContainsFunc(programs, func(r *process.Program) bool { return reached[r.Name()] }) {
			continue
		}
		u.tied.started(p)
		if p.Progress() == process.NotStarting {
			found = append(found, p)
		}
	}
	return found
}

// tied is what was stopped with what it requires, to be started with it again.
type tied struct {
	mu    sync.Mutex
	names map[string]bool
}

// stopped notes a stop that was asked for, and those that came of it.
func (t *tied) stopped(asked, with []*process.Program) {
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

func (t *tied) started(p *process.Program) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.names, p.Name())
}

// all returns the names, sorted.
func (t *tied) all() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	names := make([]string, 0, len(t.names))
	for name := range t.names {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
