package unit

import (
	"context"
	"errors"
	"slices"

	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/events"
	"github.com/toskose/toskose/unit/wire"
)

// What a program answers that a reload removes, or is about to.
var (
	errGone = errors.New("it is not in the configuration any more")
	errHeld = errors.New("its configuration is being changed")
)

// settings are the latest that is configured. What only a start can change is
// as in cfg.
func (p *program) settings() *config.Program { return p.live.Load() }

// over is why a program is no longer served.
func (p *program) over() error {
	if p.gone.Load() {
		return errGone
	}
	return errClosed
}

// AddProcessGroup brings a group into use as it was last read, and starts what
// starts by itself. Of a group that is in use and could keep some of its
// processes it stops those that changed or are not configured any more, and
// these only. Faults: BadName; AlreadyAdded, also for a group of which nothing
// could be kept; StillRunning, while an operation executes that is not among
// what is stopped; Failed.
func (u *Unit) AddProcessGroup(ctx context.Context, name string) error {
	if err := u.ready(ctx); err != nil {
		return err
	}
	u.arranging.RLock()
	before, after, err := u.pending(name)
	u.arranging.RUnlock()
	if err != nil {
		return err
	}
	if before != nil {
		if err := u.vacate(ctx, *before, between(before.arrangement(), after)); err != nil {
			return err
		}
	}
	u.arranging.Lock()
	defer u.arranging.Unlock()
	// What was in use and what was read may have changed during the stop. What
	// runs then that must not is a fault.
	if before, after, err = u.pending(name); err != nil {
		return err
	}
	return u.exchange(name, before, &after) //nolint:contextcheck // a change is complete, whether or not the client is still there
}

// RemoveProcessGroup takes a group out of use. Faults: BadName, and
// StillRunning unless all of it is stopped.
func (u *Unit) RemoveProcessGroup(ctx context.Context, name string) error {
	if err := u.ready(ctx); err != nil {
		return err
	}
	u.arranging.Lock()
	defer u.arranging.Unlock()
	g, err := u.names.whole(name)
	if err != nil {
		return err
	}
	return u.exchange(name, g, nil) //nolint:contextcheck // likewise
}

// ready waits until programs can be told things: clients may be quicker than Run.
func (u *Unit) ready(ctx context.Context) error {
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

// pending gives a group as it is in use, nil: it is not, and as it is to be.
// The caller holds arranging.
func (u *Unit) pending(name string) (before *group, after arrangement, err error) {
	after, ok := arranged(u.available, name)
	if !ok {
		return nil, after, wire.NewFault(wire.BadName, name)
	}
	before, err = u.names.whole(name)
	if err != nil {
		return nil, after, nil //nolint:nilerr // that it is not in use is no error
	}
	if c := between(before.arrangement(), after); c.none() || c.whole() {
		return nil, after, wire.NewFault(wire.AlreadyAdded, name)
	}
	return before, after, nil
}

// vacate stops the processes of a group that will not be kept.
func (u *Unit) vacate(ctx context.Context, g group, c change) error {
	leaving := g.named(c.replaced, c.removed)
	spared := func(x *execution) bool { return slices.Contains(leaving, x.program) }
	if err := u.ledger.idle(g.name, spared); err != nil {
		return err
	}
	for _, s := range u.each(ctx, leaving, true, u.stopping, stoppable) {
		if s.Status != wire.Success && s.Status != wire.NotRunning {
			return wire.NewFault(wire.Failed, "cannot stop "+s.Group+":"+s.Name+": "+s.Description)
		}
	}
	return ctx.Err()
}

// exchange puts a configuration of a group in the place of another one; nil:
// there is none. All of it happens, or nothing. The caller holds arranging.
func (u *Unit) exchange(name string, before *group, after *arrangement) error {
	if err := u.serving(); err != nil {
		return err
	}
	if err := u.ledger.idle(name, nil); err != nil {
		return err
	}
	var leaving, coming []*program
	kept := map[string]*program{}
	var pool *events.Pool
	if before != nil {
		leaving = before.programs
		if after != nil {
			c := between(before.arrangement(), *after)
			if !c.pool {
				pool = before.pool
			}
			leaving = before.named(c.replaced, c.removed)
			for _, p := range before.named(c.kept) {
				kept[p.cfg.Name] = p
			}
		}
	}
	groups := slices.DeleteFunc(slices.Clone(u.names.every()), func(g group) bool { return g.name == name })
	if after != nil {
		if pool == nil {
			pool = u.listen(after.listener)
		}
		g, err := u.group(*after, kept, pool)
		if err != nil {
			u.unsubscribe(pool, before)
			return wire.NewFault(wire.Failed, name+": "+err.Error())
		}
		groups = append(groups, g)
		coming = slices.DeleteFunc(slices.Clone(g.programs), func(p *program) bool { return kept[p.cfg.Name] == p })
	}
	if err := u.commit(name, leaving, before, after, groups); err != nil {
		u.unsubscribe(pool, before)
		return errors.Join(err, u.release(coming))
	}
	u.names.replace(byPriority(groups))
	u.retire(leaving)
	u.roster.enlist(coming)
	for _, p := range coming {
		p.limitLogs()
	}
	u.serve(coming)
	u.announceGroup(name, pool, before, after)
	u.tasks.Go(func() { u.autostart(coming) })
	u.log.Info("group", "group", name, "inuse", after != nil, "kept", len(kept), "added", len(coming), "removed", len(leaving))
	return nil
}

// unsubscribe gives up a pool that was made for a change that is refused.
func (u *Unit) unsubscribe(pool *events.Pool, before *group) {
	if pool != nil && (before == nil || before.pool != pool) {
		u.events.Remove(pool)
	}
}

// announceGroup tells event listeners of a group that came or went, and ends the
// subscription of one that is not in use any more.
func (u *Unit) announceGroup(name string, pool *events.Pool, before *group, after *arrangement) {
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
func (u *Unit) commit(name string, leaving []*program, before *group, after *arrangement, groups []group) error {
	if err := u.hold(name, leaving); err != nil {
		return err
	}
	var err error
	switch {
	case after != nil && after.component != nil:
		err = u.ledger.adopt(name, groups[len(groups)-1].lifecycle())
	case before != nil && before.component != nil:
		err = u.ledger.abandon(name)
	}
	if err == nil {
		return nil
	}
	u.free(leaving)
	if _, ok := wire.FaultCodeOf(err); !ok {
		err = wire.NewFault(wire.Failed, err.Error())
	}
	return err
}

// hold keeps programs from being started, unless one of them runs.
func (u *Unit) hold(name string, programs []*program) error {
	for i, p := range programs {
		err := p.tell(u.life, command{kind: commandHold})
		if err == nil {
			continue
		}
		u.free(programs[:i])
		if errors.Is(err, errAlreadyStarted) {
			return wire.NewFault(wire.StillRunning, name)
		}
		return faulty(err)
	}
	return nil
}

func (u *Unit) free(programs []*program) {
	for _, p := range programs {
		_ = p.tell(u.life, command{kind: commandFree}) // else it has ended with the unit
	}
}

// retire ends the goroutines of programs that are held, and gives up their logs.
func (u *Unit) retire(programs []*program) {
	for _, p := range programs {
		p.gone.Store(true)
		p.quit()
		<-p.closed
	}
	if err := u.release(programs); err != nil {
		u.log.Warn("cannot close a log", "error", err)
	}
}
