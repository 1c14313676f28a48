package keep

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/signature"
)

// Ask is a person's request to change the goal.
type Ask struct {
	All    string            // the state of all components; empty: see States
	States map[string]string // by component, container or group
	Merge  bool              // add to the current goal instead of replacing it
	By     string
}

// Status is the goal, its progress, and its obstacles.
type Status struct {
	Document *goal.Document // nil: none was set
	Default  bool           // the default goal applies, since none was set
	Acting   bool           // false: not enough replicas have reported their stored goals
	Lacking  []string       // replicas that do not store the document
	Rejected []Rejection    // replicas that store an ignored document
	Known    bool           // a replica is known, or there are none
	Decision *goal.Decision
	// Superseded is closed when the observations behind the decision are outdated.
	Superseded <-chan struct{}
	Underway   []goal.Step
	Tasks      map[string]goal.TaskStatus
}

// Status returns the goal and its progress.
func (k *Keeper) Status() Status {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.status()
}

func (k *Keeper) status() Status {
	s := Status{
		Document: k.store.document, Acting: k.acting, Decision: k.decision, Superseded: k.last,
		Default:  k.store.document == nil && k.opts.Default != "",
		Rejected: k.store.rejected(k.observed), Known: k.store.trivial || len(k.observed.Replicas) > 0,
	}
	now := k.observed
	now.Now = k.opts.Now()
	s.Tasks = k.opts.Model.TaskStatuses(k.document(), now)
	if s.Document != nil {
		s.Lacking = k.store.lacking(k.observed)
	}
	for _, f := range k.flights {
		if f.seq == 0 {
			s.Underway = append(s.Underway, f.step)
		}
	}
	slices.SortFunc(s.Underway, func(a, b goal.Step) int {
		return slices.Compare([]string{a.Node, a.Component, a.Instance}, []string{b.Node, b.Component, b.Instance})
	})
	return s
}

// Signing is the state of the goal's signature.
type Signing struct {
	Keys    int  // number of keys that verify it; 0: it is not signed
	Current bool // the first key signed the document that all replicas store, if there is a goal
}

// Signing returns the current state of the goal's signature.
func (k *Keeper) Signing() Signing {
	k.mu.Lock()
	defer k.mu.Unlock()
	keys := k.store.keys()
	// A unit without room for documents does not store one that another key has signed.
	lacks := slices.ContainsFunc(k.observed.Replicas, func(r goal.Replica) bool { return !k.store.kept(r.Instance) })
	current := k.store.document == nil || k.store.key == keys.Current() && !lacks
	return Signing{Keys: len(keys), Current: current}
}

// Document returns the current goal, or nil. It does not wait for a decision in progress.
func (k *Keeper) Document() *goal.Document { return k.holds.Load() }

// Changed returns a channel that is closed after the next evaluation of the goal.
func (k *Keeper) Changed() <-chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.changed
}

// ErrNotKept is returned when a goal was accepted, but a majority of the replicas does not store it yet.
var ErrNotKept = errors.New("not more than half of the replicas keep the goal yet; the others get it when they can be reached")

// Set sets the goal and waits until a majority of the replicas stores it. If ctx ends first, the error is
// ErrNotKept. Components that the goal names are no longer on hold.
func (k *Keeper) Set(ctx context.Context, ask Ask, now time.Time) (Status, error) {
	return k.change(ctx, func(before *goal.Document) (*goal.Document, error) {
		next := &goal.Document{All: ask.All, States: maps.Clone(ask.States), By: ask.By, At: now}
		if before != nil {
			k.opts.merge(next, before, ask)
		}
		return next, nil
	})
}

// ErrTooLarge is returned for a goal that exceeds the size that units accept.
var ErrTooLarge = fmt.Errorf("a goal has at most %d bytes", goal.MaxDocument-signature.MaxSize)

// fits checks that a document does not exceed the size that units accept.
func fits(d *goal.Document) error {
	if text, err := json.Marshal(d); err != nil || len(text)+signature.MaxSize > goal.MaxDocument {
		return errors.Join(ErrTooLarge, err)
	}
	return nil
}

// merge copies the parts that the request does not change from the previous document.
func (o Options) merge(next, before *goal.Document, ask Ask) {
	next.Tasks, next.Leases = before.Tasks, before.Leases
	next.Holds = before.LeasedHolds()
	if ask.Merge {
		next.States = maps.Clone(before.States)
		if next.States == nil {
			next.States = map[string]string{}
		}
		maps.Copy(next.States, ask.States)
		if next.All == "" {
			next.All = before.All
		}
	}
	if ask.Merge || ask.All == "" {
		next.Unknown = before.Unknown
	}
	if ask.All != "" {
		return
	}
	named, _ := o.Model.Targets(&goal.Document{States: ask.States})
	next.Holds = maps.Clone(before.Holds)
	maps.DeleteFunc(next.Holds, func(component string, h goal.Hold) bool { return named[component] != "" && h.Lease == "" })
}

// ErrNoTask is returned for a component that is not a Task.
var ErrNoTask = errors.New("it is no task")

// RunTask makes the completion of a Task part of the goal. Failed indexes are retried once; with again, all
// indexes run once more, including completed ones. RunTask waits as Set does.
func (k *Keeper) RunTask(ctx context.Context, task string, again bool, by string, now time.Time) (Status, error) {
	completed, is := k.opts.Model.TaskState(task)
	if !is {
		return k.Status(), fmt.Errorf("%w: %q", ErrNoTask, task)
	}
	return k.change(ctx, func(*goal.Document) (*goal.Document, error) {
		next := &goal.Document{}
		if before := k.document(); before != nil {
			*next = *before
		}
		if again {
			next = k.opts.Model.Again(next, k.observed, task)
		}
		next.By, next.At = by, now
		next.Holds = maps.Clone(next.Holds)
		delete(next.Holds, task)
		if targets, _ := k.opts.Model.Targets(next); targets[task] != completed {
			next.States = maps.Clone(next.States)
			if next.States == nil {
				next.States = map[string]string{}
			}
			next.States[task] = completed
		}
		return next, nil
	})
}

// Resume removes the holds of the given components, or all.
func (k *Keeper) Resume(ctx context.Context, components []string, by string, now time.Time) (Status, error) {
	return k.change(ctx, func(before *goal.Document) (*goal.Document, error) {
		if before == nil {
			return nil, nil
		}
		for _, c := range components {
			if _, held := before.Holds[c]; !held {
				return nil, fmt.Errorf("%w: %q", ErrNotHeld, c)
			}
		}
		next := *before
		next.By, next.At = by, now
		next.Holds = maps.Clone(before.Holds)
		maps.DeleteFunc(next.Holds, func(component string, _ goal.Hold) bool {
			return len(components) == 0 || slices.Contains(components, component)
		})
		return &next, nil
	})
}

// ErrNotHeld is returned for a component that is not on hold.
var ErrNotHeld = errors.New("it is not on hold")

// next derives the requested document from the previous one, which may be nil; a nil result changes nothing. The
// Keeper's lock is held.
type next func(before *goal.Document) (*goal.Document, error)

// ErrNoEvidence is returned when the latest goal is unknown, so that a new one cannot be derived from it.
var ErrNoEvidence = errors.New("not enough containers have answered to know the latest goal; nothing was changed, try again when they run")

// change stores a requested change as the newest document, and waits as Set does. A new manager first learns the
// latest goal: a change accepted without it could lose parts of it.
func (k *Keeper) change(ctx context.Context, next next) (Status, error) {
	if !k.learn(ctx) {
		return k.Status(), ErrNoEvidence
	}
	k.mu.Lock()
	d, err := k.put(next)
	chain := k.chain
	k.mu.Unlock()
	if err != nil || d == nil {
		return k.Status(), err
	}
	return k.kept(ctx, d, chain, next)
}

// learningTime is how long a new manager waits for the latest goal.
const learningTime = 3 * time.Second

// learn waits until a manager that has never acted knows which goal a majority of the replicas stores. It reports
// whether the goal is known.
func (k *Keeper) learn(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, learningTime)
	defer cancel()
	k.locked(func() bool { return !k.acted }) // do not wait for all nodes to be known
	for {
		changed := k.Changed()
		k.mu.Lock()
		known := k.acted || k.store.enough(k.observed, true)
		k.mu.Unlock()
		if known {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// put stores a requested change as the newest document. The caller holds the lock.
func (k *Keeper) put(next next) (*goal.Document, error) {
	d, err := next(k.store.document)
	if err == nil && d != nil {
		err = fits(d)
	}
	if err != nil || d == nil {
		return nil, err
	}
	if before := k.store.document; before != nil && before.Asked != k.asked {
		k.chain++
	}
	d.Revision = k.store.following()
	d.Asked = d.Revision
	k.asked = d.Asked
	k.store.replace(d)
	k.holds.Store(k.document())
	k.opts.Logger.Info("goal", "revision", d.Revision.String(), "by", d.By)
	k.poke()
	return d, nil
}

// maxDuels is how often a change is applied again, on top of other managers' documents that appear while it is
// being distributed.
const maxDuels = 3

// kept waits until a majority of the replicas stores a document of a chain. If a newer document overtakes it, kept
// applies next again, unless next is nil.
func (k *Keeper) kept(ctx context.Context, d *goal.Document, chain int, next next) (Status, error) {
	for duels := 0; ; {
		changed := k.Changed()
		k.mu.Lock()
		now := k.status()
		have := voters(k.observed) - len(now.Lacking)
		enough := 2*have > voters(k.observed)
		if k.overtaken(d, chain) && !enough && next != nil && duels < maxDuels {
			// A replica had a newer document than this manager knew: apply the request to it, and keep its other parts.
			duels++
			again, err := k.put(next)
			if err != nil {
				k.mu.Unlock()
				return now, err
			}
			d, chain = cmp.Or(again, d), k.chain
		}
		k.mu.Unlock()
		if enough {
			return now, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return now, ErrNotKept
		}
	}
}

// overtaken reports whether another manager's document has replaced one of a chain. Later requests to this manager
// are derived from it. The caller holds the lock.
func (k *Keeper) overtaken(d *goal.Document, chain int) bool {
	newest := k.store.document.Asked
	return newest.Compare(d.Asked) > 0 && (newest != k.asked || chain != k.chain)
}
