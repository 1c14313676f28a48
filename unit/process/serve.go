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

// owner is a program as the goroutine that serves it has it.
type owner struct {
	*Program
	rules                rules // that the program was made with; of these only the kind counts for good
	machine              machine
	child                *reaper.Child
	settle, again, grace *time.Timer
	deadline             time.Time // when the grace of the stop under way is over
	extra                []string  // environment of this run only: an operation's inputs
	final                bool      // the unit is ending: nothing is started any more
	held                 bool      // a reload is about to remove it: nothing is started now
	stopWatch            func()    // ends the wait for what a main process left
	mainPID              int       // of the last main process, for events
	connection           *connection
	readiness            readiness
	waiters              sync.WaitGroup
	toSyslog             *logs.Syslog // nil: nothing has gone there
}

// Serve owns the program until ctx ends or the program is removed. Ending it
// stops nothing.
func (p *Program) Serve(ctx context.Context) {
	defer close(p.unserved)
	o := &owner{Program: p, rules: rulesOf(p.cfg), stopWatch: func() {}}
	defer o.waiters.Wait()
	defer func() { o.toSyslog.Close() }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer func() { o.stopWatch() }()
	defer o.abandonChecks()
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
			p.ended(ctx)
		case <-due(p.settle):
			p.settle = nil
			p.happened(ctx, event{what: settled})
		case <-due(p.again):
			p.again = nil
			p.happened(ctx, event{what: retry})
		case <-due(p.grace):
			p.grace = nil
			p.happened(ctx, event{what: overdue})
		case v := <-p.verdicts:
			p.judged(ctx, v)
		case run := <-p.emptied:
			if run == p.status.Run {
				p.happened(ctx, event{what: noDescendants})
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

// step takes the state machine one event further and does what it asks for.
func (p *owner) step(ctx context.Context, e event) error {
	before := p.machine
	after, effects, err := next(rulesOf(p.Settings()), before, e)
	if err != nil {
		return err
	}
	p.machine = after
	p.announce(before, after, effects)
	if after.process != before.process {
		p.entered(after.process)
	}
	for _, wanted := range effects {
		if err := p.effect(ctx, wanted); err != nil {
			return err
		}
	}
	return nil
}

// happened is a step that nobody asked for.
func (p *owner) happened(ctx context.Context, e event) {
	p.tally.unasked(func() {
		if err := p.step(ctx, e); err != nil {
			p.table.log.Error("cannot follow what happened", "process", p.Name(), "error", err)
		}
	})
}

// entered makes a new state known.
func (p *owner) entered(state wire.ProcessState) {
	if state != wire.Starting {
		p.disarm(&p.settle)
		p.stopChecks()
	}
	if state != wire.Backoff {
		p.disarm(&p.again)
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
		switch {
		case state == wire.Running:
			s.Arrived = true
		case over:
			s.Left, s.PID, s.Stuck = false, 0, ""
			if state == wire.Fatal && s.SpawnErr == "" {
				s.SpawnErr = "it ended, and left nothing, before it was ready"
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

// ended is the end of the main process.
func (p *owner) ended(ctx context.Context) {
	exit := p.child.Exit()
	p.tally.spend(p.child.CPU())
	p.tally.ended(exit)
	p.child = nil
	p.table.sockets.release(p.cfg.Socket)
	p.Output().sync()
	p.detachListener()
	p.readyByNow(ctx)
	now := p.table.o.Now()
	early := now.Sub(p.status.Started) < time.Duration(p.Settings().StartSecs)*time.Second
	code := supervisorStatus(exit)
	p.closeStdin()
	p.publish(func(s *Status) {
		s.Exit, s.PID, s.Stopped = &exit, 0, now
		switch {
		case p.rules.kind != protocol.KindNone, p.machine.process == wire.Stopping:
		case p.rules.checked && p.machine.process == wire.Starting && !p.machine.ready:
			s.SpawnErr = "Exited before it was ready, with " + exit.String()
		case early:
			s.SpawnErr = "Exited too quickly (process log may have details)"
		case !slices.Contains(p.Settings().ExitCodes, code):
			s.SpawnErr = fmt.Sprintf("Bad exit code %d", code)
		}
	})
	p.table.log.Info("process ended", "component", p.cfg.Group, "operation", p.cfg.Name, "exit", exit.String())
	p.happened(ctx, event{what: exited, code: code, early: early})
}

// reportEssential tells that an essential program came to rest by itself, in a
// state that the status does not have yet.
func (p *owner) reportEssential(state wire.ProcessState) {
	if p.cfg.Essential && (state == wire.Exited || state == wire.Fatal) {
		p.table.o.Ended(p.Program, state, finalCode(p.Status(), state))
	}
}
