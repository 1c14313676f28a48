package unit

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/toskose/toskose/unit/wire"
)

// pending waits for what was begun.
type pending func(ctx context.Context) error

// beginning begins something with a process and says how to wait for its end.
type beginning func(ctx context.Context, p *program) (pending, error)

// StartProcess starts a process, or a whole group named `group:*`, whose
// statuses it gives.
func (u *Unit) StartProcess(ctx context.Context, name string, wait bool) ([]wire.ProcessStatus, error) {
	return u.named(ctx, name, wait, u.starting, startable)
}

// StartProcessGroup starts a group's processes that do not run.
func (u *Unit) StartProcessGroup(ctx context.Context, name string, wait bool) ([]wire.ProcessStatus, error) {
	return u.grouped(ctx, name, wait, u.starting, startable)
}

// StartAllProcesses starts every process that does not run.
func (u *Unit) StartAllProcesses(ctx context.Context, wait bool) ([]wire.ProcessStatus, error) {
	return u.everyone(ctx, wait, u.starting, startable)
}

// StopProcess stops a process, or a whole group named `group:*`, whose
// statuses it gives. It answers when nothing of the process is left.
func (u *Unit) StopProcess(ctx context.Context, name string, wait bool) ([]wire.ProcessStatus, error) {
	return u.named(ctx, name, wait, u.stopping, stoppable)
}

// StopProcessGroup stops a group's processes that run.
func (u *Unit) StopProcessGroup(ctx context.Context, name string, wait bool) ([]wire.ProcessStatus, error) {
	return u.grouped(ctx, name, wait, u.stopping, stoppable)
}

// StopAllProcesses stops every process that runs.
func (u *Unit) StopAllProcesses(ctx context.Context, wait bool) ([]wire.ProcessStatus, error) {
	return u.everyone(ctx, wait, u.stopping, stoppable)
}

func startable(s status) bool { return !s.state.InRunningSet() }
func stoppable(s status) bool { return s.stoppable() }

// named does something with the process of a name, or with those of a group.
func (u *Unit) named(ctx context.Context, name string, wait bool, begin beginning, eligible func(status) bool) ([]wire.ProcessStatus, error) {
	if err := u.serving(); err != nil {
		return nil, err
	}
	g, p, err := u.names.namespec(name)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return u.each(ctx, g.programs, wait, begin, eligible), nil
	}
	end, err := begin(ctx, p)
	if err == nil {
		err = u.conclude(ctx, p, end, wait)
	}
	return nil, err
}

func (u *Unit) grouped(ctx context.Context, name string, wait bool, begin beginning, eligible func(status) bool) ([]wire.ProcessStatus, error) {
	if err := u.serving(); err != nil {
		return nil, err
	}
	g, err := u.names.whole(name)
	if err != nil {
		return nil, err
	}
	return u.each(ctx, g.programs, wait, begin, eligible), nil
}

func (u *Unit) everyone(ctx context.Context, wait bool, begin beginning, eligible func(status) bool) ([]wire.ProcessStatus, error) {
	if err := u.serving(); err != nil {
		return nil, err
	}
	return u.each(ctx, u.names.inOrder(), wait, begin, eligible), nil
}

// each begins with every eligible process in order, then waits for all.
func (u *Unit) each(ctx context.Context, programs []*program, wait bool, begin beginning, eligible func(status) bool) []wire.ProcessStatus {
	statuses := []wire.ProcessStatus{}
	var mu sync.Mutex
	var waiting sync.WaitGroup
	for _, p := range slices.Clone(programs) {
		if s, _ := p.observe(); !eligible(s) {
			continue
		}
		i := len(statuses)
		end, err := begin(ctx, p)
		mu.Lock()
		statuses = append(statuses, statusOf(p, err))
		mu.Unlock()
		if err != nil {
			continue
		}
		waiting.Go(func() {
			err := u.conclude(ctx, p, end, wait)
			mu.Lock()
			defer mu.Unlock()
			statuses[i] = statusOf(p, err)
		})
	}
	waiting.Wait()
	return statuses
}

// conclude waits for the end of what was begun, or leaves that to the unit.
func (u *Unit) conclude(ctx context.Context, p *program, end pending, wait bool) error {
	if end == nil {
		return nil
	}
	if wait {
		return end(ctx)
	}
	u.tasks.Go(func() {
		if err := end(u.life); err != nil {
			u.log.Info("nobody waited for this", "process", p.name(), "error", err)
		}
	})
	return nil
}

func statusOf(p *program, err error) wire.ProcessStatus {
	s := wire.ProcessStatus{Name: p.cfg.Name, Group: p.cfg.Group, Status: wire.Success, Description: "OK"}
	if err == nil {
		return s
	}
	s.Status, s.Description = wire.Failed, err.Error()
	if code, ok := wire.FaultCodeOf(err); ok {
		s.Status = code
	}
	return s
}

// starting begins a start, by an execution where the program is an operation.
func (u *Unit) starting(ctx context.Context, p *program) (pending, error) {
	if _, err := p.executable(); err != nil {
		return nil, err
	}
	if s, _ := p.observe(); s.state.InRunningSet() {
		return nil, wire.NewFault(wire.AlreadyStarted, p.namespec())
	}
	if p.rules.kind != wire.OperationNone {
		return u.startingOperation(ctx, p)
	}
	err := p.tell(ctx, command{kind: commandStart})
	switch {
	case errors.Is(err, errStopping):
		return func(context.Context) error { return wire.NewFault(wire.AbnormalTermination, p.namespec()) }, nil
	case errors.Is(err, errAlreadyStarted):
		return nil, wire.NewFault(wire.AlreadyStarted, p.namespec())
	case err != nil:
		return nil, faulty(err)
	}
	if s, _ := p.observe(); !s.settled && s.spawnErr != "" && s.exit == nil { // it was never started
		return nil, wire.NewFault(wire.SpawnError, p.namespec())
	}
	return func(ctx context.Context) error {
		s, err := p.await(ctx, func(s status) bool { return s.settled || s.state != wire.Starting })
		switch {
		case err != nil:
			return faulty(err)
		case s.settled:
			return nil
		case s.spawnErr != "":
			return wire.NewFault(wire.SpawnError, p.namespec())
		}
		return wire.NewFault(wire.AbnormalTermination, p.namespec())
	}, nil
}

func (u *Unit) startingOperation(ctx context.Context, p *program) (pending, error) {
	begun, err := u.Execute(ctx, wire.ExecuteRequest{
		Component: p.cfg.Component, Operation: p.cfg.Qualified(), By: "supervisor.startProcess",
	})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		ended, err := u.awaitExecution(ctx, begun.ID)
		switch {
		case err != nil:
			return err
		case ended.Outcome == wire.OutcomeSucceeded:
			return nil
		}
		if s, _ := p.observe(); s.state == wire.Fatal {
			return wire.NewFault(wire.SpawnError, p.namespec())
		}
		return wire.NewFault(wire.AbnormalTermination, p.namespec())
	}, nil
}

func (u *Unit) awaitExecution(ctx context.Context, id string) (wire.Execution, error) {
	if x := u.ledger.lookup(id); x != nil {
		select {
		case <-x.done:
		case <-ctx.Done():
			return wire.Execution{}, ctx.Err()
		}
	}
	return u.Execution(id)
}

// faulty makes a fault of an error that has none.
func faulty(err error) error {
	switch {
	case errors.Is(err, errClosed):
		return wire.NewFault(wire.ShutdownState, "")
	case errors.Is(err, errGone):
		return wire.NewFault(wire.BadName, err.Error())
	case errors.Is(err, errHeld):
		return wire.NewFault(wire.Failed, err.Error())
	}
	return err
}

// stopping begins a stop. Where the program is an operation, its execution is
// cancelled, and what a start left is closed.
func (u *Unit) stopping(ctx context.Context, p *program) (pending, error) {
	if p.rules.kind != wire.OperationNone {
		if x := u.ledger.liveOf(func(x *execution) bool { return x.program == p }); x != nil {
			x.cancel(errStopped)
			return func(ctx context.Context) error {
				_, err := u.awaitExecution(ctx, x.id)
				return err
			}, nil
		}
	}
	if s, _ := p.observe(); !s.stoppable() {
		return nil, wire.NewFault(wire.NotRunning, p.namespec())
	}
	opened := p.rules.kind == wire.OperationStart
	if opened {
		u.ledger.halting(p.cfg.Component)
	}
	err := p.tell(ctx, command{kind: commandStop})
	if err != nil {
		if opened {
			u.ledger.halted(u.life, p.cfg.Component, "", false) //nolint:contextcheck // what happened is recorded, whether or not the client is still there
		}
		if errors.Is(err, errNotRunning) {
			return nil, wire.NewFault(wire.NotRunning, p.namespec())
		}
		return nil, faulty(err)
	}
	stopped := make(chan error, 1)
	u.tasks.Go(func() {
		stopped <- u.stopped(p, opened)
	})
	return func(ctx context.Context) error {
		select {
		case err := <-stopped:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}, nil
}

// stopped waits for the end of a stop and records what it means, whether or
// not the client is still there.
func (u *Unit) stopped(p *program, opened bool) error {
	// Somebody may have started it again before this looks.
	s, _ := p.observe()
	var err error
	if run := s.run; s.state == wire.Stopping {
		s, err = p.await(u.life, func(now status) bool { return now.halted() || now.run != run })
	}
	if opened {
		nothingLeft := err == nil && s.resting()
		for _, other := range u.names.openers(p.cfg.Component) {
			if t, _ := other.observe(); !t.resting() {
				nothingLeft = false
			}
		}
		u.ledger.halted(u.life, p.cfg.Component, p.cfg.Name+" was stopped by supervisor.stopProcess", nothingLeft)
	}
	if err == nil && s.stuck != "" {
		return wire.NewFault(wire.Failed, p.namespec()+": "+s.stuck)
	}
	return faulty(err)
}
