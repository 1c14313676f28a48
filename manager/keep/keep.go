package keep

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toskose/toskose/internal/sleep"
	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/signature"
)

// Options configure a Keeper. A zero duration means its default.
type Options struct {
	Model *goal.Model
	// Observe returns the current situation, and a channel that is closed when it is outdated.
	Observe func() (goal.Situation, <-chan struct{})
	// Copies returns access to the goal that a replica stores.
	Copies func(node, instance string) Copies
	// Targets returns access to the targets of a replica's container, as wire.Targets: they tell its unit when the
	// container is ready for clients.
	Targets func(node, instance string) Copies
	// UnitName returns the name of a component in its unit; nil: the same.
	UnitName func(component string) string
	// Execute runs a step and returns when it has ended, with the number of the journal entry that records the end; 0
	// if unknown, with the error.
	Execute func(ctx context.Context, step goal.Step) (seq uint64, err error)
	Now     func() time.Time // the clock of the observations; nil: the machine's
	// Default is the goal if no unit stores a document: goal.Up, or none.
	Default string
	// Keys returns the keys that sign and verify documents; nil: documents are not signed.
	Keys func() signature.Keys
	// Report receives audit log entries; it may be nil.
	Report func(Notice)
	Logger *slog.Logger

	Patience time.Duration // how long to wait for all replicas before a majority is enough; 30 s
	Retry    time.Duration // delay before a failed request is retried; 1 s
}

// Keeper reconciles one application with its goal. Its methods are safe for concurrent use.
type Keeper struct {
	opts      Options
	nodes     []string // that host components, sorted
	store     *store
	announcer *announcer
	running   *runningSteps
	evaluated *evaluations
	working   sync.WaitGroup

	stale atomic.Bool   // something other than the situation has changed since the last evaluation
	wake  chan struct{} // makes Run evaluate the goal again

	// Run's goroutine owns these.
	begun  time.Time
	leases leases
}

// New returns a Keeper that is idle until Run.
func New(opts Options) *Keeper {
	opts.Patience = cmp.Or(opts.Patience, 30*time.Second)
	opts.Retry = cmp.Or(opts.Retry, time.Second)
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Keys == nil {
		opts.Keys = func() signature.Keys { return nil }
	}
	if opts.UnitName == nil {
		opts.UnitName = func(component string) string { return component }
	}
	if opts.Report == nil {
		opts.Report = func(Notice) {}
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	k := &Keeper{
		opts: opts, nodes: slices.Compact(slices.Sorted(maps.Values(opts.Model.Node))),
		running: newRunningSteps(), evaluated: newEvaluations(), leases: leases{}, wake: make(chan struct{}, 1),
	}
	k.store = &store{opts: opts, copies: map[string]*copyState{}, changed: k.evaluateSoon, working: &k.working}
	k.announcer = &announcer{opts: opts, store: k.store, changed: k.evaluateSoon, working: &k.working, received: map[string]*receivedTargets{}}
	return k
}

// Run reconciles the application until ctx ends. Running operations continue on the units.
func (k *Keeper) Run(ctx context.Context) {
	defer k.working.Wait()
	k.awaitDiscovery(ctx)
	for ctx.Err() == nil {
		began := time.Now()
		s, superseded := k.opts.Observe()
		again := k.evaluate(ctx, s, superseded)
		_ = sleep.For(ctx, min(time.Since(began), 100*time.Millisecond)) // uses at most half of a core
		timer := time.NewTimer(max(0, time.Until(again)))
		select {
		case <-superseded:
		case <-k.wake:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// quietPeriod is how long the Keeper stays idle while some nodes are unknown. With very many replicas, sending
// requests earlier would take longer than discovering them.
const quietPeriod = time.Second

// awaitDiscovery returns when all nodes are known, a client changes the goal, or the quiet period is over.
func (k *Keeper) awaitDiscovery(ctx context.Context) {
	over := time.NewTimer(quietPeriod)
	defer over.Stop()
	for {
		began := time.Now()
		s, superseded := k.opts.Observe()
		if s.Complete {
			return
		}
		_ = sleep.For(ctx, min(10*time.Since(began), 100*time.Millisecond))
		select {
		case <-superseded:
		case <-k.wake:
			return
		case <-over.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// evaluationInterval is how often the goal is evaluated without other events.
const evaluationInterval = time.Second

// evaluate distributes the goal and, if anything has changed since the last decision, decides. It returns when to
// run again if nothing happens.
func (k *Keeper) evaluate(ctx context.Context, s goal.Situation, superseded <-chan struct{}) time.Time {
	if k.begun.IsZero() {
		k.begun = s.Now
	}
	last := k.evaluated.observe(s)
	k.store.exchange(ctx, s)
	acting := k.store.reported(s, last.acted || s.Now.Sub(k.begun) >= k.opts.Patience)
	k.store.adoptUnsigned(s, k.nodes, acting)
	stale := k.stale.Swap(false)
	if acting != last.acting {
		stale = true
		k.opts.Logger.Info("the goal", "acting", acting, "replicas", len(s.Replicas), "missing", len(s.Missing))
	}
	if acting {
		stale = k.store.signAnew() || stale
		stale = k.endExpired(s.Now) || stale
	}
	defer k.announcer.send(ctx, s)
	due := !last.decision.Wake.IsZero() && !s.Now.Before(last.decision.Wake)
	if superseded == last.superseded && !stale && !due {
		return nextEvaluation(last.decision, s.Now)
	}
	document := k.store.current()
	d := k.opts.Model.Continue(ctx, last.decision, document, k.overlay(s))
	if acting {
		k.announcer.decide(d.Targets)
		k.carryOut(ctx, document, d, s.Now)
	}
	k.evaluated.publish(acting, d, superseded)
	return nextEvaluation(d, s.Now)
}

// carryOut stores the changes of a decision and starts its steps, unless a client has changed the goal meanwhile.
func (k *Keeper) carryOut(ctx context.Context, document *goal.Document, d *goal.Decision, now time.Time) {
	current := k.store.ifCurrent(document, func() {
		if len(d.Holds)+len(d.Resumed) > 0 {
			k.store.hold(d.Holds, d.Resumed, now)
			k.stale.Store(true)
		}
		if len(d.Records) > 0 {
			k.store.record(d.Records, now)
			k.stale.Store(true)
		}
		for _, step := range d.Steps {
			k.start(ctx, step)
		}
	})
	if !current {
		k.evaluateSoon()
	}
}

// nextEvaluation returns when to evaluate the goal again if nothing happens.
func nextEvaluation(d *goal.Decision, now time.Time) time.Time {
	next := now.Add(evaluationInterval)
	if at := d.Wake; !at.IsZero() && at.Before(next) {
		return at
	}
	return next
}

// overlay adds this Keeper's more recent knowledge to a situation: its own operations, and replicas that do not store
// the goal yet.
func (k *Keeper) overlay(s goal.Situation) goal.Situation {
	s.Replicas = slices.Clone(s.Replicas)
	for i := range s.Replicas {
		r := &s.Replicas[i]
		if r.Problem == "" && !k.store.isCurrent(r.Instance) {
			r.Problem = "it does not keep the goal yet"
		}
	}
	k.running.overlay(s)
	return s
}

// start runs a step.
func (k *Keeper) start(ctx context.Context, step goal.Step) {
	running := k.running.add(step)
	k.opts.Logger.Info("the goal starts an operation", "node", step.Node, "instance", step.Instance, "component", step.Component,
		"operation", step.Operation.String(), "execution", step.ID)
	k.working.Go(func() {
		seq, err := k.opts.Execute(ctx, step)
		if err != nil {
			k.opts.Logger.Warn("the goal's operation", "component", step.Component, "operation", step.Operation.String(),
				"instance", step.Instance, "error", err)
			_ = sleep.For(ctx, k.opts.Retry)
		}
		k.running.end(running, seq)
		k.evaluateSoon()
	})
}

// evaluateSoon makes Run evaluate the goal again.
func (k *Keeper) evaluateSoon() {
	k.stale.Store(true)
	select {
	case k.wake <- struct{}{}:
	default:
	}
}
