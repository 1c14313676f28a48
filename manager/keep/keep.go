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

	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/signature"
	"github.com/toskose/toskose/unit/wire"
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
	store     store
	announcer announcer
	leases    leases
	poked     chan struct{}

	mu       sync.Mutex
	begun    time.Time
	acting   bool
	acted    bool // has acted once: from then on a majority is enough
	flights  map[place]*flight
	decision *goal.Decision
	observed goal.Situation
	last     <-chan struct{} // the superseded channel of the last decision's situation
	stale    bool            // something else has changed since
	changed  chan struct{}   // closed with every decision
	working  sync.WaitGroup
	standard *goal.Document                // the default goal, with the holds and other records that the units store
	standing *goal.Document                // the document from which standard was derived
	holds    atomic.Pointer[goal.Document] // for callers that do not wait for the lock
	asked    wire.Revision                 // of the last document requested from this manager
	chain    int                           // counts requested documents that were not derived from this manager's previous one
}

// place is a component on a replica.
type place struct{ instance, component string }

// flight is a step that was requested and has not been observed to end.
type flight struct {
	step goal.Step
	seq  uint64 // of its end; 0: still running
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
	if opts.Report == nil {
		opts.Report = func(Notice) {}
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	k := &Keeper{
		opts: opts, poked: make(chan struct{}, 1), leases: leases{}, flights: map[place]*flight{},
		decision: &goal.Decision{}, changed: make(chan struct{}),
	}
	k.store = store{
		copies: map[string]*held{}, keys: opts.Keys, report: opts.Report, open: opts.Copies, locked: k.locked, working: &k.working, retry: opts.Retry, log: opts.Logger,
	}
	k.store.trivial = len(opts.Model.Node) == 0
	k.nodes = slices.Compact(slices.Sorted(maps.Values(opts.Model.Node)))
	k.announcer = announcer{opts: opts, kept: k.store.kept, locked: k.locked, working: &k.working, told: map[string]*told{}}
	return k
}

// Run reconciles the application until ctx ends. Running operations continue on the units.
func (k *Keeper) Run(ctx context.Context) {
	defer k.working.Wait()
	k.listen(ctx)
	for ctx.Err() == nil {
		began := time.Now()
		s, superseded := k.opts.Observe()
		wake := k.turn(ctx, s, superseded)
		pause(ctx, min(time.Since(began), 100*time.Millisecond)) // uses at most half of a core
		timer := time.NewTimer(max(0, time.Until(wake)))
		select {
		case <-superseded:
		case <-k.poked:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// hush is how long the Keeper stays idle while some nodes are unknown. With very many replicas, sending requests
// earlier would take longer than discovering them.
const hush = time.Second

// listen returns when all nodes are known, a client changes the goal, or hush is over.
func (k *Keeper) listen(ctx context.Context) {
	over := time.NewTimer(hush)
	defer over.Stop()
	for {
		began := time.Now()
		s, superseded := k.opts.Observe()
		if s.Complete {
			return
		}
		pause(ctx, min(10*time.Since(began), 100*time.Millisecond))
		select {
		case <-superseded:
		case <-k.poked:
			return
		case <-over.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// look is how often the goal is evaluated without other events.
const look = time.Second

// turn distributes the goal and, if anything has changed since the last decision, decides. It returns when to run
// again if nothing happens.
func (k *Keeper) turn(ctx context.Context, s goal.Situation, superseded <-chan struct{}) time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.begun.IsZero() {
		k.begun = s.Now
	}
	k.observed = s
	k.store.follow(ctx, s)
	waited := k.acted || s.Now.Sub(k.begun) >= k.opts.Patience
	acting := k.store.enough(s, waited)
	k.store.adoptUnsigned(s, k.nodes, acting)
	if acting != k.acting {
		k.acting, k.acted, k.stale = acting, true, true
		k.opts.Logger.Info("the goal", "acting", acting, "replicas", len(s.Replicas), "missing", len(s.Missing))
	}
	if acting && k.store.signAnew() {
		k.stale = true
	}
	if acting {
		k.endExpired(s.Now)
	}
	defer k.announcer.follow(ctx, s)
	due := !k.decision.Wake.IsZero() && !s.Now.Before(k.decision.Wake)
	if superseded == k.last && !k.stale && !due {
		return k.wake(s.Now)
	}
	k.last, k.stale = superseded, false
	document := k.document()
	k.holds.Store(document)
	seen := k.overlay(s)
	d := k.opts.Model.Continue(ctx, k.decision, document, seen)
	if k.acting {
		k.announcer.decide(d.Targets)
		if len(d.Holds)+len(d.Resumed) > 0 {
			k.store.hold(d.Holds, d.Resumed, s.Now)
			k.stale = true
		}
		if len(d.Records) > 0 {
			k.store.record(d.Records, s.Now)
			k.stale = true
		}
		for _, step := range d.Steps {
			k.begin(ctx, step)
		}
	}
	k.decision = d
	close(k.changed)
	k.changed = make(chan struct{})
	return k.wake(s.Now)
}

// wake returns when to run again if nothing happens. The caller holds the lock.
func (k *Keeper) wake(now time.Time) time.Time {
	next := now.Add(look)
	if at := k.decision.Wake; !at.IsZero() && at.Before(next) {
		return at
	}
	return next
}

// document returns the current goal: the units', or the default with their holds; nil if there is none. The caller
// holds the lock.
func (k *Keeper) document() *goal.Document {
	d := k.store.document
	if k.opts.Default == "" || d != nil && (d.All != "" || len(d.States) > 0) {
		return d
	}
	if k.standard == nil || k.standing != d {
		with := goal.Document{}
		if d != nil {
			with = *d
		}
		with.All = k.opts.Default
		k.standard, k.standing = &with, d
	}
	return k.standard
}

// overlay adds this Keeper's more recent knowledge to a situation: its own operations, and replicas that do not store
// the goal yet. The caller holds the lock.
func (k *Keeper) overlay(s goal.Situation) goal.Situation {
	s.Replicas = slices.Clone(s.Replicas)
	there := map[place]bool{}
	for i := range s.Replicas {
		r := &s.Replicas[i]
		if r.Problem == "" && !k.store.kept(r.Instance) {
			r.Problem = "it does not keep the goal yet"
		}
		for name, c := range r.Components {
			at := place{r.Instance, name}
			f := k.flights[at]
			if f == nil {
				continue
			}
			if there[at] = true; f.seq > 0 && c.Seq >= f.seq {
				delete(k.flights, at)
				continue
			}
			if c.Executing == nil {
				r.Components = with(r.Components, name, goal.Run{ID: f.step.ID, Operation: f.step.Operation, From: c.State})
			}
		}
	}
	for at, f := range k.flights {
		if !there[at] && f.seq > 0 { // its container was removed
			delete(k.flights, at)
		}
	}
	return s
}

// with returns a copy of the components in which one is executing an operation.
func with(components map[string]goal.Component, name string, x goal.Run) map[string]goal.Component {
	more := make(map[string]goal.Component, len(components))
	for other, c := range components {
		more[other] = c
	}
	c := more[name]
	c.Executing = &x
	more[name] = c
	return more
}

// begin runs a step. The caller holds the lock.
func (k *Keeper) begin(ctx context.Context, step goal.Step) {
	at := place{step.Instance, step.Component}
	f := &flight{step: step}
	k.flights[at] = f
	k.opts.Logger.Info("the goal asks", "node", step.Node, "instance", step.Instance, "component", step.Component,
		"operation", step.Operation.String(), "execution", step.ID)
	k.working.Go(func() {
		seq, err := k.opts.Execute(ctx, step)
		if err != nil {
			k.opts.Logger.Warn("the goal's operation", "component", step.Component, "operation", step.Operation.String(),
				"instance", step.Instance, "error", err)
			pause(ctx, k.opts.Retry)
		}
		k.locked(func() (changed bool) {
			if f.seq = seq; seq == 0 {
				delete(k.flights, at)
			}
			return true
		})
	})
}

// locked calls do under the lock, and makes Run decide again if do returns true.
func (k *Keeper) locked(do func() (changed bool)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if do() {
		k.poke()
	}
}

// poke makes Run decide again. The caller holds the lock.
func (k *Keeper) poke() {
	k.stale = true
	select {
	case k.poked <- struct{}{}:
	default:
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
