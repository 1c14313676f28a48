package component

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/process"
	"github.com/toskose/toskose/unit/wire"
)

// executionResult describes how an execution ended.
type executionResult struct {
	outcome   wire.Outcome
	reason    string
	exit      *process.Exit
	left      bool   // a start left processes
	run       uint64 // of an ordinary program that was started
	completed bool   // the program has ended as its exitcodes expect
	nothing   bool   // there was nothing to do; the state does not change
}

// runExecution runs an execution to its end and records it.
func (s *Set) runExecution(x *execution) {
	defer x.cancel(nil)
	if x.timeout > 0 {
		timer := time.AfterFunc(x.timeout, func() { x.cancel(errTimeout) })
		defer timer.Stop()
	}
	end := s.perform(x)
	opening := s.finish(s.life, x, end)
	if opening != 0 && !x.ordinary { // Observe watches an ordinary program
		s.tasks.Go(func() { s.watchDescendants(x.component, opening) })
	}
}

// perform carries out an operation and determines its outcome.
func (s *Set) perform(x *execution) executionResult {
	if x.cancels != nil {
		x.cancels.cancel(errSuperseded)
		<-x.cancels.done
		if !s.stillAllowed(x) {
			return executionResult{
				outcome: wire.OutcomeSucceeded, nothing: true,
				reason: fmt.Sprintf("it cancelled %s, which was still executing, and had nothing else to stop", x.cancels.operation),
			}
		}
	}
	switch {
	case x.program == nil:
		return s.unimplemented(x)
	case x.ordinary:
		return s.performOrdinary(x)
	}
	env, err := x.environment()
	if err != nil {
		return executionResult{outcome: wire.OutcomeFailed, reason: err.Error()}
	}
	p := x.program
	if err := p.Start(x.ctx, env); err != nil {
		if cause := context.Cause(x.ctx); cause != nil {
			return interrupted(cause, nil)
		}
		return executionResult{outcome: wire.OutcomeFailed, reason: fmt.Sprintf("cannot start %s: %v", p.Name(), err)}
	}
	x.attach(p)
	status, err := p.Await(x.ctx, x.outcomeKnown)
	if err != nil {
		return s.interrupt(x)
	}
	end := x.judge(status)
	switch {
	case x.kind == protocol.KindStart && end.outcome == wire.OutcomeFailed:
		s.endLeftovers(x, &end)
	case x.kind == protocol.KindStop && end.outcome == wire.OutcomeSucceeded:
		return s.awaitDescendants(x, end)
	}
	return end
}

// attach makes the program's output available through the execution.
func (x *execution) attach(p *process.Program) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.output = p.Output()
}

// outcomeKnown reports whether the outcome is known: for a start once it is running, for other
// kinds once the program has ended.
func (x *execution) outcomeKnown(status process.Status) bool {
	return status.AtRest() || x.kind == protocol.KindStart && status.State == wire.Running || status.Unready && status.Stuck != ""
}

func (x *execution) judge(status process.Status) executionResult {
	end := executionResult{exit: status.Exit}
	switch {
	case status.State == wire.Running:
		end.outcome, end.left = wire.OutcomeSucceeded, true
	case status.Stuck != "":
		end.outcome, end.reason = wire.OutcomeFailed, fmt.Sprintf("%s, but %s", status.SpawnErr, status.Stuck)
	case status.State == wire.Stopped:
		end.outcome, end.reason = wire.OutcomeCancelled, errStopped.Error()
	case status.State == wire.Fatal:
		end.outcome, end.reason = wire.OutcomeFailed, status.SpawnErr
	case status.Exit != nil && status.Exit.Success():
		end.outcome = wire.OutcomeSucceeded
	default:
		end.outcome = wire.OutcomeFailed
	}
	return end
}

// interrupt ends the program of an execution early.
func (s *Set) interrupt(x *execution) executionResult {
	err := x.program.Stop(s.life)
	status, _ := x.program.Await(s.life, process.Status.StopAnswered)
	if errors.Is(err, process.ErrNotRunning) && status.State != wire.Stopped {
		return x.judge(status) // it had just ended on its own
	}
	end := interrupted(context.Cause(x.ctx), status.Exit)
	if status.Stuck != "" {
		end.reason += ", but " + status.Stuck
	}
	return end
}

// interrupted returns the result of an execution that was ended early.
func interrupted(cause error, exit *process.Exit) executionResult {
	if errors.Is(cause, errTimeout) {
		return executionResult{outcome: wire.OutcomeTimeout, reason: cause.Error(), exit: exit}
	}
	return executionResult{outcome: wire.OutcomeCancelled, reason: cause.Error(), exit: exit}
}

// unimplemented changes the state without running a program. A stop still ends the processes of the
// start.
func (s *Set) unimplemented(x *execution) executionResult {
	end := executionResult{outcome: wire.OutcomeSucceeded, exit: &process.Exit{}}
	if x.kind == protocol.KindStop {
		return s.awaitDescendants(x, end)
	}
	return end
}

// endLeftovers ends the processes of a failed start, so that they do not disturb the next one.
func (s *Set) endLeftovers(x *execution, end *executionResult) {
	if what := x.program.EndDescendants(x.ctx); what != "" {
		end.reason = "it failed and " + what
	}
}

// awaitDescendants waits, for the grace period, until the processes of the start have ended, and
// then ends them. A stop without an implementation does not wait.
func (s *Set) awaitDescendants(x *execution, end executionResult) executionResult {
	var enforced []string
	var grace time.Duration
	if x.program != nil {
		grace = x.program.StopWait()
	}
	waiting, cancel := context.WithTimeout(x.ctx, grace)
	defer cancel()
	for _, p := range s.startPrograms(x.component) {
		if _, err := p.Await(waiting, process.Status.AtRest); err == nil {
			continue
		}
		if cause := context.Cause(x.ctx); cause != nil {
			return interrupted(cause, end.exit)
		}
		why := fmt.Sprintf("the processes of %s had not ended %v after %s, so the unit ended them", p.Config().Name, grace, x.operation.Name)
		if x.program == nil {
			why = fmt.Sprintf("%s has no implementation, so the unit ended the processes of %s", x.operation.Name, p.Config().Name)
		}
		s.noteEnforced(s.life, x, why)
		if err := p.Stop(s.life); err != nil && !errors.Is(err, process.ErrNotRunning) {
			return executionResult{outcome: wire.OutcomeFailed, exit: end.exit, reason: fmt.Sprintf("cannot end the processes of %s: %v", p.Config().Name, err)}
		}
		status, err := p.Await(s.life, process.Status.StopAnswered)
		if err != nil {
			return interrupted(errShutdown, end.exit)
		}
		if status.Stuck != "" {
			return executionResult{outcome: wire.OutcomeFailed, exit: end.exit, reason: fmt.Sprintf("cannot end the processes of %s: %s", p.Config().Name, status.Stuck)}
		}
		how := " with TERM"
		if status.Killed {
			how += " and, after the grace, KILL"
		}
		enforced = append(enforced, why+how)
	}
	end.reason = strings.Join(enforced, "; ")
	return end
}

// watchDescendants waits until the processes of a start have ended and records it.
func (s *Set) watchDescendants(component string, opening int) {
	var whys []string
	var death *wire.Death
	for _, p := range s.startPrograms(component) {
		status, err := p.Await(s.life, process.Status.AtRest)
		if err != nil || s.serving() != nil {
			return // at the next boot they are gone anyway
		}
		if status.Run > 0 {
			whys = append(whys, describeEnd(p, status))
			death = deathOf(p, status)
		}
	}
	s.recordGone(s.life, component, opening, strings.Join(whys, "; "), death)
}

// deathOf returns how the last process of a start ended, and its last line of output.
func deathOf(p *process.Program, status process.Status) *wire.Death {
	exit := status.Exit
	if status.Last != nil {
		exit = &status.Last.Exit
	}
	return &wire.Death{Exit: process.ExitOnWire(exit), Last: wire.LastLine(p.Output().End())}
}

// describeEnd describes how the processes of a start ended.
func describeEnd(p *process.Program, status process.Status) string {
	switch {
	case status.EndedUnlive():
		return fmt.Sprintf("the unit ended the processes of %s, which was not live: %s", p.Config().Name, status.Unlive.Why)
	case status.Unproven != "":
		return fmt.Sprintf("the processes of %s have ended: %s", p.Config().Name, status.Unproven)
	case status.Last != nil:
		return fmt.Sprintf("all processes of %s have ended; the last was process %d, with %s", p.Config().Name, status.Last.PID, status.Last.Exit)
	case status.Exit != nil:
		return fmt.Sprintf("the process of %s ended with %s", p.Config().Name, status.Exit)
	}
	return fmt.Sprintf("the processes of %s have ended", p.Config().Name)
}
