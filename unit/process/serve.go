package process

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/logs"
	"github.com/toskose/toskose/unit/reaper"
	"github.com/toskose/toskose/unit/wire"
)

// owner is the state of a program that only its serving goroutine accesses.
type owner struct {
	*Program
	rules                rules // as the program was created; of these, only the kind never changes
	machine              machine
	child                *reaper.Child
	settle, again, grace *time.Timer
	deadline             time.Time // end of the grace period of the current stop
	runEnv               []string  // environment of the current run: the inputs of an operation
	neverStart           bool      // the unit is shutting down: start nothing
	held                 bool      // a reload is about to remove the program: start nothing
	stopWatch            func()    // cancels the wait for descendants
	mainPID              int       // pid of the last main process, for events
	connection           *connection
	readiness            readiness
	liveness             liveness
	waiters              sync.WaitGroup
	toSyslog             *logs.Syslog // nil until first used
}

// Serve owns the program until ctx ends or the program is removed. It stops no processes when it
// returns.
func (p *Program) Serve(ctx context.Context) {
	defer close(p.serveDone)
	o := &owner{Program: p, rules: rulesOf(p.cfg), stopWatch: func() {}}
	defer o.waiters.Wait()
	defer func() { o.toSyslog.Close() }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer func() { o.stopWatch() }()
	defer o.abandonChecks()
	defer o.stopLiveness()
	defer o.disarm(&o.settle, &o.again, &o.grace)
	defer o.detachListener()
	o.serve(ctx)
}

func (p *owner) serve(ctx context.Context) {
	for {
		var ended <-chan struct{}
		if p.child != nil {
			ended = p.child.Done()
		}
		select {
		case <-ctx.Done():
			return
		case <-p.removed:
			return
		case c := <-p.commands:
			c.reply <- c.do(ctx, p)
		case <-ended:
			p.mainExited(ctx)
		case <-due(p.settle):
			p.settle = nil
			p.stepUnrequested(ctx, event{kind: settled})
		case <-due(p.again):
			p.again = nil
			p.stepUnrequested(ctx, event{kind: retryDue})
		case <-due(p.grace):
			p.grace = nil
			p.stepUnrequested(ctx, event{kind: graceExpired})
		case r := <-p.liveResults:
			p.handleLiveResult(ctx, r)
		case v := <-p.checkResults:
			p.handleCheckResult(ctx, v)
		case run := <-p.descendantsGone:
			if run == p.status.Run {
				p.stepUnrequested(ctx, event{kind: noDescendants})
			}
		}
	}
}

func due(t *time.Timer) <-chan time.Time {
	if t == nil {
		return nil
	}
	return t.C
}

func (p *owner) disarm(timers ...**time.Timer) {
	for _, t := range timers {
		if *t != nil {
			(*t).Stop()
			*t = nil
		}
	}
}

// step feeds an event to the state machine and carries out the resulting effects.
func (p *owner) step(ctx context.Context, e event) error {
	before := p.machine
	after, effects, err := next(rulesOf(p.Settings()), before, e)
	if err != nil {
		return err
	}
	p.machine = after
	p.announce(before, after, effects)
	if after.process != before.process {
		p.publishState(after.process)
	}
	if after.process == wire.Running {
		p.beginLiveness(ctx)
	}
	for _, wanted := range effects {
		if err := p.effect(ctx, wanted); err != nil {
			return err
		}
	}
	return nil
}

// stepUnrequested handles an event that was not caused by a command.
func (p *owner) stepUnrequested(ctx context.Context, e event) {
	p.counters.countRestarts(func() {
		if err := p.step(ctx, e); err != nil {
			p.table.log.Error("cannot process an event", "process", p.Name(), "error", err)
		}
	})
}

// publishState publishes a new state.
func (p *owner) publishState(state wire.ProcessState) {
	if state != wire.Starting {
		p.disarm(&p.settle)
		p.stopChecks()
	}
	if state != wire.Backoff {
		p.disarm(&p.again)
	}
	if state != wire.Running {
		p.stopLiveness()
	}
	over := state.InStoppedSet() || state == wire.Backoff
	if over {
		p.disarm(&p.grace)
		p.stopWatch()
		p.abandonChecks()
		p.reportEssential(state)
	}
	p.publish(func(s *Status) {
		s.State = state
		if state != wire.Running && state != wire.Stopping {
			s.Failing = nil
		}
		switch {
		case state == wire.Running:
			s.ReachedRunning = true
		case over:
			s.Left, s.PID, s.Stuck = false, 0, ""
			if state == wire.Fatal && s.SpawnErr == "" {
				s.SpawnErr = "it exited before it was ready and left no descendants"
			}
		}
	})
}

func (p *owner) effect(ctx context.Context, e effect) error {
	switch e {
	case spawn:
		return p.spawn(ctx)
	case awaitSettle:
		p.settle = time.NewTimer(time.Duration(p.Settings().StartSecs) * time.Second)
	case awaitReady:
		p.awaitReady(ctx)
	case awaitRetry:
		p.again = time.NewTimer(time.Duration(p.machine.failures) * time.Second)
	case signalMain:
		if err := p.stopMain(p.Settings().StopSignal, p.Settings().StopAsGroup); err != nil {
			p.table.log.Error("cannot stop", "process", p.Name(), "error", err)
		}
	case awaitGrace:
		p.deadline = time.Now().Add(p.StopWait())
		p.grace = time.NewTimer(p.StopWait())
	case lookForDescendants:
		return p.lookForDescendants(ctx)
	case endDescendants:
		return p.endDescendants(ctx)
	case killAll:
		p.publish(func(s *Status) { s.Killed = true })
		p.killAll()
	}
	return nil
}

// mainExited handles the exit of the main process.
func (p *owner) mainExited(ctx context.Context) {
	exit := p.child.Exit()
	p.counters.addCPU(p.child.CPU())
	p.counters.ended(exit)
	p.child = nil
	p.table.sockets.release(p.cfg.Socket)
	p.Output().sync()
	p.detachListener()
	p.reportEarlyReadiness(ctx)
	now := p.table.opts.Now()
	early := now.Sub(p.status.Started) < time.Duration(p.Settings().StartSecs)*time.Second
	code := supervisorStatus(exit)
	p.closeStdin()
	death := &wire.Death{Exit: ExitOnWire(&exit), Last: wire.LastLine(p.Output().End())}
	p.publish(func(s *Status) {
		s.Exit, s.PID, s.Stopped, s.Death = &exit, 0, now, death
		switch {
		case p.rules.kind != protocol.KindNone, p.machine.process == wire.Stopping:
		case p.rules.hasChecks && p.machine.process == wire.Starting && !p.machine.ready:
			s.SpawnErr = "Exited before it was ready, with " + exit.String()
		case early:
			s.SpawnErr = "Exited too quickly (process log may have details)"
		case !slices.Contains(p.Settings().ExitCodes, code):
			s.SpawnErr = fmt.Sprintf("Bad exit code %d", code)
		}
	})
	p.table.log.Info("process ended", "component", p.cfg.Group, "operation", p.cfg.Name, "exit", exit.String())
	p.stepUnrequested(ctx, event{kind: exited, code: code, early: early})
}

// reportEssential calls Options.Ended if an essential program has stopped without being asked to.
// state is the new state, which is not published yet.
func (p *owner) reportEssential(state wire.ProcessState) {
	if p.cfg.Essential && (state == wire.Exited || state == wire.Fatal) {
		p.table.opts.Ended(p.Program, state, finalCode(p.Status(), state))
	}
}
