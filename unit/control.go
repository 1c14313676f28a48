package unit

import (
	"context"
	"errors"

	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/component"
	"github.com/toskose/toskose/unit/process"
	"github.com/toskose/toskose/unit/wire"
)

// Processes starts, stops, signals and describes the processes of the groups in use.
type Processes struct{ *core }

// completion waits for the end of an action.
type completion func(ctx context.Context) error

// action begins an action on a process and returns its completion.
type action func(ctx context.Context, p *process.Program) (completion, error)

// startable reports whether a call for a group or for all processes starts a process. It excludes
// operations: creating and deleting a component are in the same group, and only the protocol knows
// the order.
func startable(p *process.Program) bool {
	return p.Kind() == protocol.KindNone && p.Status().Startable()
}

// withStatus returns a predicate on the status of a process.
func withStatus(is func(process.Status) bool) func(*process.Program) bool {
	return func(p *process.Program) bool { return is(p.Status()) }
}

// StartProcess starts a process, or a whole group named `group:*`, and returns the statuses of the
// latter.
func (u *Processes) StartProcess(ctx context.Context, name string, wait bool) ([]wire.ProcessStatus, error) {
	return u.byName(ctx, name, wait, u.start)
}

// StartProcessGroup starts the processes of a group that do not run and are not operations.
func (u *Processes) StartProcessGroup(ctx context.Context, name string, wait bool) ([]wire.ProcessStatus, error) {
	return u.byGroup(ctx, name, wait, u.start)
}

// StartAllProcesses starts every process that does not run and is not an operation.
func (u *Processes) StartAllProcesses(ctx context.Context, wait bool) ([]wire.ProcessStatus, error) {
	return u.all(ctx, wait, u.start)
}

// StopProcess stops a process, or a whole group named `group:*`, and returns the statuses of the
// latter. It waits for the end of all descendants.
func (u *Processes) StopProcess(ctx context.Context, name string, wait bool) ([]wire.ProcessStatus, error) {
	return u.byName(ctx, name, wait, u.stop)
}

// StopProcessGroup stops the running processes of a group.
func (u *Processes) StopProcessGroup(ctx context.Context, name string, wait bool) ([]wire.ProcessStatus, error) {
	return u.byGroup(ctx, name, wait, u.stop)
}

// StopAllProcesses stops every running process.
func (u *Processes) StopAllProcesses(ctx context.Context, wait bool) ([]wire.ProcessStatus, error) {
	return u.all(ctx, wait, u.stop)
}

// byName acts on the process with a name, or on a whole group.
func (u *Processes) byName(ctx context.Context, name string, wait bool, what func([]*process.Program) batch) ([]wire.ProcessStatus, error) {
	if err := u.serving(); err != nil {
		return nil, err
	}
	g, p, err := u.names.namespec(name)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return u.each(ctx, g.programs, wait, what), nil
	}
	one := []*process.Program{p}
	return nil, u.perform(ctx, one, wait, what(one))[0].err
}

func (u *Processes) byGroup(ctx context.Context, name string, wait bool, what func([]*process.Program) batch) ([]wire.ProcessStatus, error) {
	if err := u.serving(); err != nil {
		return nil, err
	}
	g, err := u.names.groupNamed(name)
	if err != nil {
		return nil, err
	}
	return u.each(ctx, g.programs, wait, what), nil
}

func (u *Processes) all(ctx context.Context, wait bool, what func([]*process.Program) batch) ([]wire.ProcessStatus, error) {
	if err := u.serving(); err != nil {
		return nil, err
	}
	return u.each(ctx, u.names.inOrder(), wait, what), nil
}

// each acts on every eligible process in order, then waits for all.
func (u *Processes) each(ctx context.Context, programs []*process.Program, wait bool, what func([]*process.Program) batch) []wire.ProcessStatus {
	v := what(programs)
	var eligible []*process.Program
	for _, p := range programs {
		if v.eligible(p) {
			eligible = append(eligible, p)
		}
	}
	statuses := []wire.ProcessStatus{}
	for _, r := range u.perform(ctx, eligible, wait, v) {
		statuses = append(statuses, statusOf(r.Program, r.err))
	}
	return statuses
}

// conclude waits for the end of an action, or lets it continue in the background.
func (u *Processes) conclude(ctx context.Context, p *process.Program, end completion, wait bool) error {
	if end == nil {
		return nil
	}
	if wait {
		return end(ctx)
	}
	u.tasks.Go(func() {
		if err := end(u.lifetime); err != nil {
			u.log.Info("the stop was interrupted", "process", p.Name(), "error", err)
		}
	})
	return nil
}

func statusOf(p *process.Program, err error) wire.ProcessStatus {
	s := wire.ProcessStatus{Name: p.Config().Name, Group: p.Config().Group, Status: wire.Success, Description: "OK"}
	if err == nil {
		return s
	}
	s.Status, s.Description = wire.Failed, err.Error()
	if code, ok := wire.FaultCodeOf(err); ok {
		s.Status = code
	}
	return s
}

// starting begins a start, as an execution if the program is an operation.
func (u *Processes) starting(ctx context.Context, p *process.Program) (completion, error) {
	if err := p.Executable(); err != nil {
		return nil, err
	}
	if s := p.Status(); s.State.InRunningSet() {
		return nil, wire.NewFault(wire.AlreadyStarted, p.Namespec())
	}
	u.tied.remove(p)
	if p.Kind() != protocol.KindNone {
		return u.startingOperation(p)
	}
	err := p.Start(ctx, nil)
	switch {
	case errors.Is(err, process.ErrStopping):
		return func(context.Context) error { return wire.NewFault(wire.AbnormalTermination, p.Namespec()) }, nil
	case errors.Is(err, process.ErrAlreadyStarted):
		return nil, wire.NewFault(wire.AlreadyStarted, p.Namespec())
	case err != nil:
		return nil, toFault(err)
	}
	if s := p.Status(); !s.ReachedRunning && s.SpawnErr != "" && s.Exit == nil { // it was not started
		return nil, wire.NewFault(wire.SpawnError, p.Namespec())
	}
	return func(ctx context.Context) error {
		s, err := p.Await(ctx, func(s process.Status) bool { return s.ReachedRunning || s.State != wire.Starting })
		switch {
		case err != nil:
			return toFault(err)
		case s.ReachedRunning:
			return nil
		case s.SpawnErr != "":
			return wire.NewFault(wire.SpawnError, p.Namespec())
		}
		return wire.NewFault(wire.AbnormalTermination, p.Namespec())
	}, nil
}

func (u *Processes) startingOperation(p *process.Program) (completion, error) {
	begun, _, err := u.components.Operations().Execute(u.lifetime, wire.ExecuteRequest{
		Component: p.Config().Component, Operation: p.Config().Operation.String(), By: "supervisor.startProcess",
	})
	if err != nil {
		return nil, toSupervisorFault(err, wire.SpawnError)
	}
	return func(ctx context.Context) error {
		ended, err := u.components.Operations().Execution(ctx, begun.ID, component.UntilDone)
		switch {
		case err != nil:
			return toSupervisorFault(err, wire.AbnormalTermination)
		case ended.Outcome == wire.OutcomeSucceeded:
			return nil
		}
		if s := p.Status(); s.State == wire.Fatal {
			return wire.NewFault(wire.SpawnError, p.Namespec())
		}
		return wire.NewFault(wire.AbnormalTermination, p.Namespec())
	}, nil
}

// toSupervisorFault replaces the code of a fault that only executions have with Supervisor's code,
// and keeps its text: supervisorctl aborts at unknown codes.
func toSupervisorFault(err error, code wire.FaultCode) error {
	if f := (*wire.Fault)(nil); errors.As(err, &f) && !f.Code.Supervisors() {
		return wire.NewFault(code, f.Detail)
	}
	return err
}

// toFault converts an error without a fault to one.
func toFault(err error) error {
	switch {
	case errors.Is(err, process.ErrUnserved):
		return wire.NewFault(wire.ShutdownState, "")
	case errors.Is(err, process.ErrRemoved):
		return wire.NewFault(wire.BadName, err.Error())
	case errors.Is(err, process.ErrHeld):
		return wire.NewFault(wire.Failed, err.Error())
	}
	return err
}

// stopping begins a stop. If the program is an operation, this cancels its execution and closes the
// component of a start.
func (u *Processes) stopping(ctx context.Context, p *process.Program) (completion, error) {
	if p.Kind() != protocol.KindNone {
		if id, ok := u.components.CancelRun(p); ok {
			return func(ctx context.Context) error {
				_, err := u.components.Operations().Execution(ctx, id, component.UntilDone)
				return toSupervisorFault(err, wire.Failed)
			}, nil
		}
	}
	if p.CancelPendingStarts() && p.Status().Startable() {
		return nil, nil
	}
	if s := p.Status(); !s.Stoppable() {
		return nil, wire.NewFault(wire.NotRunning, p.Namespec())
	}
	opened := p.Kind() == protocol.KindStart
	if opened {
		u.components.BeginStop(p.Config().Component)
	}
	err := p.Stop(ctx)
	if err != nil {
		if opened {
			_ = u.components.EndStop(p.Config().Component, "", false) // writes nothing
		}
		if errors.Is(err, process.ErrNotRunning) {
			return nil, wire.NewFault(wire.NotRunning, p.Namespec())
		}
		return nil, toFault(err)
	}
	begun := p.Status()
	if !opened {
		return func(ctx context.Context) error {
			_, err := stopped(ctx, p, begun)
			return err
		}, nil
	}
	ended := make(chan error, 1)
	u.tasks.Go(func() { // even if the client has hung up
		s, err := stopped(u.lifetime, p, begun)
		unwritten := u.components.EndStop(p.Config().Component, p.Config().Name+" was stopped by supervisor.stopProcess", s.AtRest())
		if err == nil {
			err = toSupervisorFault(unwritten, wire.Failed)
		}
		ended <- err
	})
	return func(ctx context.Context) error {
		select {
		case err := <-ended:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}, nil
}

// stopped waits for the end of a stop. The program may have been started again meanwhile.
func stopped(ctx context.Context, p *process.Program, begun process.Status) (s process.Status, err error) {
	if s = begun; s.State == wire.Stopping {
		s, err = p.Await(ctx, func(now process.Status) bool { return now.StopAnswered() || now.Run != begun.Run })
	}
	if err == nil && s.Stuck != "" {
		err = wire.NewFault(wire.Failed, p.Namespec()+": "+s.Stuck)
	}
	return s, toFault(err)
}
