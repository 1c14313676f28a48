package component

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/process"
	"github.com/toskose/toskose/unit/wire"
)

// The lifecycle of a component that is an ordinary program.
var (
	programProtocol = protocol.Program()
	programKinds    = map[protocol.Operation]protocol.Kind{
		protocol.ProgramStart: protocol.KindStart, protocol.ProgramStop: protocol.KindStop, protocol.ProgramRestart: protocol.KindRun,
	}
)

// performOrdinary carries out an operation of an ordinary program, whose settings stay in force: a
// start has succeeded when the program is RUNNING, after as many attempts as startretries allows.
func (s *Set) performOrdinary(x *execution) executionResult {
	x.attach(x.program)
	left := ""
	if x.operation == protocol.ProgramStart {
		left = s.endEarlier(x)
	} else if end := s.stopOrdinary(x); x.operation == protocol.ProgramStop || end.outcome != wire.OutcomeSucceeded {
		return end
	}
	end := s.startOrdinary(x)
	if end.reason == "" {
		end.reason = left
	}
	return end
}

// endEarlier ends the processes that earlier runs of an ordinary program have left, such as the
// workers of a killed server, which keep its port. Supervisor's autorestart does not. It returns
// what it did.
func (s *Set) endEarlier(x *execution) string {
	if !x.program.Earlier() {
		return ""
	}
	if !x.program.Status().AtRest() { // autorestart is starting it
		s.stopOrdinary(x)
	}
	what := x.program.EndDescendants(x.ctx)
	return "an earlier run " + cmp.Or(what, "left processes, which the unit ended")
}

func (s *Set) startOrdinary(x *execution) executionResult {
	p := x.program
	if err := p.Start(x.ctx, nil); err != nil && !errors.Is(err, process.ErrAlreadyStarted) {
		return executionResult{outcome: wire.OutcomeFailed, reason: fmt.Sprintf("cannot start %s: %v", p.Namespec(), err)}
	}
	status, err := p.Await(x.ctx, func(now process.Status) bool { return now.AtRest() || now.State == wire.Running })
	if err != nil {
		return s.interrupt(x)
	}
	end := x.judge(status)
	end.run = status.Run
	if end.outcome == wire.OutcomeSucceeded && !end.left {
		end.completed, end.nothing, end.reason = p.Completed(status), true, "the program has already ended, as its exitcodes expect"
	}
	return end
}

// stopOrdinary stops a program and waits for its end, which no cancellation prevents.
func (s *Set) stopOrdinary(x *execution) executionResult {
	p := x.program
	p.CancelPendingStarts()
	if err := p.Stop(s.life); err != nil && !errors.Is(err, process.ErrNotRunning) {
		return executionResult{outcome: wire.OutcomeFailed, reason: fmt.Sprintf("cannot stop %s: %v", p.Namespec(), err)}
	}
	status, err := p.Await(x.ctx, process.Status.StopAnswered)
	switch {
	case x.ctx.Err() != nil && !status.StopAnswered():
		return interrupted(context.Cause(x.ctx), nil)
	case err != nil:
		return interrupted(errShutdown, nil)
	case status.Stuck != "":
		return executionResult{outcome: wire.OutcomeFailed, exit: status.Exit, reason: fmt.Sprintf("cannot end the processes of %s: %s", p.Namespec(), status.Stuck)}
	}
	end := executionResult{outcome: wire.OutcomeSucceeded, exit: &process.Exit{}}
	if status.Killed {
		end.reason = fmt.Sprintf("%s did not end within its stopwaitsecs, so the unit killed it", p.Namespec())
	}
	return end
}

// Programs describes the components in use that are programs, by name.
func (l *ledger) Programs() []wire.ProgramComponent {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.programs()
}

// programs is Programs for a caller that holds the lock.
func (l *ledger) programs() []wire.ProgramComponent {
	var all []wire.ProgramComponent
	for name, life := range l.lifecycles {
		if p := life.ordinary; p != nil {
			all = append(all, wire.ProgramComponent{Component: name, Group: p.Config().Group, Autostart: p.Settings().Autostart})
		}
	}
	slices.SortFunc(all, func(a, b wire.ProgramComponent) int { return cmp.Compare(a.Component, b.Component) })
	return all
}

// Observe records the state of an ordinary program whenever it changes without an execution: when
// it is started by autostart, autorestart or a client of Supervisor's API, and when it ends. It
// returns when the program is removed, or when no program is served any more.
func (s *Set) Observe(component string, p *process.Program) {
	o := observer{set: s, component: component, program: p}
	for {
		ledgerChanged := s.changed.Next()
		_, programChanged := p.Observe()
		waits := false
		err := s.retryUntilWritten(s.life, func() (err error) {
			waits, err = o.record()
			return err
		})
		if err != nil {
			return
		}
		if !waits {
			ledgerChanged = nil
		}
		select {
		case <-programChanged:
		case <-ledgerChanged:
		case <-p.Unserved():
			return
		case <-s.life.Done():
			return
		}
	}
}

// observer compares the recorded state of a program with its status.
type observer struct {
	set       *Set
	component string
	program   *process.Program
}

// record writes the entries by which the recorded state becomes the current one. waits reports that
// an execution is changing the state, which will write its own entry. The caller holds the lock.
func (o *observer) record() (waits bool, err error) {
	l := o.set.ledger
	life, inUse := l.lifecycles[o.component]
	if !inUse || life.ordinary != o.program || l.bootProblem() != "" {
		return true, nil
	}
	recorded, status := l.statuses[o.component], o.program.Status()
	if recorded.executing() != nil {
		return true, nil
	}
	runs := status.State == wire.Running || status.State == wire.Stopping && recorded.open()
	unrecorded := status.AtRest() && status.Run != l.runs[o.component] // it ended before it was recorded as running
	anew := runs && recorded.open() && status.Run != l.runs[o.component]
	if recorded.open() && (!runs || anew) || !recorded.open() && unrecorded {
		if err := l.append(o.endEntry(status, anew)); err != nil {
			return false, err
		}
	}
	if runs && (!recorded.open() || anew) {
		err = l.append(wire.Entry{
			Kind: wire.EntryRunning, Component: o.component, State: protocol.Running, StartedFrom: protocol.Stopped,
			Why: fmt.Sprintf("the program is running, as process %d", status.PID),
		})
	}
	if err == nil && (runs || unrecorded) {
		l.runs[o.component] = status.Run
	}
	return false, err
}

// endEntry describes the end of a program that was running; anew means that it already runs again.
func (o *observer) endEntry(status process.Status, anew bool) (e wire.Entry) {
	e = wire.Entry{Kind: wire.EntryGone, Component: o.component, State: protocol.Stopped, Completed: o.program.Completed(status)}
	defer func() {
		if e.Kind == wire.EntryGone && !e.ContainerEnded && !e.Completed {
			e.Death = status.Death
		}
	}()
	switch {
	case o.set.closing:
		e.ContainerEnded, e.Why = true, errShutdown.Error()
	case status.State == wire.Stopped && !status.EndedUnlive():
		e.Kind, e.Why = wire.EntryStop, "the program was stopped"
	case status.Unlive.Run > 0 && status.Unlive.Run == o.set.runs[o.component]:
		e.Why = "the unit restarts the program, which was not live: " + status.Unlive.Why
	case anew, status.State == wire.Starting:
		e.Why = "the program ended, and was started again"
	case status.State == wire.Backoff:
		e.Why = "the program ended, and cannot be started again yet: " + status.SpawnErr
	case status.Exit != nil:
		e.Why = fmt.Sprintf("the program ended with %s, and is %s", status.Exit, status.State)
	default:
		e.Why = fmt.Sprintf("the program is %s: %s", status.State, status.SpawnErr)
	}
	return e
}
