package process

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/events"
	"github.com/toskose/toskose/unit/logs"
	"github.com/toskose/toskose/unit/proctree"
	"github.com/toskose/toskose/unit/reaper"
	"github.com/toskose/toskose/unit/wire"
)

// Options configure a Table.
type Options struct {
	Logger *slog.Logger
	Now    func() time.Time

	Env       map[string]string // of every process, without the unit's credentials
	ServerURL string            // default of SUPERVISOR_SERVER_URL

	LogDir     string // folder of AUTO logs
	Identifier string // of the unit; part of the names of AUTO logs
	StripANSI  bool   // remove escape sequences from logs
	Debug      bool   // also write the output of programs to Logger

	NoCoreMark bool // do not mark processes in coredump_filter

	Events *events.Hub

	// Ended is called by the owner of an essential program that has stopped without being asked to.
	// code is the exit code of the container.
	Ended func(p *Program, state wire.ProcessState, code int)
	// Unlive is called by the owner of a program that is not live, and whose toskose_live_then is exit.
	Unlive func(p *Program, why string)
}

// Table holds the programs of one container and their shared state. It resolves the marks of
// processes: a program name keeps its number for the life of the unit, even after a reload removes
// or replaces the program, since marked processes may still exist.
type Table struct {
	sockets sockets
	opts    Options
	log     *slog.Logger
	reaper  *reaper.Reaper
	tree    *proctree.Tree
	console *logs.Console // the container's output
	opening sync.Mutex    // held while a start opens its pipes
	drained Broadcast     // notified when children were reaped
	changes Broadcast     // notified when the status of a program changes
	files   logs.Set

	mu          sync.Mutex
	numbers     map[string]proctree.Program // by "group:process"
	relaySpools map[string][]*logs.Spool    // of event listeners, by name
	byNumber    []*Program                  // by number - 1: the latest of each name; nil if never registered
}

// NewTable makes this process a subreaper unless it is PID 1. A process can have one Table only.
func NewTable(o Options) (*Table, error) {
	t := &Table{opts: o, log: o.Logger, console: logs.NewConsole(o.Now), relaySpools: map[string][]*logs.Spool{}}
	still := func(do func(forked func(pid int) bool)) { t.reaper.Freeze(do) }
	tree, err := proctree.New(proctree.Options{NoCoreMark: o.NoCoreMark, Freeze: still})
	if err != nil {
		return nil, err
	}
	t.tree = tree
	if why := tree.Degraded(); why != nil {
		o.Logger.Warn("processes are marked by their environment only", "error", why)
	}
	t.reaper, err = reaper.New(reaper.Options{Orphan: t.handleOrphan, Drained: func() {
		tree.Drained()
		t.drained.Notify()
	}})
	return t, err
}

// Reap reaps children until ctx ends.
func (t *Table) Reap(ctx context.Context) error { return t.reaper.Run(ctx) }

// handleOrphan is called by the reaper.
func (t *Table) handleOrphan(pid int, exit Exit, cpu time.Duration) {
	program := t.tree.Owner(pid)
	if programOfMark(program) == program { // not of a check
		if owner := t.Owner(program); owner != nil {
			owner.recordOrphan(pid, exit)
			owner.counters.addCPU(cpu)
		}
	}
	t.log.Debug("orphan ended", "pid", pid, "exit", exit)
}

// Program creates a program and its logs; pool is nil unless it is an event listener. Register and
// Serve put it in use; call Close if it never is.
func (t *Table) Program(cfg *config.Program, pool *events.Pool) (*Program, error) {
	number, err := t.number(cfg.Group + ":" + cfg.Name)
	if err != nil {
		return nil, err
	}
	p := &Program{
		cfg: cfg, number: number, table: t, pool: pool,
		commands: make(chan command), descendantsGone: make(chan uint64), checkResults: make(chan checkResult, 1), liveResults: make(chan liveResult, 1),
		removed: make(chan struct{}), serveDone: make(chan struct{}), changed: make(chan struct{}),
	}
	p.settings.Store(cfg)
	p.stdoutLog = t.logFile(cfg, cfg.Stdout, wire.Stdout)
	if !cfg.RedirectStderr {
		p.stderrLog = t.logFile(cfg, cfg.Stderr, wire.Stderr)
	}
	return p, nil
}

// logFile opens a program's log. The program runs even if that fails.
func (t *Table) logFile(cfg *config.Program, l config.Log, stream wire.Stream) *logs.File {
	path := l.Path
	switch l.Kind {
	case config.LogNone:
		return nil
	case config.LogAuto:
		var err error
		if path, err = logs.AutoFile(t.opts.LogDir, cfg.Name, string(stream), t.opts.Identifier); err != nil {
			t.log.Warn("cannot make a log", "component", cfg.Group, "operation", cfg.Name, "error", err)
			return nil
		}
	case config.LogFile:
	}
	o := logs.Options{MaxBytes: l.MaxBytes, Backups: l.Backups}
	if cfg.Kind != protocol.KindNone { // other folders are created as Supervisor creates them
		o.Now = t.opts.Now
	}
	return t.files.File(path, o)
}

// number returns the number of a name, assigning one to a new name.
func (t *Table) number(name string) (proctree.Program, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if number, ok := t.numbers[name]; ok {
		return number, nil
	}
	number := proctree.Program(len(t.byNumber) + 1)
	if number > proctree.MaxProgram/2 { // the upper half marks checks
		return 0, fmt.Errorf("cannot supervise more than %d processes", proctree.MaxProgram/2)
	}
	if t.numbers == nil {
		t.numbers = map[string]proctree.Program{}
	}
	t.numbers[name] = number
	t.byNumber = append(t.byNumber, nil)
	return number, nil
}

// Register makes programs the current ones of their names.
func (t *Table) Register(programs []*Program) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range programs {
		t.byNumber[p.number-1] = p
	}
}

// Owner returns the program that a mark belongs to, even if a reload has removed it, or nil.
func (t *Table) Owner(mark proctree.Program) *Program {
	t.mu.Lock()
	defer t.mu.Unlock()
	number := programOfMark(mark)
	if number == proctree.Unclaimed || int(number) > len(t.byNumber) {
		return nil
	}
	return t.byNumber[number-1]
}

// representative returns the program to which processes of p's component belong when their program
// is unknown: the one that starts the component, or p itself if it has no component.
func (t *Table) representative(p *Program) proctree.Program {
	if p.Kind() == protocol.KindNone {
		return p.number
	}
	for _, q := range t.allPrograms() {
		if q.Kind() == protocol.KindStart && q.cfg.Component == p.cfg.Component {
			return q.number
		}
	}
	return proctree.Unclaimed
}

// allPrograms returns every program ever registered, by number.
func (t *Table) allPrograms() []*Program {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := slices.Clone(t.byNumber)
	return slices.DeleteFunc(all, func(p *Program) bool { return p == nil })
}

// Processes returns every process of the container; see Owner.
func (t *Table) Processes() ([]proctree.Process, error) { return t.tree.Scan() }

// EndAll ends every process in the container by TERM, then by KILL after the grace period or the
// longest one of a program.
func (t *Table) EndAll(ctx context.Context, grace time.Duration) {
	everyone := []proctree.Program{proctree.Unclaimed}
	for _, p := range t.allPrograms() {
		everyone = append(everyone, p.number)
		grace = max(grace, p.StopWait())
	}
	// KILL takes effect at once, except on processes stuck in the kernel.
	ctx, cancel := context.WithTimeout(ctx, grace+time.Second)
	defer cancel()
	ended, err := t.tree.End(ctx, everyone, grace)
	if err != nil {
		t.log.Error("cannot end all processes", "error", err)
	}
	for _, s := range ended.Signalled {
		t.log.Info("ended", "pid", s.Process.PID, "command", s.Process.Command, "signal", s.Signal.String())
	}
}

// ConsoleStats returns the counters of the container's output.
func (t *Table) ConsoleStats(stream wire.Stream) logs.Stats { return t.console.Stats(stream) }

// Close collects the last output of the programs.
func (t *Table) Close() {
	for _, p := range t.allPrograms() {
		p.Output().sync()
	}
}
