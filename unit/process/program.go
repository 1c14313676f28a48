package process

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/events"
	"github.com/toskose/toskose/unit/logs"
	"github.com/toskose/toskose/unit/proctree"
	"github.com/toskose/toskose/unit/wire"
)

// Program is one configured process. The goroutine in Serve owns it; its exported methods are safe
// for concurrent use.
type Program struct {
	cfg      *config.Program                // as the program was created; see Settings
	settings atomic.Pointer[config.Program] // the latest configuration
	number   proctree.Program
	table    *Table
	pool     *events.Pool // nil unless it is an event listener
	counters counters
	streams

	commands        chan command
	descendantsGone chan uint64      // the run whose descendants have all ended
	checkResults    chan checkResult // buffered, capacity one
	liveResults     chan liveResult  // buffered, capacity one
	removed         chan struct{}    // closed by Remove
	serveDone       chan struct{}    // closed when Serve returns

	mu        sync.Mutex
	stopCount uint64 // cancels pending starts
	status    Status
	changed   chan struct{} // closed and replaced when the status changes
}

// Errors of commands.
var (
	ErrAlreadyStarted = errors.New("it is started already")
	ErrStopping       = errors.New("it is being stopped")
	ErrNotRunning     = errors.New("it is not running")

	ErrUnserved = errors.New("the unit is shutting down")
	ErrRemoved  = errors.New("it is no longer in the configuration")
	ErrHeld     = errors.New("its configuration is being changed")
)

// command is a function to be run by the owner of a program.
type command struct {
	do    func(context.Context, *owner) error
	reply chan error
}

// Start starts the program with additional environment variables for this run.
func (p *Program) Start(ctx context.Context, env []string) error {
	return p.sendCommand(ctx, func(ctx context.Context, o *owner) error {
		switch before := o.machine.process; {
		case o.neverStart:
			return ErrUnserved
		case o.held:
			return ErrHeld
		case !before.InRunningSet() && before != wire.Stopping:
			o.runEnv = env
		}
		return o.step(ctx, event{kind: startAsked})
	})
}

// Stop begins to stop the program; Await with Status.StopAnswered waits for the end.
func (p *Program) Stop(ctx context.Context) error {
	return p.sendCommand(ctx, func(ctx context.Context, o *owner) error { return o.step(ctx, event{kind: stopAsked}) })
}

// Signal signals the main process, or its oldest descendant if it has exited.
func (p *Program) Signal(ctx context.Context, sig syscall.Signal) error {
	return p.sendCommand(ctx, func(_ context.Context, o *owner) error { return o.signalMain(sig, false) })
}

// Finish begins a stop if anything runs, and prevents any further start.
func (p *Program) Finish(ctx context.Context) error {
	return p.sendCommand(ctx, func(ctx context.Context, o *owner) error {
		o.neverStart = true
		if o.machine.process.InRunningSet() || o.machine.failing {
			return o.step(ctx, event{kind: stopAsked})
		}
		return nil
	})
}

// Hold prevents starts until Release. It returns ErrAlreadyStarted unless the program is at rest.
func (p *Program) Hold(ctx context.Context) error {
	return p.sendCommand(ctx, func(_ context.Context, o *owner) error {
		if !o.machine.process.InStoppedSet() {
			return ErrAlreadyStarted
		}
		o.held = true
		return nil
	})
}

// Release ends Hold.
func (p *Program) Release(ctx context.Context) error {
	return p.sendCommand(ctx, func(_ context.Context, o *owner) error {
		o.held = false
		return nil
	})
}

// Unserved returns a channel that is closed when the program accepts no commands any more.
func (p *Program) Unserved() <-chan struct{} { return p.serveDone }

// Remove makes Serve return and waits for that. Reloads use it.
func (p *Program) Remove() {
	close(p.removed)
	<-p.serveDone
}

// sendCommand sends a command and waits for its result. It returns the error of ctx only if the
// command was never received. After that the result comes soon and is awaited: a client that lost
// the response to its start request cannot stop the program.
func (p *Program) sendCommand(ctx context.Context, do func(context.Context, *owner) error) error {
	c := command{do: do, reply: make(chan error, 1)}
	select {
	case p.commands <- c:
	case <-p.serveDone:
		return p.unservedError()
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-c.reply:
		return err
	case <-p.serveDone:
		return p.unservedError()
	}
}

// unservedError returns why the program is not served any more.
func (p *Program) unservedError() error {
	select {
	case <-p.removed:
		return ErrRemoved
	default:
		return ErrUnserved
	}
}

// Settings returns the latest configuration. Settings that require a restart are those the program
// was created with.
func (p *Program) Settings() *config.Program { return p.settings.Load() }

// Configure applies the settings that require no restart.
func (p *Program) Configure(cfg *config.Program) {
	p.settings.Store(cfg)
	p.LimitLogs()
}

// Kind returns the kind of operation that the program implements.
func (p *Program) Kind() protocol.Kind { return p.cfg.Kind }

// Config returns the configuration that the program was created with.
func (p *Program) Config() *config.Program { return p.cfg }

// Name returns "GROUP:NAME".
func (p *Program) Name() string { return p.cfg.Group + ":" + p.cfg.Name }

// Namespec returns the name that clients use: NAME alone if the group has the same name.
func (p *Program) Namespec() string {
	if p.cfg.Group == p.cfg.Name {
		return p.cfg.Name
	}
	return p.Name()
}

// IsListener reports whether the program is an event listener.
func (p *Program) IsListener() bool { return p.pool != nil }

// Quiesce lets an event listener that is about to be stopped process its pending events until it is
// idle for the given time, at most for its stopwaitsecs.
func (p *Program) Quiesce(ctx context.Context, idle time.Duration) {
	if p.pool == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, p.StopWait())
	defer cancel()
	p.pool.Quiet(ctx, idle)
}

// StopWait returns stopwaitsecs.
func (p *Program) StopWait() time.Duration {
	return time.Duration(p.Settings().StopWaitSecs) * time.Second
}

// eventProcess describes the process in events.
func (p *Program) eventProcess() events.Process {
	return events.Process{Name: p.cfg.Name, Group: p.cfg.Group}
}

// LimitLogs applies the configured rotation. If both streams share a log, the settings of stdout
// apply.
func (p *Program) LimitLogs() {
	c := p.Settings()
	if p.stderrLog != nil {
		p.stderrLog.Limit(logs.Options{MaxBytes: c.Stderr.MaxBytes, Backups: c.Stderr.Backups})
	}
	if p.stdoutLog != nil {
		p.stdoutLog.Limit(logs.Options{MaxBytes: c.Stdout.MaxBytes, Backups: c.Stdout.Backups})
	}
}

// Close closes the logs of a program that is not used any more.
func (p *Program) Close() error {
	var errs []error
	for _, f := range p.Logs() {
		errs = append(errs, p.table.files.Release(f))
	}
	return errors.Join(errs...)
}
