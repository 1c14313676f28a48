package unit

import (
	"context"
	"errors"
	"slices"

	"github.com/toskose/toskose/unit/events"
	"github.com/toskose/toskose/unit/process"
	"github.com/toskose/toskose/unit/wire"
)

// AddProcessGroup puts a group in use as it was last read, and starts the programs with autostart.
// In a group that is in use and can keep some of its processes, it stops only those that changed or
// were removed. Faults: BadName; AlreadyAdded, also for a group that cannot keep any process;
// StillRunning, while an operation executes that is not among the stopped ones; Failed.
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
		if err := u.stopReplaced(ctx, before, compareGroups(before.config(), after)); err != nil {
			return err
		}
	}
	u.changing.Lock()
	defer u.changing.Unlock()
	// The groups may have changed during the stop. A process that runs but must not is a fault.
	if before, after, err = u.pending(name); err != nil {
		return err
	}
	return u.replaceGroup(name, before, after)
}

// RemoveProcessGroup takes a stopped group out of use. Faults: BadName and StillRunning.
func (u *Groups) RemoveProcessGroup(ctx context.Context, name string) error {
	if err := u.ready(ctx); err != nil {
		return err
	}
	u.changing.Lock()
	defer u.changing.Unlock()
	g, err := u.names.groupNamed(name)
	if err != nil {
		return err
	}
	return u.replaceGroup(name, g, nil)
}

// ready waits until programs accept commands: a client may call before Run has started them.
func (u *Groups) ready(ctx context.Context) error {
	if err := u.serving(); err != nil {
		return err
	}
	select {
	case <-u.allServed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pending returns a group as it is in use, or nil, and as it was last read. The caller holds
// changing.
func (u *Groups) pending(name string) (before *group, after *groupConfig, err error) {
	after = configOf(u.available, name)
	if after == nil {
		return nil, after, wire.NewFault(wire.BadName, name)
	}
	before, err = u.names.groupNamed(name)
	if err != nil {
		return nil, after, nil //nolint:nilerr // that it is not in use is not an error
	}
	if c := compareGroups(before.config(), after); c.isEmpty() || c.affectsAll() {
		return nil, after, wire.NewFault(wire.AlreadyAdded, name)
	}
	return before, after, nil
}

// stopReplaced stops the processes of a group that will not be kept.
func (u *Groups) stopReplaced(ctx context.Context, g *group, c change) error {
	leaving := g.programsNamed(c.replaced, c.removed)
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

// replaceGroup replaces the configuration of a group; nil means none. It succeeds completely or
// changes nothing. The caller holds changing.
func (u *Groups) replaceGroup(name string, before *group, after *groupConfig) error {
	if err := u.serving(); err != nil {
		return err
	}
	if err := u.idle(name, before); err != nil {
		return err
	}
	var leaving, coming []*process.Program
	kept := map[string]*process.Program{}
	var pool *events.Pool
	if before != nil {
		leaving = before.programs
		if after != nil {
			c := compareGroups(before.config(), after)
			if !c.pool {
				pool = before.pool
			}
			leaving = before.programsNamed(c.replaced, c.removed)
			for _, p := range before.programsNamed(c.kept) {
				kept[p.Config().Name] = p
			}
		}
	}
	groups := slices.DeleteFunc(slices.Clone(u.names.allGroups()), func(g *group) bool { return g.name == name })
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
	if err := u.commit(name, leaving, coming, before, after, groups); err != nil {
		u.unsubscribe(pool, before)
		return errors.Join(err, closeLogs(coming))
	}
	u.names.replace(byPriority(groups))
	u.programs.Notify()
	u.removePrograms(leaving)
	u.programs.Register(coming)
	for _, p := range coming {
		p.LimitLogs()
	}
	u.serve(coming)
	u.observe(coming)
	u.recordLiveness(coming)
	u.announceGroup(name, pool, before, after)
	u.tasks.Go(func() { u.processes.autostart(coming) })
	u.log.Info("group", "group", name, "inuse", after != nil, "kept", len(kept), "added", len(coming), "removed", len(leaving))
	return nil
}

// idle returns a fault while an execution or a stop of the group's components is under way.
func (u *Groups) idle(name string, g *group) error {
	if err := u.components.Idle(name); err != nil || g == nil {
		return err
	}
	for _, p := range u.ordinary(g.programs) {
		if err := u.components.Idle(p.Namespec()); err != nil {
			return err
		}
	}
	return nil
}

// unsubscribe removes the pool that was created for a rejected change.
func (u *Groups) unsubscribe(pool *events.Pool, before *group) {
	if pool != nil && (before == nil || before.pool != pool) {
		u.events.Remove(pool)
	}
}

// announceGroup emits the event for a group that was added or removed, and removes the subscription
// of a group that is not in use any more.
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

// commit performs the steps that can fail: it verifies that no removed process runs or can be
// started, and that the component can change its protocol.
func (u *Groups) commit(name string, leaving, coming []*process.Program, before *group, after *groupConfig, groups []*group) error {
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
		err = u.replaceOrdinary(leaving, coming)
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

// hold prevents starts of programs, unless one of them runs.
func (u *Groups) hold(name string, programs []*process.Program) error {
	for i, p := range programs {
		err := p.Hold(u.lifetime)
		if err == nil {
			continue
		}
		u.release(programs[:i])
		if errors.Is(err, process.ErrAlreadyStarted) {
			return wire.NewFault(wire.StillRunning, name)
		}
		return toFault(err)
	}
	return nil
}

func (u *Groups) release(programs []*process.Program) {
	for _, p := range programs {
		_ = p.Release(u.lifetime) // it fails only if the unit is shutting down
	}
}

// removePrograms ends the goroutines of held programs and closes their logs.
func (u *Groups) removePrograms(programs []*process.Program) {
	for _, p := range programs {
		p.Remove()
	}
	if err := closeLogs(programs); err != nil {
		u.log.Warn("cannot close a log", "error", err)
	}
}
