package unit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/events"
	"github.com/toskose/toskose/unit/logs"
	"github.com/toskose/toskose/unit/proctree"
	"github.com/toskose/toskose/unit/reaper"
	"github.com/toskose/toskose/unit/wire"
)

// program is one configured process. The goroutine of serve owns it: it alone
// steps the state machine, starts and signals. Others send it commands and
// read the status that it publishes.
type program struct {
	cfg    *config.Program                // that it was made with; see settings
	live   atomic.Pointer[config.Program] // the latest
	number proctree.Program
	rules  rules // those of cfg; of these only the kind counts for good
	world  *world
	quit   context.CancelFunc // ends serve
	gone   atomic.Bool        // a reload has removed it

	stdoutLog, stderrLog *logs.File   // nil: there is no such log
	pool                 *events.Pool // nil: the process is no event listener
	copies               copies       // of what it prints, for the container's own output
	tally                tally

	commands chan command
	rest     chan uint64       // the run that has nothing left any more
	verdicts chan readyVerdict // has room for one
	closed   chan struct{}     // closed when serve has returned

	// Owned by serve.
	machine              machine
	child                *reaper.Child
	settle, again, grace *time.Timer
	deadline             time.Time // when the grace of the stop under way is over
	extra                []string  // environment of this run only: an operation's inputs
	final                bool      // the unit is ending: nothing is started any more
	held                 bool      // a reload is about to remove it: nothing is started now
	stopWatch            func()    // ends the wait for what a main process left
	mainPID              int       // of the last main process, for events
	ear                  *ear      // of an event listener that runs
	waiters              sync.WaitGroup
	readiness            readiness

	mu      sync.Mutex
	status  status
	changed chan struct{} // closed and replaced when the status changes
	stdin   *os.File
	output  output
}

// world is what programs share.
type world struct {
	log     *slog.Logger
	reaper  *reaper.Reaper
	opening sync.Mutex // held while the pipes of one start are opened
	tree    *proctree.Tree
	now     func() time.Time
	env     map[string]string // of the unit, without its credentials
	url     string            // SUPERVISOR_SERVER_URL
	drained broadcast         // children were reaped
	events  events.Hub
	lost    func(*EssentialError)
	console *console // where output is copied to
}

// commandKind is what a program can be told to do.
type commandKind int

const (
	commandStart commandKind = iota
	commandStop
	commandSignal
	commandFinish // stop, if anything runs, and never start again
	commandHold   // start nothing until commandFree; refused while anything runs
	commandFree
)

type command struct {
	kind   commandKind
	env    []string       // of start
	signal syscall.Signal // of signal
	reply  chan error
}

// errClosed answers commands to a program that is no longer served.
var errClosed = errors.New("the unit is shutting down")

// tell sends a command and waits for its answer, which is not its end. The error
// of ctx says that the program never got the command: once it has, its answer
// comes soon and is waited for, since who does not know of a start that he asked
// for cannot see to its stop either.
func (p *program) tell(ctx context.Context, c command) error {
	c.reply = make(chan error, 1)
	select {
	case p.commands <- c:
	case <-p.closed:
		return p.over()
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-c.reply:
		return err
	case <-p.closed:
		return p.over()
	}
}

// serve owns the program until ctx ends. Ending it stops nothing.
func (p *program) serve(ctx context.Context) {
	defer close(p.closed)
	defer p.waiters.Wait()
	defer func() { p.stopWatch() }()
	defer p.abandon()
	defer p.disarm(&p.settle, &p.again, &p.grace)
	defer p.deafen()
	for {
		var ended <-chan struct{}
		if p.child != nil {
			ended = p.child.Done()
		}
		select {
		case <-ctx.Done():
			return
		case c := <-p.commands:
			c.reply <- p.obey(ctx, c)
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
		case run := <-p.rest:
			if run == p.status.run {
				p.happened(ctx, event{what: emptied})
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

func (p *program) disarm(timers ...**time.Timer) {
	for _, t := range timers {
		if *t != nil {
			(*t).Stop()
			*t = nil
		}
	}
}

func (p *program) obey(ctx context.Context, c command) error {
	switch c.kind {
	case commandStart:
		switch {
		case p.final:
			return errClosed
		case p.held:
			return errHeld
		}
		before := p.machine.process
		if !before.InRunningSet() && before != wire.Stopping {
			p.extra = c.env
		}
		return p.step(ctx, event{what: asked})
	case commandStop:
		return p.step(ctx, event{what: halted})
	case commandFinish:
		p.final = true
		if p.machine.process.InRunningSet() || p.machine.failing {
			return p.step(ctx, event{what: halted})
		}
		return nil
	case commandSignal:
		return p.signalMain(c.signal, false)
	case commandHold:
		if !p.machine.process.InStoppedSet() {
			return errAlreadyStarted
		}
		p.held = true
		return nil
	case commandFree:
		p.held = false
		return nil
	}
	return fmt.Errorf("cannot obey a command of kind %d", c.kind)
}

// step takes the state machine one event further and does what it asks for.
func (p *program) step(ctx context.Context, e event) error {
	before := p.machine
	after, effects, err := next(rulesOf(p.settings()), before, e)
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
func (p *program) happened(ctx context.Context, e event) {
	p.tally.unasked(func() {
		if err := p.step(ctx, e); err != nil {
			p.world.log.Error("cannot follow what happened", "process", p.name(), "error", err)
		}
	})
}

// entered makes a new state known.
func (p *program) entered(state wire.ProcessState) {
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
		p.abandon()
		p.lose(state)
	}
	p.publish(func(s *status) {
		s.state = state
		switch {
		case state == wire.Running:
			s.settled = true
		case over:
			s.left, s.pid, s.stuck = false, 0, ""
			if state == wire.Fatal && s.spawnErr == "" {
				s.spawnErr = "it ended, and left nothing, before it was ready"
			}
		}
	})
	p.world.log.Info("process", "component", p.cfg.Group, "operation", p.cfg.Name, "state", state.String())
}

func (p *program) effect(ctx context.Context, e effect) error {
	switch e {
	case spawn:
		return p.spawn(ctx)
	case awaitSettle:
		p.settle = time.NewTimer(time.Duration(p.settings().StartSecs) * time.Second)
	case awaitReady:
		p.awaitReady(ctx)
	case awaitRetry:
		p.again = time.NewTimer(time.Duration(p.machine.failures) * time.Second)
	case signalMain:
		if err := p.signalMain(p.settings().StopSignal, p.settings().StopAsGroup); err != nil {
			p.world.log.Error("cannot stop", "process", p.name(), "error", err)
		}
	case awaitGrace:
		p.deadline = time.Now().Add(p.stopWait())
		p.grace = time.NewTimer(p.stopWait())
	case lookForRest:
		return p.lookForRest(ctx)
	case endRest:
		return p.endRest(ctx)
	case killAll:
		p.publish(func(s *status) { s.killed = true })
		p.killAll()
	}
	return nil
}

// name is the process's full name.
func (p *program) name() string { return p.cfg.Group + ":" + p.cfg.Name }

// namespec is the name that clients use: p for process p of group p.
func (p *program) namespec() string {
	if p.cfg.Group == p.cfg.Name {
		return p.cfg.Name
	}
	return p.name()
}

// ended is the end of the main process.
func (p *program) ended(ctx context.Context) {
	exit := p.child.Exit()
	p.tally.spend(p.child.CPU())
	p.tally.ended(exit)
	p.child = nil
	p.output.sync()
	p.deafen()
	p.readyByNow(ctx)
	now := p.world.now()
	early := now.Sub(p.status.started) < time.Duration(p.settings().StartSecs)*time.Second
	code := exitStatus(exit)
	p.closeStdin()
	p.publish(func(s *status) {
		s.exit, s.pid, s.stopped = &exit, 0, now
		switch {
		case p.rules.kind != wire.OperationNone, p.machine.process == wire.Stopping:
		case p.rules.checked && p.machine.process == wire.Starting && !p.machine.ready:
			s.spawnErr = "Exited before it was ready, with " + exit.String()
		case early:
			s.spawnErr = "Exited too quickly (process log may have details)"
		case !slices.Contains(p.settings().ExitCodes, code):
			s.spawnErr = fmt.Sprintf("Bad exit code %d", code)
		}
	})
	p.world.log.Info("process ended", "component", p.cfg.Group, "operation", p.cfg.Name, "exit", exit.String())
	p.happened(ctx, event{what: exited, code: code, early: early})
}
