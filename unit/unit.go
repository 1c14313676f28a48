package unit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toskose/toskose/tosca/protocol"
	"github.com/toskose/toskose/unit/component"
	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/documents"
	"github.com/toskose/toskose/unit/events"
	"github.com/toskose/toskose/unit/logs"
	"github.com/toskose/toskose/unit/process"
	"github.com/toskose/toskose/unit/sigaction"
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

// core is what all parts of a Unit share.
type core struct {
	log        *slog.Logger
	now        func() time.Time
	config     *config.Config // that the unit was started with
	events     events.Hub
	programs   *process.Table
	names      directory
	tied       tied
	components *component.Set
	state      atomic.Int64 // a wire.DaemonState
	booted     time.Time
	digest     atomic.Value    // string: of the configuration that was read last
	life       context.Context // of programs and executions; ends when all is over
	tasks      sync.WaitGroup  // goroutines that wait for stops, or emit

	// changing is held for writing while the configuration in use changes, and
	// for reading while an operation is found and admitted, so that none begins
	// with a program or a protocol that is being replaced.
	changing sync.RWMutex
}

// Unit supervises the processes of one container. Its parts have the methods
// that clients call, by their nouns.
type Unit struct {
	*core
	Processes
	Groups
	Logs
	Executions

	version string
	signals chan os.Signal // from New on: one that comes before Run must not end the unit by itself
	die     context.CancelFunc
	ended   chan struct{} // closed by Shutdown and Restart
	once    sync.Once
	fate    *EssentialError // why it ended, set before ended is closed; nil: it was asked to
	job     *job            // nil: the container is not there for one Task
	done    atomic.Bool     // the job is completed
}

// ErrRestart is what Run returns when the unit is to be begun anew, by
// executing itself.
var ErrRestart = errors.New("a restart was asked for")

// EssentialError is what Run returns when an essential program ended by itself, or the
// container's job was not completed, and with it the unit.
type EssentialError struct {
	Process string // GROUP:NAME
	Code    int    // what the container is to end with: its exit code, or 128 and the signal's number
	State   wire.ProcessState
	Why     string // of a job; empty: it is of a program
}

func (e *EssentialError) Error() string {
	if e.Why != "" {
		return fmt.Sprintf("%s, so the unit ends with %d", e.Why, e.Code)
	}
	return fmt.Sprintf("the essential process %s is %s, so the unit ends with %d", e.Process, e.State, e.Code)
}

// New makes a unit: it becomes a subreaper where it is not PID 1, and opens the
// journal. One process can have one unit only.
func New(o Options) (*Unit, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	c := &core{log: o.Logger, now: o.Now, config: o.Config, booted: o.Now()}
	c.digest.Store(o.Config.Digest)
	u := &Unit{
		core: c, Processes: Processes{c}, Logs: Logs{c, o.Log}, Executions: Executions{c, labels(o.Env), keep(documents.Folder{Path: o.Config.Supervisord.Documents, Owner: owner(o.Env)})},
		version: o.Version, signals: receiveSignals(), ended: make(chan struct{}),
	}
	u.job = newJob(c, o.Env)
	u.Groups = Groups{
		core: c, processes: &u.Processes, reread: o.Reread, available: groupConfigs(o.Config), begun: make(chan struct{}),
	}
	if err := errors.Join(sigaction.HandleRealtime(), sigaction.IgnoreSentFaults()); err != nil {
		u.log.Warn("a signal may end the unit", "error", err)
	}
	u.life, u.die = context.WithCancel(context.Background())
	u.state.Store(int64(wire.DaemonRunning))
	var err error
	u.programs, err = process.NewTable(process.Options{
		Logger: o.Logger, Now: o.Now, Env: inherited(o.Env), ServerURL: serverURL(o.Config),
		LogDir: o.Config.Supervisord.ChildLogDir, Identifier: o.Config.Supervisord.Identifier, StripANSI: o.Config.Supervisord.StripANSI,
		Debug:      o.Config.Supervisord.LogLevel.Slog() <= slog.LevelDebug,
		NoCoreMark: !o.Config.Supervisord.CoreMark, Events: &u.events, Ended: u.essentialEnded,
	})
	if err != nil {
		return nil, err
	}
	if err := u.build(); err != nil {
		return nil, err
	}
	return u, u.openComponents()
}

// openComponents takes up where an earlier life of the container has left them.
func (u *Unit) openComponents() (err error) {
	definitions := map[string]component.Definition{}
	for _, g := range u.names.every() {
		if g.component != nil {
			definitions[g.name] = g.definition()
		}
	}
	u.components, err = component.Open(component.Options{
		Logger: u.log, Now: u.now, Folder: u.config.Supervisord.Journal, Life: u.life, Serving: u.serving,
	}, definitions)
	return err
}

// Run supervises until ctx ends, a signal or Shutdown ends it, and returns when
// every process has ended: nil, ErrRestart, or an *EssentialError. Call it once.
func (u *Unit) Run(ctx context.Context) error {
	reaping, stopReaping := context.WithCancel(context.WithoutCancel(ctx))
	var reaperDone sync.WaitGroup
	reaperDone.Go(func() {
		if err := u.programs.Reap(reaping); err != nil {
			u.log.Error("cannot reap", "error", err)
			u.end(wire.DaemonFatal)
		}
	})
	u.serve(u.names.inOrder())
	close(u.begun)
	defer signal.Stop(u.signals)
	u.tasks.Go(func() { u.events.Tick(u.life, u.now) })
	u.events.Emit(events.Event{Type: events.SupervisorStateChangeRunning})
	u.tasks.Go(u.begin)

	u.untilEnd(ctx)
	u.changing.Lock()   // a change that was under way is complete; there will be no other
	u.changing.Unlock() //nolint:staticcheck // as said
	u.stopAll()
	u.components.Settle()
	u.die()
	u.served.Wait()
	u.tasks.Wait()
	stopReaping()
	reaperDone.Wait()
	return errors.Join(u.closeFiles(), u.verdict())
}

// begin starts what starts by itself. Where the boot could not be recorded yet,
// only operations wait until it is.
func (u *Unit) begin() {
	if !u.components.Booted() {
		u.autostart(slices.DeleteFunc(slices.Clone(u.names.inOrder()), func(p *process.Program) bool {
			return p.Kind() != protocol.KindNone
		}))
	}
	if err := u.components.Boot(); err != nil {
		return
	}
	u.autostart(u.names.inOrder())
	if u.job != nil {
		u.tasks.Go(func() {
			fate := u.job.run()
			u.done.Store(fate == nil)
			u.finish(wire.DaemonShutdown, fate)
		})
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
		case sig := <-u.signals:
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
		u.programs.Notify()
	})
}

// essentialEnded ends the unit because an essential program has ended by itself.
func (u *Unit) essentialEnded(p *process.Program, state wire.ProcessState, code int) {
	u.log.Error("an essential process has ended", "process", p.Name(), "state", state.String(), "code", code)
	u.finish(wire.DaemonShutdown, &EssentialError{Process: p.Name(), State: state, Code: code})
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
	if u.job != nil && !u.done.Load() {
		return &EssentialError{Code: jobEnded, Why: fmt.Sprintf("%s was not completed", u.job.Task)}
	}
	return nil
}

func (u *Unit) closeFiles() error {
	u.programs.Close()
	return errors.Join(u.components.Close(), closeLogs(u.names.inOrder()))
}

// Identification is the configured identifier.
func (u *Unit) Identification() string { return u.config.Supervisord.Identifier }

// PID is the unit's own.
func (u *Unit) PID() int { return os.Getpid() }

// State is the unit's own, by Supervisor's numbers. Below DaemonRunning every
// method of Supervisor's that acts on processes is the fault ShutdownState.
func (u *core) State() wire.DaemonState { return wire.DaemonState(u.state.Load()) }

// serving is a fault while the unit ends.
func (u *core) serving() error {
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

// SendRemoteCommEvent tells the listeners that subscribed to
// REMOTE_COMMUNICATION what a client has to say, also while the unit shuts down.
func (u *Unit) SendRemoteCommEvent(kind, data string) error {
	u.events.Emit(events.Remote(kind, data))
	return nil
}

// Healthy reports whether the unit works: nil, or why not, with nothing secret in it.
func (u *Unit) Healthy() error {
	if s := u.State(); s != wire.DaemonRunning {
		return fmt.Errorf("the unit is in state %s", s)
	}
	return nil
}
