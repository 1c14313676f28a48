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

// Program is one configured process. The goroutine that serves it owns it; its
// methods are for everybody else.
type Program struct {
	cfg    *config.Program                // that it was made with; see Settings
	live   atomic.Pointer[config.Program] // the latest
	number proctree.Program
	table  *Table
	pool   *events.Pool // nil: the process is not an event listener
	tally  tally
	streams

	commands chan command
	emptied  chan uint64   // the run that has no descendants left
	verdicts chan verdict  // has room for one
	removed  chan struct{} // closed by Remove
	unserved chan struct{} // closed when Serve has returned

	mu      sync.Mutex
	stops   uint64 // of starts that waited
	status  Status
	changed chan struct{} // closed and replaced when the status changes
}

// What a program answers to a command.
var (
	ErrAlreadyStarted = errors.New("it is started already")
	ErrStopping       = errors.New("it is being stopped")
	ErrNotRunning     = errors.New("it is not running")

	ErrUnserved = errors.New("the unit is shutting down")
	ErrRemoved  = errors.New("it is not in the configuration any more")
	ErrHeld     = errors.New("its configuration is being changed")
)

// command is what the owner of a program is told to do.
type command struct {
	do    func(context.Context, *owner) error
	reply chan error
}

// Start starts the program, with more environment for this run.
func (p *Program) Start(ctx context.Context, env []string) error {
	return p.tell(ctx, func(ctx context.Context, o *owner) error {
		switch before := o.machine.process; {
		case o.final:
			return ErrUnserved
		case o.held:
			return ErrHeld
		case !before.InRunningSet() && before != wire.Stopping:
			o.extra = env
		}
		return o.step(ctx, event{what: startAsked})
	})
}

// Stop begins to stop the program: Await with Status.StopAnswered tells its end.
func (p *Program) Stop(ctx context.Context) error {
	return p.tell(ctx, func(ctx context.Context, o *owner) error { return o.step(ctx, event{what: stopAsked}) })
}

// Signal signals the main process, or, where that has ended, the oldest that it left.
func (p *Program) Signal(ctx context.Context, sig syscall.Signal) error {
	return p.tell(ctx, func(_ context.Context, o *owner) error { return o.signalMain(sig, false) })
}

// Finish begins a stop, if anything runs, and never starts the program again.
func (p *Program) Finish(ctx context.Context) error {
	return p.tell(ctx, func(ctx context.Context, o *owner) error {
		o.final = true
		if o.machine.process.InRunningSet() || o.machine.failing {
			return o.step(ctx, event{what: stopAsked})
		}
		return nil
	})
}

// Hold keeps the program from being started until Release. It is refused with
// ErrAlreadyStarted unless the program is at rest.
func (p *Program) Hold(ctx context.Context) error {
	return p.tell(ctx, func(_ context.Context, o *owner) error {
		if !o.machine.process.InStoppedSet() {
			return ErrAlreadyStarted
		}
		o.held = true
		return nil
	})
}

// Release ends Hold.
func (p *Program) Release(ctx context.Context) error {
	return p.tell(ctx, func(_ context.Context, o *owner) error {
		o.held = false
		return nil
	})
}

// Remove ends Serve, and waits for that, because a reload takes the program out of use.
func (p *Program) Remove() {
	close(p.removed)
	<-p.unserved
}

// tell sends a command and waits for its answer, which is not its end. The error
// of ctx says that the program never got the command: once it has, its answer
// comes soon and is waited for, since who does not know of a start that he asked
// for cannot see to its stop either.
func (p *Program) tell(ctx context.Context, do func(context.Context, *owner) error) error {
	c := command{do: do, reply: make(chan error, 1)}
	select {
	case p.commands <- c:
	case <-p.unserved:
		return p.over()
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-c.reply:
		return err
	case <-p.unserved:
		return p.over()
	}
}

// over is why a program is no longer served.
func (p *Program) over() error {
	select {
	case <-p.removed:
		return ErrRemoved
	default:
		return ErrUnserved
	}
}

// Settings are the latest that is configured. What only a start can change is
// as the program was made with.
func (p *Program) Settings() *config.Program { return p.live.Load() }

// Configure applies what of a configuration takes no restart.
func (p *Program) Configure(cfg *config.Program) {
	p.live.Store(cfg)
	p.LimitLogs()
}

// Kind is what kind of operation the program is.
func (p *Program) Kind() protocol.Kind { return p.cfg.Kind }

// Config is what the program was made with.
func (p *Program) Config() *config.Program { return p.cfg }

// Name is the process's full name.
func (p *Program) Name() string { return p.cfg.Group + ":" + p.cfg.Name }

// Namespec is the name that clients use: p for process p of group p.
func (p *Program) Namespec() string {
	if p.cfg.Group == p.cfg.Name {
		return p.cfg.Name
	}
	return p.Name()
}

// Quiesce lets an event listener that is about to be stopped take the events
// that wait for it, as long as it does, and no longer than its stop may take.
func (p *Program) Quiesce(ctx context.Context, idle time.Duration) {
	if p.pool == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, p.StopWait())
	defer cancel()
	p.pool.Quiet(ctx, idle)
}

// StopWait is the program's stopwaitsecs.
func (p *Program) StopWait() time.Duration {
	return time.Duration(p.Settings().StopWaitSecs) * time.Second
}

// eventful names the process in events.
func (p *Program) eventful() events.Process {
	return events.Process{Name: p.cfg.Name, Group: p.cfg.Group}
}

// LimitLogs makes the logs rotate as configured. Where both streams share a
// log, stdout's configuration counts.
func (p *Program) LimitLogs() {
	c := p.Settings()
	if p.stderrLog != nil {
		p.stderrLog.Limit(logs.Options{MaxBytes: c.Stderr.MaxBytes, Backups: c.Stderr.Backups})
	}
	if p.stdoutLog != nil {
		p.stdoutLog.Limit(logs.Options{MaxBytes: c.Stdout.MaxBytes, Backups: c.Stdout.Backups})
	}
}

// Close gives up the logs of a program that is not used any more.
func (p *Program) Close() error {
	var errs []error
	for _, f := range p.Logs() {
		errs = append(errs, p.table.files.Release(f))
	}
	return errors.Join(errs...)
}
