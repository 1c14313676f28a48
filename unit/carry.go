package unit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/toskose/toskose/unit/proctree"
	"github.com/toskose/toskose/unit/reaper"
	"github.com/toskose/toskose/unit/wire"
)

// ending is how an execution ended.
type ending struct {
	outcome wire.Outcome
	reason  string
	exit    *reaper.Exit
	left    bool // a start left processes
	nothing bool // there was nothing to do: the state stays
}

// carry runs an execution to its end and records it.
func (u *Unit) carry(x *execution) {
	defer x.cancel(nil)
	if x.timeout > 0 {
		timer := time.AfterFunc(x.timeout, func() { x.cancel(errTimeout) })
		defer timer.Stop()
	}
	end := u.perform(x)
	opening := u.ledger.finish(u.life, x, end)
	if opening != 0 {
		u.tasks.Go(func() { u.watch(x.component, opening) })
	}
}

// perform does what the operation is for, and judges it.
func (u *Unit) perform(x *execution) ending {
	if x.instead != nil {
		x.instead.cancel(errSuperseded)
		<-x.instead.done
		if !u.ledger.still(x) {
			return ending{
				outcome: wire.OutcomeSucceeded, nothing: true,
				reason: fmt.Sprintf("it cancelled %s, which was still executing, and had nothing else to stop", x.instead.operation),
			}
		}
	}
	if x.program == nil {
		return u.unimplemented(x)
	}
	env, err := x.environment()
	if err != nil {
		return ending{outcome: wire.OutcomeFailed, reason: err.Error()}
	}
	p := x.program
	if err := p.tell(x.ctx, command{kind: commandStart, env: env}); err != nil {
		if cause := context.Cause(x.ctx); cause != nil {
			return interrupted(cause, nil)
		}
		return ending{outcome: wire.OutcomeFailed, reason: fmt.Sprintf("cannot start %s: %v", p.name(), err)}
	}
	x.attach(p)
	s, err := p.await(x.ctx, x.judgeable)
	if err != nil {
		return u.interrupt(x)
	}
	end := x.judge(s)
	switch {
	case x.kind == wire.OperationStart && end.outcome == wire.OutcomeFailed:
		u.sweep(x, &end)
	case x.kind == wire.OperationStop && end.outcome == wire.OutcomeSucceeded:
		return u.closeRest(x, end)
	}
	return end
}

// attach takes what the program's run offers to those who ask meanwhile.
func (x *execution) attach(p *program) {
	p.mu.Lock()
	out, pid := p.output, p.status.pid
	p.mu.Unlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.output, x.pid = out, pid
}

// judgeable tells whether the outcome can be told: a start when it is running,
// everything else when it is over.
func (x *execution) judgeable(s status) bool {
	return s.resting() || x.kind == wire.OperationStart && s.state == wire.Running || s.unready && s.stuck != ""
}

func (x *execution) judge(s status) ending {
	end := ending{exit: s.exit}
	switch {
	case s.state == wire.Running:
		end.outcome, end.left = wire.OutcomeSucceeded, true
	case s.stuck != "":
		end.outcome, end.reason = wire.OutcomeFailed, fmt.Sprintf("cannot start: %s, but %s", s.spawnErr, s.stuck)
	case s.state == wire.Stopped:
		end.outcome, end.reason = wire.OutcomeCancelled, errStopped.Error()
	case s.state == wire.Fatal:
		end.outcome, end.reason = wire.OutcomeFailed, fmt.Sprintf("cannot start: %s", s.spawnErr)
	case s.exit != nil && s.exit.Success():
		end.outcome = wire.OutcomeSucceeded
	default:
		end.outcome = wire.OutcomeFailed
	}
	return end
}

// interrupt ends the program of an execution that is to end before its time.
func (u *Unit) interrupt(x *execution) ending {
	err := x.program.tell(u.life, command{kind: commandStop})
	s, _ := x.program.await(u.life, status.halted)
	if errors.Is(err, errNotRunning) && s.state != wire.Stopped {
		return x.judge(s) // it had just ended by itself
	}
	end := interrupted(context.Cause(x.ctx), s.exit)
	if s.stuck != "" {
		end.reason += ", but " + s.stuck
	}
	return end
}

// interrupted is the end of an execution for a cause.
func interrupted(cause error, exit *reaper.Exit) ending {
	if errors.Is(cause, errTimeout) {
		return ending{outcome: wire.OutcomeTimeout, reason: cause.Error(), exit: exit}
	}
	return ending{outcome: wire.OutcomeCancelled, reason: cause.Error(), exit: exit}
}

// unimplemented changes the state and runs nothing, except that a stop has to
// end what start left.
func (u *Unit) unimplemented(x *execution) ending {
	end := ending{outcome: wire.OutcomeSucceeded, exit: &reaper.Exit{}}
	if x.kind == wire.OperationStop {
		return u.closeRest(x, end)
	}
	return end
}

// sweep ends what a failed start left: nothing opened, so nothing may stay
// that the next start would stumble over.
func (u *Unit) sweep(x *execution, end *ending) {
	ended, err := u.tree.End(x.ctx, []proctree.Program{x.program.number}, x.program.stopWait())
	switch {
	case err != nil:
		end.reason = fmt.Sprintf("it failed, and what it left could not be ended: %v", err)
	case len(ended.Left) > 0:
		end.reason = fmt.Sprintf("it failed and left processes that the unit may not signal: %s", named(ended.Left))
	case len(ended.Signalled) > 0:
		end.reason = "it failed and left processes, which the unit ended"
	}
}

// named lists processes for a sentence.
func named(processes []proctree.Process) string {
	var names []string
	for _, p := range processes {
		names = append(names, fmt.Sprintf("%d %s", p.PID, p.Command))
	}
	return strings.Join(names, ", ")
}

// closeRest waits until what start left has ended, for the grace, and ends it
// then. A stop that has no implementation waits for nothing.
func (u *Unit) closeRest(x *execution, end ending) ending {
	var enforced []string
	var grace time.Duration
	if x.program != nil {
		grace = x.program.stopWait()
	}
	waiting, cancel := context.WithTimeout(x.ctx, grace)
	defer cancel()
	for _, p := range u.names.openers(x.component) {
		if _, err := p.await(waiting, status.resting); err == nil {
			continue
		}
		if cause := context.Cause(x.ctx); cause != nil {
			return interrupted(cause, end.exit)
		}
		why := fmt.Sprintf("what %s left had not ended %v after %s, so the unit ended it", p.cfg.Name, grace, bare(x.operation))
		if x.program == nil {
			why = fmt.Sprintf("%s has no implementation, so the unit ended what %s left", bare(x.operation), p.cfg.Name)
		}
		u.ledger.note(u.life, x, why)
		if err := p.tell(u.life, command{kind: commandStop}); err != nil && !errors.Is(err, errNotRunning) {
			return ending{outcome: wire.OutcomeFailed, exit: end.exit, reason: fmt.Sprintf("cannot end what %s left: %v", p.cfg.Name, err)}
		}
		s, err := p.await(u.life, status.halted)
		if err != nil {
			return interrupted(errShutdown, end.exit)
		}
		if s.stuck != "" {
			return ending{outcome: wire.OutcomeFailed, exit: end.exit, reason: fmt.Sprintf("cannot end what %s left: %s", p.cfg.Name, s.stuck)}
		}
		how := " with TERM"
		if s.killed {
			how += " and, after the grace, KILL"
		}
		enforced = append(enforced, why+how)
	}
	end.reason = strings.Join(enforced, "; ")
	return end
}

// watch waits until nothing that a start left is there any more, and records
// that it is gone.
func (u *Unit) watch(component string, opening int) {
	var whys []string
	for _, p := range u.names.openers(component) {
		s, err := p.await(u.life, status.resting)
		if err != nil || u.serving() != nil {
			return // at the next boot it is gone anyway
		}
		if s.run > 0 {
			whys = append(whys, farewell(p, s))
		}
	}
	u.ledger.gone(u.life, component, opening, strings.Join(whys, "; "))
}

// farewell says how a start's processes ended.
func farewell(p *program, s status) string {
	switch {
	case s.last != nil:
		return fmt.Sprintf("all that %s left has ended; the last was process %d, with %s", p.cfg.Name, s.last.pid, s.last.exit)
	case s.exit != nil:
		return fmt.Sprintf("the process of %s ended with %s", p.cfg.Name, s.exit)
	}
	return fmt.Sprintf("the processes of %s have ended", p.cfg.Name)
}
