package manager

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"time"

	"github.com/toskose/toskose/manager/fleet"
	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/keep"
	"github.com/toskose/toskose/manager/logs"
	"github.com/toskose/toskose/manager/mirror"
	"github.com/toskose/toskose/manager/removed"
	"github.com/toskose/toskose/manager/series"
	"github.com/toskose/toskose/manager/topology"
	"github.com/toskose/toskose/manager/traces"
	"github.com/toskose/toskose/manager/unitclient"
	"github.com/toskose/toskose/manager/view"
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/unit/wire"
)

// Containers finds containers; *discovery.DNS implements it.
type Containers = mirror.Containers

// Options configure an App. A zero duration or number means its default.
type Options struct {
	Containers Containers
	Passwords  func(node string) []string // of a unit, read for each request: the first is used, and the others if the unit refuses it
	// SecretKey reads the file with the secrets that sign documents, one per line; the first is the current one. If
	// nil, documents are neither signed nor verified.
	SecretKey func() ([]byte, error)
	// Audit receives audit log entries that are not about requests; it may be nil.
	Audit  func(keep.Notice)
	Limits unitclient.Limits
	TLS    *tls.Config // for requests to units; nil: plain HTTP
	Logger *slog.Logger
	Traces *traces.Traces // where executions and ways to goals are exported; nil: nowhere

	Poll     time.Duration // how long a long poll of a unit waits; 50 s
	Patience time.Duration // how long a unit may be unresponsive during an execution; 30 s
	Backoff  time.Duration // delay before a retry; doubles up to 2 s; 100 ms
	Discover time.Duration // interval between lookups of a node's replicas; 1 s
	Settle   time.Duration // how long a response is delayed until reads show its effect; 1 s
	Remember int           // how many ended executions are kept; 1,000
	Sample   time.Duration // interval between samples of all components; 15 s
	Exchange time.Duration // interval between looks at the stored history of removed containers; 2 s
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Poll <= 0 {
		o.Poll = 50 * time.Second
	}
	if o.Patience <= 0 {
		o.Patience = 30 * time.Second
	}
	if o.Backoff <= 0 {
		o.Backoff = 100 * time.Millisecond
	}
	if o.Settle <= 0 {
		o.Settle = time.Second
	}
	if o.Sample <= 0 {
		o.Sample = series.Interval
	}
	if o.Remember <= 0 {
		o.Remember = 1000
	}
	return o
}

// App is one application. Its methods are safe for concurrent use.
type App struct {
	Goals
	Control
	Logs

	model   *topology.Application
	fleet   *fleet.Fleet
	rules   *view.Rules
	shown   shown
	engine  *fleet.Engine
	drawing Drawing
	series  *series.Series
}

// New returns the manager of an application. The application's document must be valid.
func New(app *spec.Application, opts Options) (*App, error) {
	opts = opts.withDefaults()
	if opts.Containers == nil {
		return nil, errors.New("manager: Options.Containers is missing")
	}
	model, err := topology.New(app, opts.Passwords)
	if err != nil {
		return nil, err
	}
	goals := goalModel(app)
	a := &App{model: model, drawing: newDrawing(app), series: series.New()}
	clock := goal.NewClock(nil)
	observer := goal.NewObserver(digests(app), clock)
	a.rules = view.NewRules(goals, observer, func() *goal.Document { return a.keeper.Document() }, clock)
	a.fleet = fleet.New(fleet.Options{
		Model: model, Containers: opts.Containers, Limits: opts.Limits, TLS: opts.TLS, Logger: opts.Logger,
		Poll: opts.Poll, Patience: opts.Patience, Backoff: opts.Backoff, Discover: opts.Discover, Settle: opts.Settle,
	})
	a.engine = fleet.NewEngine(a.fleet, opts.Remember)
	a.Control = Control{model, a.fleet}
	a.Logs = Logs{model, a.fleet, logs.New(model, a.fleet)}
	a.Goals = Goals{model: goals, fleet: a.fleet, rules: a.rules, now: clock.Now}
	a.standard = app.Goal
	keys := signingKeys(opts)
	w := world{model, a.fleet, observer, a.engine}
	a.keeper = keep.New(keep.Options{
		Model: goals, Observe: w.observe, Copies: w.copies(wire.GoalDocument), Targets: w.copies(wire.TargetsDocument),
		UnitName: unitNames(app), Execute: w.execute, Now: clock.Now, Keys: keys, Report: opts.Audit, Default: a.standard, Logger: opts.Logger, Patience: opts.Patience, Retry: time.Second,
	})
	a.fleet.Go(a.keeper.Run)
	a.fleet.Go(removed.New(removed.Options{
		Interval: opts.Exchange, Removed: a.fleet.Removed, Recall: a.fleet.Recall, Snapshot: a.fleet.Snapshot, Copies: w.copies(wire.RemovedDocument),
		Keys: keys, Logger: opts.Logger,
	}).Run)
	a.fleet.Go(a.sampleSeries(opts.Sample))
	if opts.Traces != nil {
		a.exportTraces(opts.Traces)
	}
	if len(goals.Tasks) > 0 {
		a.fleet.Go(a.publishTasks)
	}
	return a, nil
}

// Close ends every wait. Running executions continue on the units, and their journals record how they end.
func (a *App) Close() { a.fleet.Close() }
