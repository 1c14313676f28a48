package unit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/events"
	"github.com/toskose/toskose/unit/journal"
	"github.com/toskose/toskose/unit/logs"
	"github.com/toskose/toskose/unit/proctree"
	"github.com/toskose/toskose/unit/reaper"
	"github.com/toskose/toskose/unit/wire"
)

// Options are what a Unit is made of.
type Options struct {
	Config *config.Config
	Env    map[string]string // of the unit; children get it without its credentials
	Logger *slog.Logger      // nil: nothing is logged
	Log    *logs.File        // the unit's own log, to be read by clients; nil: none
	Now    func() time.Time  // nil: time.Now

	Version string // of the unit, for its metrics

	// Reread reads the configuration again; nil: it cannot be. Its error is
	// shown to clients.
	Reread func() (*config.Config, []config.Warning, error)
}

// Unit supervises the processes of one container.
type Unit struct {
	*world
	config  *config.Config // that the unit was started with
	reread  func() (*config.Config, []config.Warning, error)
	labels  map[string]string
	version string
	ownLog  *logs.File
	names   directory
	roster  roster
	logs    logs.Set
	journal *journal.Journal
	signals *listener // from New on: one that comes before Run must not end the unit by itself
	ledger  *ledger

	// arranging is held for writing while the configuration in use changes, and
	// for reading while an operation is found and admitted, so that none begins
	// with a program or a protocol that is being replaced.
	arranging sync.RWMutex
	rereading sync.Mutex    // one reload at a time
	available []arrangement // as last read; behind arranging

	state  atomic.Int64 // a wire.DaemonState
	booted time.Time
	life   context.Context // of programs and executions; ends when all is over
	die    context.CancelFunc
	tasks  sync.WaitGroup // goroutines that carry executions and wait for stops
	served sync.WaitGroup // goroutines that own programs
	begun  chan struct{}  // closed when every program is served
	ended  chan struct{}  // closed by Shutdown and Restart
	once   sync.Once
	fate   *EssentialError // why it ended, set before ended is closed; nil: it was asked to
}

// ErrRestart is what Run returns when the unit is to be begun anew, by
// executing itself.
var ErrRestart = errors.New("a restart was asked for")

// New makes a unit: it becomes a subreaper where it is not PID 1, and opens the
// journal. One process can have one unit only.
func New(o Options) (*Unit, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	tree, err := proctree.New(proctree.Options{})
	if err != nil {
		return nil, err
	}
	if why := tree.Degraded(); why != nil {
		o.Logger.Warn("processes are marked by their environment only", "error", why)
	}
	u := &Unit{
		world: &world{
			log: o.Logger, tree: tree, now: o.Now, env: inherited(o.Env), url: serverURL(o.Config),
			console: &console{log: o.Logger, now: o.Now},
		},
		config: o.Config, reread: o.Reread, available: arrangements(o.Config), labels: labels(o.Env), version: o.Version, ownLog: o.Log,
		booted: o.Now(), begun: make(chan struct{}), ended: make(chan struct{}),
	}
	u.lost = u.gaveOut
	u.signals = listen()
	if err := withstand(); err != nil {
		u.log.Warn("a signal of real time may end the unit", "error", err)
	}
	u.life, u.die = context.WithCancel(context.Background())
	u.state.Store(int64(wire.DaemonRunning))
	if u.reaper, err = reaper.New(reaper.Options{Orphan: u.orphaned, Drained: u.reaped}); err != nil {
		return nil, err
	}
	if err := u.build(); err != nil {
		return nil, err
	}
	if err := u.openJournal(); err != nil {
		return nil, err
	}
	return u, nil
}

// openJournal takes up what an earlier life of the container has written.
func (u *Unit) openJournal() error {
	lifecycles := map[string]lifecycle{}
	for _, g := range u.names.every() {
		if g.component != nil {
			lifecycles[g.name] = g.lifecycle()
		}
	}
	u.ledger = newLedger(u.log, u.now, lifecycles)
	opened, replay, err := journal.Open(u.config.Supervisord.Journal, journal.Options{
		Checkpoint: u.ledger.checkpoint, Apply: u.ledger.apply, Now: u.now,
	})
	if err != nil {
		return fmt.Errorf("cannot open the journal: %w", err)
	}
	for _, note := range replay.Notes {
		u.log.Warn("journal repaired", "note", note)
	}
	u.journal = opened
	u.ledger.attach(opened, replay.Entries)
	// Before anyone can ask: what is known is of an earlier life until then.
	if err := u.ledger.started(); err != nil {
		u.log.Error("the boot waits in memory", "error", err)
	}
	return nil
}

// orphaned and reaped are called by the reaper.
func (u *Unit) orphaned(pid int, exit reaper.Exit) {
	p, err := u.tree.Identify(pid)
	if err == nil && markedFor(p.Program) == p.Program { // not of a check
		if owner := u.roster.owner(p.Program); owner != nil {
			owner.orphaned(pid, exit)
			owner.tally.spend(p.CPU + p.Waited)
		}
	}
	u.log.Debug("orphan ended", "pid", pid, "exit", exit.String())
}

func (u *Unit) reaped() {
	u.tree.Drained()
	u.drained.wake()
}

// Run supervises until ctx ends, a signal or Shutdown ends it, and returns when
// every process has ended: nil, ErrRestart, or an *EssentialError. Call it once.
func (u *Unit) Run(ctx context.Context) error {
	reaping, stopReaping := context.WithCancel(context.WithoutCancel(ctx))
	var reaperDone sync.WaitGroup
	reaperDone.Go(func() {
		if err := u.reaper.Run(reaping); err != nil {
			u.log.Error("cannot reap", "error", err)
			u.end(wire.DaemonFatal)
		}
	})
	u.serve(u.names.inOrder()) //nolint:contextcheck // programs end with the unit's life, not with ctx, which is why they are stopped
	close(u.begun)
	defer u.signals.close()
	u.tasks.Go(func() { u.events.Tick(u.life, u.now) })
	u.events.Emit(events.Event{Type: events.SupervisorStateChangeRunning})
	u.tasks.Go(u.begin)

	u.untilEnd(ctx)
	u.arranging.Lock()   // a change that was under way is complete; there will be no other
	u.arranging.Unlock() //nolint:staticcheck // as said
	u.stopAll()          //nolint:contextcheck // the end of ctx is why everything is stopped, not how
	u.settle()
	u.die()
	u.served.Wait()
	u.tasks.Wait()
	stopReaping()
	reaperDone.Wait()
	return errors.Join(u.closeFiles(), u.verdict())
}

// begin records the boot, where that was not possible yet, and starts what
// starts by itself.
func (u *Unit) begin() {
	if err := u.ledger.insist(u.life, u.ledger.boot); err != nil {
		return
	}
	u.autostart(u.names.inOrder())
}

// serve begins to own programs.
func (u *Unit) serve(programs []*program) {
	for _, p := range programs {
		ctx, quit := context.WithCancel(u.life)
		p.quit = quit
		u.served.Go(func() {
			defer quit()
			p.serve(ctx)
		})
	}
}

// autostart starts the programs that start by themselves and never ran.
func (u *Unit) autostart(programs []*program) {
	for _, p := range programs {
		if s, _ := p.observe(); !p.settings().Autostart || s.run > 0 || u.serving() != nil {
			continue
		}
		var err error
		if p.rules.kind == wire.OperationNone {
			err = p.tell(u.life, command{kind: commandStart})
		} else {
			_, err = u.startingOperation(u.life, p)
		}
		if err != nil && !errors.Is(err, errAlreadyStarted) {
			u.log.Error("cannot start by itself", "process", p.name(), "error", err)
		}
	}
}

// untilEnd handles signals until the end is asked for.
func (u *Unit) untilEnd(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			u.end(wire.DaemonShutdown)
			return
		case <-u.ended:
			return
		case sig := <-u.signals.received:
			u.handle(sig)
		}
	}
}

// end begins the end, once.
func (u *Unit) end(state wire.DaemonState) { u.finish(state, nil) }

func (u *Unit) finish(state wire.DaemonState, fate *EssentialError) {
	u.once.Do(func() {
		u.fate = fate
		u.state.Store(int64(state))
		u.events.Emit(events.Event{Type: events.SupervisorStateChangeStopping})
		close(u.ended)
	})
}

// verdict is what Run says of how it came to its end.
func (u *Unit) verdict() error {
	switch u.State() {
	case wire.DaemonRestarting:
		return ErrRestart
	case wire.DaemonFatal:
		return errors.New("children cannot be waited for")
	case wire.DaemonShutdown, wire.DaemonRunning:
	}
	if u.fate != nil {
		return u.fate
	}
	return nil
}

func (u *Unit) closeFiles() error {
	u.closeConsole()
	return errors.Join(u.journal.Close(), u.release(u.names.inOrder()))
}

// Identification is the configured identifier.
func (u *Unit) Identification() string { return u.config.Supervisord.Identifier }

// PID is the unit's own.
func (u *Unit) PID() int { return os.Getpid() }

// State is the unit's own, by Supervisor's numbers. Below DaemonRunning every
// method of Supervisor's that acts on processes is the fault ShutdownState.
func (u *Unit) State() wire.DaemonState { return wire.DaemonState(u.state.Load()) }

// serving is a fault while the unit ends.
func (u *Unit) serving() error {
	if u.State() < wire.DaemonRunning {
		return wire.NewFault(wire.ShutdownState, "")
	}
	return nil
}

// Shutdown begins the end; Run returns when it is done.
func (u *Unit) Shutdown() error {
	if err := u.serving(); err != nil {
		return err
	}
	u.end(wire.DaemonShutdown)
	return nil
}

// Restart ends every process; Run returns ErrRestart then.
func (u *Unit) Restart() error {
	if err := u.serving(); err != nil {
		return err
	}
	u.end(wire.DaemonRestarting)
	return nil
}

// Healthy tells whether the unit works: nil, or why not, with nothing secret in it.
func (u *Unit) Healthy() error {
	if s := u.State(); s != wire.DaemonRunning {
		return fmt.Errorf("the unit is in state %s", s)
	}
	return nil
}
