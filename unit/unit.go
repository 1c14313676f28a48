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

	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/component"
	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/documents"
	"github.com/toskose/toskose/unit/events"
	"github.com/toskose/toskose/unit/logs"
	"github.com/toskose/toskose/unit/process"
	"github.com/toskose/toskose/unit/sigaction"
	"github.com/toskose/toskose/unit/wire"
)

// Options configure a Unit.
type Options struct {
	Config *config.Config
	Env    map[string]string // of the unit; children get it without its credentials
	// Joined means that the unit joins an application by its environment: children see none of its
	// variables, and ordinary programs are components.
	Joined bool
	Logger *slog.Logger     // nil: no logging
	Log    *logs.File       // the unit's own log, for clients; may be nil
	Now    func() time.Time // nil: time.Now

	Version string // of the unit, for its metrics

	// Terminated receives the signals that end the unit, from [ReceiveTermination]; nil: New subscribes.
	Terminated <-chan os.Signal
	// Reread reads the configuration again; nil if there is no file. Its error is returned to
	// clients.
	Reread func() (*config.Config, []config.Warning, error)
}

// core is the state shared by all parts of a Unit.
type core struct {
	log        *slog.Logger
	now        func() time.Time
	config     *config.Config // as at the start of the unit
	events     events.Hub
	programs   *process.Table
	names      directory
	tied       stoppedPrograms
	components *component.Set
	state      atomic.Int64 // a wire.DaemonState
	booted     time.Time
	digest     atomic.Value    // string: of the configuration that was last read
	lifetime   context.Context // context of programs and executions
	joined     bool            // ordinary programs are components
	tasks      sync.WaitGroup  // goroutines that wait for stops or emit events

	// changing is held for writing while the configuration in use changes, and for reading while an
	// operation is found and admitted, so that none begins with a program or a protocol that is
	// being replaced.
	changing sync.RWMutex
}

// Unit supervises the processes of one container. Its embedded parts have the methods for clients.
type Unit struct {
	*core
	Processes
	Groups
	Logs
	Reports
	component.Operations

	version     string
	terminated  <-chan os.Signal // see Options
	signals     chan os.Signal   // subscribed from New on: a signal before Run must not end the process
	endLifetime context.CancelFunc
	ended       chan struct{} // closed when the unit begins to end
	once        sync.Once
	exitReason  *EssentialError // why it ends, set before ended is closed; nil if it was requested
	job         *job            // nil unless the container exists for one Task
	done        atomic.Bool     // the job is completed
}

// ErrRestart is returned by Run when the unit must be executed again.
var ErrRestart = errors.New("a restart was requested")

// EssentialError is returned by Run when the unit ended because an essential program exited, because
// a program was not live whose toskose_live_then is exit, or because the container's job was not
// completed.
type EssentialError struct {
	Process string // GROUP:NAME
	Code    int    // exit code for the container: that of the program, or 128 plus the signal number
	State   wire.ProcessState
	Why     string // of a job, or of a program that is not live; empty if a program exited
}

func (e *EssentialError) Error() string {
	if e.Why != "" {
		return fmt.Sprintf("%s, so the unit ends with %d", e.Why, e.Code)
	}
	return fmt.Sprintf("the essential process %s is %s, so the unit ends with %d", e.Process, e.State, e.Code)
}

// New creates a unit: it makes the process a subreaper unless it is PID 1, and opens the journal. A
// process can have one unit only.
func New(o Options) (*Unit, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Terminated == nil {
		o.Terminated = ReceiveTermination()
	}
	c := &core{log: o.Logger, now: o.Now, config: o.Config, booted: o.Now(), joined: o.Joined}
	c.digest.Store(o.Config.Digest)
	u := &Unit{
		core: c, Processes: Processes{c}, Logs: Logs{c, o.Log}, Reports: Reports{c, labels(o.Env), newDocumentStore(documents.Folder{Path: o.Config.Supervisord.Documents, Owner: owner(o.Env)})},
		version: o.Version, signals: receiveSignals(), terminated: o.Terminated, ended: make(chan struct{}),
	}
	u.job = newJob(c, o.Env)
	u.Groups = Groups{
		core: c, processes: &u.Processes, reread: o.Reread, available: groupConfigs(o.Config), allServed: make(chan struct{}),
	}
	if err := errors.Join(sigaction.HandleRealtime(), sigaction.IgnoreSentFaults()); err != nil {
		u.log.Warn("a signal may end the unit", "error", err)
	}
	u.lifetime, u.endLifetime = context.WithCancel(context.Background())
	u.state.Store(int64(wire.DaemonRunning))
	var err error
	u.programs, err = process.NewTable(process.Options{
		Logger: o.Logger, Now: o.Now, Env: inherited(o.Env, o.Joined), ServerURL: serverURL(o.Config),
		LogDir: o.Config.Supervisord.ChildLogDir, Identifier: o.Config.Supervisord.Identifier, StripANSI: o.Config.Supervisord.StripANSI,
		Debug:      o.Config.Supervisord.LogLevel.Slog() <= slog.LevelDebug,
		NoCoreMark: !o.Config.Supervisord.CoreMark, Events: &u.events, Ended: u.handleEssentialExit, Unlive: u.handleUnlive,
	})
	if err != nil {
		return nil, err
	}
	if err := u.build(); err != nil {
		return nil, err
	}
	return u, u.openComponents()
}

// openComponents restores the components from the journal.
func (u *Unit) openComponents() (err error) {
	definitions := map[string]component.Definition{}
	for _, g := range u.names.allGroups() {
		if g.component != nil {
			definitions[g.name] = g.definition()
		}
		for _, p := range u.ordinary(g.programs) {
			definitions[p.Namespec()] = component.Definition{Program: p}
		}
	}
	u.components, err = component.Open(component.Options{
		Logger: u.log, Now: u.now, Folder: u.config.Supervisord.Journal, Life: u.lifetime, Serving: u.serving, Changing: &u.changing,
	}, definitions)
	if err == nil {
		u.Operations = u.components.Operations()
	}
	return err
}

// Run supervises until ctx ends or a signal or Shutdown ends it. It returns when every process has
// ended: nil, ErrRestart, or an *EssentialError. Call it once.
func (u *Unit) Run(ctx context.Context) error {
	reaping, stopReaping := context.WithCancel(context.WithoutCancel(ctx))
	var reaperDone sync.WaitGroup
	reaperDone.Go(func() {
		if err := u.programs.Reap(reaping); err != nil {
			u.log.Error("cannot reap", "error", err)
			u.beginEnd(wire.DaemonFatal)
		}
	})
	u.serve(u.names.inOrder())
	close(u.allServed)
	u.observe(u.names.inOrder())
	u.recordLiveness(u.names.inOrder())
	defer signal.Stop(u.signals)
	u.tasks.Go(func() { u.events.Tick(u.lifetime, u.now) })
	u.events.Emit(events.Event{Type: events.SupervisorStateChangeRunning})
	u.tasks.Go(u.begin)

	u.handleSignals(ctx)
	u.changing.Lock()   // wait for a change in progress; there will be no other
	u.changing.Unlock() //nolint:staticcheck // as said
	u.stopAll()
	u.components.Settle()
	u.endLifetime()
	u.served.Wait()
	u.tasks.Wait()
	stopReaping()
	reaperDone.Wait()
	return errors.Join(u.closeFiles(), u.runError())
}

// begin starts the programs with autostart. If the boot cannot be recorded yet, only operations
// wait for that.
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
			u.beginEndWith(wire.DaemonShutdown, fate)
		})
	}
}

// handleSignals handles signals until the unit begins to end.
func (u *Unit) handleSignals(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			u.beginEnd(wire.DaemonShutdown)
			return
		case <-u.ended:
			return
		case sig := <-u.terminated:
			u.handle(sig)
		case sig := <-u.signals:
			u.handle(sig)
		}
	}
}

// beginEnd begins to end the unit, once.
func (u *Unit) beginEnd(state wire.DaemonState) { u.beginEndWith(state, nil) }

func (u *Unit) beginEndWith(state wire.DaemonState, fate *EssentialError) {
	u.once.Do(func() {
		u.exitReason = fate
		u.state.Store(int64(state))
		u.events.Emit(events.Event{Type: events.SupervisorStateChangeStopping})
		close(u.ended)
		u.programs.Notify()
	})
}

// handleEssentialExit ends the unit because an essential program has exited.
func (u *Unit) handleEssentialExit(p *process.Program, state wire.ProcessState, code int) {
	u.log.Error("an essential process has ended", "process", p.Name(), "state", state.String(), "code", code)
	u.beginEndWith(wire.DaemonShutdown, &EssentialError{Process: p.Name(), State: state, Code: code})
}

// handleUnlive ends the unit because a program is not live, so that the orchestrator replaces the
// container.
func (u *Unit) handleUnlive(p *process.Program, why string) {
	u.log.Error("a process is not live, which ends the unit", "process", p.Name(), "why", why)
	u.beginEndWith(wire.DaemonShutdown, &EssentialError{Code: 1, Why: fmt.Sprintf("%s is not live: %s", p.Name(), why)})
}

// runError returns the result of Run.
func (u *Unit) runError() error {
	switch u.State() {
	case wire.DaemonRestarting:
		return ErrRestart
	case wire.DaemonFatal:
		return errors.New("children cannot be waited for")
	case wire.DaemonShutdown, wire.DaemonRunning:
	}
	if u.exitReason != nil {
		return u.exitReason
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

// Identification returns the configured identifier.
func (u *Unit) Identification() string { return u.config.Supervisord.Identifier }

// PID returns the unit's process id.
func (u *Unit) PID() int { return os.Getpid() }

// State returns the unit's own state with Supervisor's number. Below DaemonRunning, Supervisor's
// methods for processes return the fault ShutdownState.
func (u *core) State() wire.DaemonState { return wire.DaemonState(u.state.Load()) }

// serving returns a fault while the unit is ending.
func (u *core) serving() error {
	if u.State() < wire.DaemonRunning {
		return wire.NewFault(wire.ShutdownState, "")
	}
	return nil
}

// Shutdown begins to end the unit; Run returns when it has ended.
func (u *Unit) Shutdown() error {
	if err := u.serving(); err != nil {
		return err
	}
	u.beginEnd(wire.DaemonShutdown)
	return nil
}

// Restart ends every process; Run then returns ErrRestart.
func (u *Unit) Restart() error {
	if err := u.serving(); err != nil {
		return err
	}
	u.beginEnd(wire.DaemonRestarting)
	return nil
}

// SendRemoteCommEvent emits an event from a client to the listeners of REMOTE_COMMUNICATION, also
// during a shutdown.
func (u *Unit) SendRemoteCommEvent(kind, data string) error {
	u.events.Emit(events.Remote(kind, data))
	return nil
}

// Healthy returns nil if the unit works, or a reason without secrets.
func (u *Unit) Healthy() error {
	if s := u.State(); s != wire.DaemonRunning {
		return fmt.Errorf("the unit is in state %s", s)
	}
	return nil
}
