package process

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/toskose/toskose/tosca/protocol"
	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/events"
	"github.com/toskose/toskose/unit/logs"
	"github.com/toskose/toskose/unit/proctree"
	"github.com/toskose/toskose/unit/reaper"
	"github.com/toskose/toskose/unit/wire"
)

// Options are what a Table is made of.
type Options struct {
	Logger *slog.Logger
	Now    func() time.Time

	Env       map[string]string // that every process gets, without the unit's credentials
	ServerURL string            // SUPERVISOR_SERVER_URL, where a program has none of its own

	LogDir     string // of logs whose names are made up
	Identifier string // of the unit, in these names
	StripANSI  bool   // escape sequences are no part of logs
	Debug      bool   // what programs print goes to Logger, too

	NoCoreMark bool // processes have no mark in their coredump_filter

	Events *events.Hub

	// Ended is called when an essential program has come to rest by itself, by
	// the goroutine that owns the program, with the code that the container is
	// to end with.
	Ended func(p *Program, state wire.ProcessState, code int)
}

// Table is the programs of one container, with what they share. It knows whose
// the marks of processes are: a program's name keeps its number as long as the
// unit lives, also when a reload removes it or puts another program in its
// place, because processes that bear the mark may be there still.
type Table struct {
	sockets sockets
	o       Options
	log     *slog.Logger
	reaper  *reaper.Reaper
	tree    *proctree.Tree
	console *logs.Console // where output is copied to
	opening sync.Mutex    // held while the pipes of one start are opened
	drained Broadcast     // children were reaped
	changes Broadcast     // the status of a program is another one
	files   logs.Set

	mu       sync.Mutex
	numbers  map[string]proctree.Program // by "group:process"
	relays   map[string][]*logs.Spool    // of event listeners, by their names
	byNumber []*Program                  // by number - 1: the latest of the name; nil: never came into use
}

// NewTable makes this process a subreaper where it is not PID 1. One process
// can have one Table only.
func NewTable(o Options) (*Table, error) {
	t := &Table{o: o, log: o.Logger, console: logs.NewConsole(o.Now), relays: map[string][]*logs.Spool{}}
	still := func(do func(forked func(pid int) bool)) { t.reaper.Still(do) }
	tree, err := proctree.New(proctree.Options{NoCoreMark: o.NoCoreMark, Still: still})
	if err != nil {
		return nil, err
	}
	t.tree = tree
	if why := tree.Degraded(); why != nil {
		o.Logger.Warn("processes are marked by their environment only", "error", why)
	}
	t.reaper, err = reaper.New(reaper.Options{Orphan: t.orphaned, Drained: func() {
		tree.Drained()
		t.drained.Wake()
	}})
	return t, err
}

// Reap waits for children until ctx ends.
func (t *Table) Reap(ctx context.Context) error { return t.reaper.Run(ctx) }

// orphaned is called by the reaper.
func (t *Table) orphaned(pid int, exit Exit, cpu time.Duration) {
	program := t.tree.Owner(pid)
	if markedFor(program) == program { // not of a check
		if owner := t.Owner(program); owner != nil {
			owner.orphaned(pid, exit)
			owner.tally.spend(cpu)
		}
	}
	t.log.Debug("orphan ended", "pid", pid, "exit", exit)
}

// Program makes a program and its logs; pool is nil where it is not an event
// listener. It comes into use by Enlist and Serve; one that never does is given
// up by Close.
func (t *Table) Program(cfg *config.Program, pool *events.Pool) (*Program, error) {
	number, err := t.number(cfg.Group + ":" + cfg.Name)
	if err != nil {
		return nil, err
	}
	p := &Program{
		cfg: cfg, number: number, table: t, pool: pool,
		commands: make(chan command), emptied: make(chan uint64), verdicts: make(chan verdict, 1),
		removed: make(chan struct{}), unserved: make(chan struct{}), changed: make(chan struct{}),
	}
	p.live.Store(cfg)
	p.stdoutLog = t.logFile(cfg, cfg.Stdout, wire.Stdout)
	if !cfg.RedirectStderr {
		p.stderrLog = t.logFile(cfg, cfg.Stderr, wire.Stderr)
	}
	return p, nil
}

// logFile makes a program's log. One that cannot be made does not keep the
// program from running.
func (t *Table) logFile(cfg *config.Program, l config.Log, stream wire.Stream) *logs.File {
	path := l.Path
	switch l.Kind {
	case config.LogNone:
		return nil
	case config.LogAuto:
		var err error
		if path, err = logs.AutoFile(t.o.LogDir, cfg.Name, string(stream), t.o.Identifier); err != nil {
			t.log.Warn("cannot make a log", "component", cfg.Group, "operation", cfg.Name, "error", err)
			return nil
		}
	case config.LogFile:
	}
	o := logs.Options{MaxBytes: l.MaxBytes, Backups: l.Backups}
	if cfg.Kind != protocol.KindNone { // others' folders are as Supervisor's
		o.Now = t.o.Now
	}
	return t.files.File(path, o)
}

// number returns the number of a name, a new one for a new name.
func (t *Table) number(name string) (proctree.Program, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if number, ok := t.numbers[name]; ok {
		return number, nil
	}
	number := proctree.Program(len(t.byNumber) + 1)
	if number > proctree.MaxProgram/2 { // the other half marks their checks
		return 0, fmt.Errorf("cannot supervise more than %d processes", proctree.MaxProgram/2)
	}
	if t.numbers == nil {
		t.numbers = map[string]proctree.Program{}
	}
	t.numbers[name] = number
	t.byNumber = append(t.byNumber, nil)
	return number, nil
}

// Enlist makes programs the ones that their names stand for.
func (t *Table) Enlist(programs []*Program) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range programs {
		t.byNumber[p.number-1] = p
	}
}

// Owner returns the program that a process belongs to, which a reload may have
// removed; nil: no mark claims the process.
func (t *Table) Owner(mark proctree.Program) *Program {
	t.mu.Lock()
	defer t.mu.Unlock()
	number := markedFor(mark)
	if number == proctree.Unclaimed || int(number) > len(t.byNumber) {
		return nil
	}
	return t.byNumber[number-1]
}

// representative is the program that processes of p's component belong to that are
// known as the component's, but not as those of one of its programs: the one that
// starts it. A program without a component represents itself.
func (t *Table) representative(p *Program) proctree.Program {
	if p.Kind() == protocol.KindNone {
		return p.number
	}
	for _, q := range t.all() {
		if q.Kind() == protocol.KindStart && q.cfg.Component == p.cfg.Component {
			return q.number
		}
	}
	return proctree.Unclaimed
}

// all returns every program that there ever was, by number.
func (t *Table) all() []*Program {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := slices.Clone(t.byNumber)
	return slices.DeleteFunc(all, func(p *Program) bool { return p == nil })
}

// Processes returns every process of the container; Owner knows whose it is.
func (t *Table) Processes() ([]proctree.Process, error) { return t.tree.Scan() }

// EndAll ends everything in the container that is alive, whoever it belongs to:
// by TERM, and by KILL what is left of it after the grace, or after the longest
// one that a program has.
func (t *Table) EndAll(ctx context.Context, grace time.Duration) {
	everyone := []proctree.Program{proctree.Unclaimed}
	for _, p := range t.all() {
		everyone = append(everyone, p.number)
		grace = max(grace, p.StopWait())
	}
	// KILL ends what it reaches at once; what is stuck in the kernel is left to it.
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

// ConsoleStats counts what the container's own output took.
func (t *Table) ConsoleStats(stream wire.Stream) logs.Stats { return t.console.Stats(stream) }

// Close takes in what programs printed last.
func (t *Table) Close() {
	for _, p := range t.all() {
		p.Output().sync()
	}
}
