package unit

import (
	"context"
	"errors"
	"slices"

	"github.com/toskose/toskose/unit/events"
	"github.com/toskose/toskose/unit/process"
	"github.com/toskose/toskose/unit/wire"
)

// AddProcessGroup brings a group into use as it was last read, and starts what
// starts by itself. Of a group that is in use and could keep some of its
// processes it stops those that changed or are not configured any more, and
// these only. Faults: BadName; AlreadyAdded, also for a group of which nothing
// could be kept; StillRunning, while an operation executes that is not among
// what is stopped; Failed.
func (u *Groups) AddProcessGroup(ctx context.Context, name string) error {
	if err := u.ready(ctx); err != nil {
		return err
	}
	u.changing.RLock()
	before, after, err := u.pending(name)
	u.changing.RUnlock()
	if err != nil {
		return err
	}
	if before != nil {
		if err := u.vacate(ctx, before, between(before.config(), after)); err != nil {
			return err
		}
	}
	u.changing.Lock()
	defer u.changing.Unlock()
	// What was in use and what was read may have changed during the stop. What
	// runs then that must not is a fault.
	if before, after, err = u.pending(name); err != nil {
		return err
	}
	return u.exchange(name, before, after)
}

// RemoveProcessGroup takes a group out of use. Faults: BadName, and
// StillRunning unless all of it is stopped.
func (u *Groups) RemoveProcessGroup(ctx context.Context, name string) error {
	if err := u.ready(ctx); err != nil {
		return err
	}
	u.changing.Lock()
	defer u.changing.Unlock()
	g, err := u.names.whole(name)
	if err != nil {
		return err
	}
	return u.exchange(name, g, nil)
}

// ready waits until programs can be told things: clients may be quicker than Run.
func (u *Groups) ready(ctx context.Context) error {
	if err := u.serving(); err != nil {
		return err
	}
	select {
	case <-u.begun:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pending returns a group as it is in use, nil: it is not, and as it is to be.
// The caller holds changing.
func (u *Groups) pending(name string) (before *group, after *groupConfig, err error) {
	after = configOf(u.available, name)
	if after == nil {
		return nil, after, wire.NewFault(wire.BadName, name)
	}
	before, err = u.names.whole(name)
	if err != nil {
		return nil, after, nil //nolint:nilerr // that it is not in use is not an error
	}
	if c := between(before.config(), after); c.none() || c.whole() {
		return nil, after, wire.NewFault(wire.AlreadyAdded, name)
	}
	return before, after, nil
}

// vacate stops the processes of a group that will not be kept.
func (u *Groups) vacate(ctx context.Context, g *group, c change) error {
	leaving := g.only(c.replaced, c.removed)
	if err := u.components.Idle(g.name, leaving...); err != nil {
		return err
	}
	for _, s := range u.processes.each(ctx, leaving, true, u.processes.stop) {
		if s.Status != wire.Success && s.Status != wire.NotRunning {
			return wire.NewFault(wire.Failed, "cannot stop "+s.Group+":"+s.Name+": "+s.Description)
		}
	}
	return ctx.Err()
}

// exchange puts a configuration of a group in the place of another one; nil:
// there is none. All of it happens, or nothing. The caller holds changing.
func (u *Groups) exchange(name string, before *group, after *groupConfig) error {
	if err := u.serving(); err != nil {
		return err
	}
	if err := u.components.Idle(name); err != nil {
		return err
	}
	var leaving, coming []*process.Program
	kept := map[string]*process.Program{}
	var pool *events.Pool
	if before != nil {
		leaving = before.programs
		if after != nil {
			c := between(before.config(), after)
			if !c.pool {
				pool = before.pool
			}
			leaving = before.only(c.replaced, c.removed)
			for _, p := range before.only(c.kept) {
				kept[p.Config().Name] = p
			}
		}
	}
	groups := slices.DeleteFunc(slices.Clone(u.names.every()), func(g *group) bool { return g.name == name })
	if after != nil {
		if pool == nil {
			pool = u.listen(after.listener)
		}
		g, err := u.group(after, kept, pool)
		if err != nil {
			u.unsubscribe(pool, before)
			return wire.NewFault(wire.Failed, name+": "+err.Error())
		}
		groups = append(groups, g)
		coming = slices.DeleteFunc(slices.Clone(g.programs), func(p *process.Program) bool { return kept[p.Config().Name] == p })
	}
	if err := u.commit(name, leaving, before, after, groups); err != nil {
		u.unsubscribe(pool, before)
		return errors.Join(err, closeLogs(coming))
	}
	u.names.replace(byPriority(groups))
	u.programs.Notify()
	u.retire(leaving)
	u.programs.Register(coming)
	for _, p := range coming {
		p.LimitLogs()
	}
	u.serve(coming)
	u.announceGroup(name, pool, before, after)
	u.tasks.Go(func() { u.processes.autostart(coming) })
	u.log.Info("group", "group", name, "inuse", after != nil, "kept", len(kept), "added", len(coming), "removed", len(leaving))
	return nil
}

// unsubscribe gives up a pool that was made for a change that is refused.
func (u *Groups) unsubscribe(pool *events.Pool, before *group) {
	if pool != nil && (before == nil || before.pool != pool) {
		u.events.Remove(pool)
	}
}

// announceGroup tells event listeners of a group that came or went, and ends the
// subscription of one that is not in use any more.
func (u *Groups) announceGroup(name string, pool *events.Pool, before *group, after *groupConfig) {
	if before != nil && before.pool != nil && before.pool != pool {
		u.events.Remove(before.pool)
	}
	switch {
	case before == nil:
		u.events.Emit(events.GroupAdded(name))
	case after == nil:
		u.events.Emit(events.GroupRemoved(name))
	}
}

// commit is what can still be refused: it sees to it that nothing that leaves
// runs or will, and that the component can have its protocol.
func (u *Groups) commit(name string, leaving []*process.Program, before *group, after *groupConfig, groups []*group) error {
	if err := u.hold(name, leaving); err != nil {
		return err
	}
	var err error
	switch {
	case after != nil && after.component != nil:
		err = u.components.Use(name, groups[len(groups)-1].definition())
	case before != nil && before.component != nil:
		err = u.components.Withdraw(name)
	}
	if err == nil {
		return nil
	}
	u.release(leaving)
	if _, ok := wire.FaultCodeOf(err); !ok {
		err = wire.NewFault(wire.Failed, err.Error())
	}
	return err
}

// hold keeps programs from being started, unless one of them runs.
func (u *Groups) hold(name string, programs []*process.Program) error {
	for i, p := range programs {
		err := p.Hold(u.life)
		if err == nil {
			continue
		}
		u.release(programs[:i])
		if errors.Is(err, process.ErrAlreadyStarted) {
			return wire.NewFault(wire.StillRunning, name)
		}
		return faulty(err)
	}
	return nil
}

func (u *Groups) release(programs []*process.Program) {
	for _, p := range programs {
		_ = p.Release(u.life) // else it has ended with the unit
	}
}

// retire ends the goroutines of programs that are held, and gives up their logs.
func (u *Groups) retire(programs []*process.Program) {
	for _, p := range programs {
		p.Remove()
	}
	if err := closeLogs(programs); err != nil {
		u.log.Warn("cannot close a log", "error", err)
	}
}
