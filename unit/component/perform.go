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

// ending is how an execution ended.
type ending struct {
	outcome wire.Outcome
	reason  string
	exit    *process.Exit
	left    bool // a start left processes
	nothing bool // there was nothing to do: the state stays
}

// carry runs an execution to its end and records it.
func (s *Set) carry(x *execution) {
	defer x.cancel(nil)
	if x.timeout > 0 {
		timer := time.AfterFunc(x.timeout, func() { x.cancel(errTimeout) })
		defer timer.Stop()
	}
	end := s.perform(x)
	opening := s.finish(s.life, x, end)
	if opening != 0 {
		s.tasks.Go(func() { s.watch(x.component, opening) })
	}
}

// perform does what the operation is for, and judges it.
func (s *Set) perform(x *execution) ending {
	if x.instead != nil {
		x.instead.cancel(errSuperseded)
		<-x.instead.done
		if !s.stillAllowed(x) {
			return ending{
				outcome: wire.OutcomeSucceeded, nothing: true,
				reason: fmt.Sprintf("it cancelled %s, which was still executing, and had nothing else to stop", x.instead.operation),
			}
		}
	}
	if x.program == nil {
		return s.unimplemented(x)
	}
	env, err := x.environment()
	if err != nil {
		return ending{outcome: wire.OutcomeFailed, reason: err.Error()}
	}
	p := x.program
	if err := p.Start(x.ctx, env); err != nil {
		if cause := context.Cause(x.ctx); cause != nil {
			return interrupted(cause, nil)
		}
		return ending{outcome: wire.OutcomeFailed, reason: fmt.Sprintf("cannot start %s: %v", p.Name(), err)}
	}
	x.attach(p)
	status, err := p.Await(x.ctx, x.judgeable)
	if err != nil {
		return s.interrupt(x)
	}
	end := x.judge(status)
	switch {
	case x.kind == protocol.KindStart && end.outcome == wire.OutcomeFailed:
		s.sweep(x, &end)
	case x.kind == protocol.KindStop && end.outcome == wire.OutcomeSucceeded:
		return s.awaitDescendants(x, end)
	}
	return end
}

// attach takes what the program's run offers to those who ask meanwhile.
func (x *execution) attach(p *process.Program) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.output = p.Output()
}

// judgeable reports whether the outcome can be told: a start when it is running,
// everything else when it is over.
func (x *execution) judgeable(status process.Status) bool {
	return status.AtRest() || x.kind == protocol.KindStart && status.State == wire.Running || status.Unready && status.Stuck != ""
}

func (x *execution) judge(status process.Status) ending {
	end := ending{exit: status.Exit}
	switch {
	case status.State == wire.Running:
		end.outcome, end.left = wire.OutcomeSucceeded, true
	case status.Stuck != "":
		end.outcome, end.reason = wire.OutcomeFailed, fmt.Sprintf("cannot start: %s, but %s", status.SpawnErr, status.Stuck)
	case status.State == wire.Stopped:
		end.outcome, end.reason = wire.OutcomeCancelled, errStopped.Error()
	case status.State == wire.Fatal:
		end.outcome, end.reason = wire.OutcomeFailed, fmt.Sprintf("cannot start: %s", status.SpawnErr)
	case status.Exit != nil && status.Exit.Success():
		end.outcome = wire.OutcomeSucceeded
	default:
		end.outcome = wire.OutcomeFailed
	}
	return end
}

// interrupt ends the program of an execution that is to end before its time.
func (s *Set) interrupt(x *execution) ending {
	err := x.program.Stop(s.life)
	status, _ := x.program.Await(s.life, process.Status.StopAnswered)
	if errors.Is(err, process.ErrNotRunning) && status.State != wire.Stopped {
		return x.judge(status) // it had just ended by itself
	}
	end := interrupted(context.Cause(x.ctx), status.Exit)
	if status.Stuck != "" {
		end.reason += ", but " + status.Stuck
	}
	return end
}

// interrupted is the end of an execution for a cause.
func interrupted(cause error, exit *process.Exit) ending {
	if errors.Is(cause, errTimeout) {
		return ending{outcome: wire.OutcomeTimeout, reason: cause.Error(), exit: exit}
	}
	return ending{outcome: wire.OutcomeCancelled, reason: cause.Error(), exit: exit}
}

// unimplemented changes the state and runs nothing, except that a stop has to
// end what start left.
func (s *Set) unimplemented(x *execution) ending {
	end := ending{outcome: wire.OutcomeSucceeded, exit: &process.Exit{}}
	if x.kind == protocol.KindStop {
		return s.awaitDescendants(x, end)
	}
	return end
}

// sweep ends what a failed start left: nothing opened, so nothing may stay
// that the next start would stumble over.
func (s *Set) sweep(x *execution, end *ending) {
	if what := x.program.EndDescendants(x.ctx); what != "" {
		end.reason = "it failed and " + what
	}
}

// awaitDescendants waits until what start left has ended, for the grace, and ends it
// then. A stop that has no implementation waits for nothing.
func (s *Set) awaitDescendants(x *execution, end ending) ending {
	var enforced []string
	var grace time.Duration
	if x.program != nil {
		grace = x.program.StopWait()
	}
	waiting, cancel := context.WithTimeout(x.ctx, grace)
	defer cancel()
	for _, p := range s.openers(x.component) {
		if _, err := p.Await(waiting, process.Status.AtRest); err == nil {
			continue
		}
		if cause := context.Cause(x.ctx); cause != nil {
			return interrupted(cause, end.exit)
		}
		why := fmt.Sprintf("what %s left had not ended %v after %s, so the unit ended it", p.Config().Name, grace, x.operation.Name)
		if x.program == nil {
			why = fmt.Sprintf("%s has no implementation, so the unit ended what %s left", x.operation.Name, p.Config().Name)
		}
		s.noteEnforced(s.life, x, why)
		if err := p.Stop(s.life); err != nil && !errors.Is(err, process.ErrNotRunning) {
			return ending{outcome: wire.OutcomeFailed, exit: end.exit, reason: fmt.Sprintf("cannot end what %s left: %v", p.Config().Name, err)}
		}
		status, err := p.Await(s.life, process.Status.StopAnswered)
		if err != nil {
			return interrupted(errShutdown, end.exit)
		}
		if status.Stuck != "" {
			return ending{outcome: wire.OutcomeFailed, exit: end.exit, reason: fmt.Sprintf("cannot end what %s left: %s", p.Config().Name, status.Stuck)}
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

// watch waits until nothing that a start left is there any more, and records
// that it is gone.
func (s *Set) watch(component string, opening int) {
	var whys []string
	for _, p := range s.openers(component) {
		status, err := p.Await(s.life, process.Status.AtRest)
		if err != nil || s.serving() != nil {
			return // at the next boot it is gone anyway
		}
		if status.Run > 0 {
			whys = append(whys, farewell(p, status))
		}
	}
	s.gone(s.life, component, opening, strings.Join(whys, "; "))
}

// farewell says how a start's processes ended.
func farewell(p *process.Program, status process.Status) string {
	switch {
	case status.Unproven != "":
		return fmt.Sprintf("the processes of %s have ended: %s", p.Config().Name, status.Unproven)
	case status.Last != nil:
		return fmt.Sprintf("all that %s left has ended; the last was process %d, with %s", p.Config().Name, status.Last.PID, status.Last.Exit)
	case status.Exit != nil:
		return fmt.Sprintf("the process of %s ended with %s", p.Config().Name, status.Exit)
	}
	return fmt.Sprintf("the processes of %s have ended", p.Config().Name)
}
