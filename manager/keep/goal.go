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
	last, _ := k.evaluated.get()
	document := k.store.stored()
	s := Status{
		Document: document, Acting: last.acting, Decision: last.decision, Superseded: last.superseded,
		Default:  document == nil && k.opts.Default != "",
		Lacking:  k.store.behind(last.observed),
		Rejected: k.store.rejected(last.observed), Known: k.store.trivial() || len(last.observed.Replicas) > 0,
		Underway: k.running.list(),
	}
	now := last.observed
	now.Now = k.opts.Now()
	s.Tasks = k.opts.Model.TaskStatuses(k.store.current(), now)
	return s
}

// Signing is the state of the goal's signature.
type Signing struct {
	Keys    int  // number of keys that verify it; 0: it is not signed
	Current bool // the first key signed the document that all replicas store, if there is a goal
}

// Signing returns the current state of the goal's signature.
func (k *Keeper) Signing() Signing {
	last, _ := k.evaluated.get()
	keys := k.opts.Keys()
	return Signing{Keys: len(keys), Current: k.store.signedBy(keys.Current(), last.observed)}
}

// signedBy reports whether there is no goal, or a key has signed it and all replicas that can store it do.
func (st *store) signedBy(key string, s goal.Situation) bool {
	// A unit without room for documents does not store one that another key has signed.
	behind := slices.ContainsFunc(s.Replicas, func(r goal.Replica) bool { return !st.isCurrent(r.Instance) })
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.document == nil || st.key == key && !behind
}

// Document returns the current goal, or nil. It does not wait for a decision in progress.
func (k *Keeper) Document() *goal.Document { return k.store.current() }

// stored returns the newest document of the units; nil if there is none.
func (st *store) stored() *goal.Document {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.document
}

// Changed returns a channel that is closed after the next evaluation of the goal.
func (k *Keeper) Changed() <-chan struct{} {
	_, changed := k.evaluated.get()
	return changed
}

// ErrNotKept is returned when a goal was accepted, but a majority of the replicas does not store it yet.
var ErrNotKept = errors.New("not more than half of the replicas keep the goal yet; the others get it when they can be reached")

// Set sets the goal and waits until a majority of the replicas stores it. If ctx ends first, the error is
// ErrNotKept. Components that the goal names are no longer on hold, and programs that run now stay up.
func (k *Keeper) Set(ctx context.Context, ask Ask, now time.Time) (Status, error) {
	return k.change(ctx, func(before, _ *goal.Document) (*goal.Document, error) {
		next := &goal.Document{All: ask.All, States: maps.Clone(ask.States), By: ask.By, At: now}
		if before != nil {
			k.opts.merge(next, before, ask)
		}
		observed, _ := k.opts.Observe()
		return k.opts.Model.WithRunning(next, observed), nil
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
	return k.change(ctx, func(_, current *goal.Document) (*goal.Document, error) {
		next := &goal.Document{}
		if current != nil {
			*next = *current
		}
		if again {
			last, _ := k.evaluated.get()
			next = k.opts.Model.Again(next, last.observed, task)
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
	return k.change(ctx, func(before, _ *goal.Document) (*goal.Document, error) {
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

// next derives the requested document from the stored one and from the current goal, which may be the default. Both
// may be nil; a nil result changes nothing.
type next func(before, current *goal.Document) (*goal.Document, error)

// ErrNoEvidence is returned when the latest goal is unknown, so that a new one cannot be derived from it.
var ErrNoEvidence = errors.New("not enough containers have answered to know the latest goal; nothing was changed, try again when they run")

// change stores a requested change as the newest document, and waits as Set does. A new manager first learns the
// latest goal: a change accepted without it could lose parts of it.
func (k *Keeper) change(ctx context.Context, next next) (Status, error) {
	if !k.learn(ctx) {
		return k.Status(), ErrNoEvidence
	}
	d, chain, err := k.store.put(next)
	if err != nil || d == nil {
		return k.Status(), err
	}
	return k.awaitStored(ctx, d, chain, next)
}

// learningTime is how long a new manager waits for the latest goal.
const learningTime = 3 * time.Second

// learn waits until a manager that has never acted knows which goal a majority of the replicas stores. It reports
// whether the goal is known.
func (k *Keeper) learn(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, learningTime)
	defer cancel()
	for first := true; ; first = false {
		last, changed := k.evaluated.get()
		if last.acted || k.store.reported(last.observed, true) {
			return true
		}
		if first {
			k.evaluateSoon() // do not wait for all nodes to be known
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// put stores a requested change as the newest document, and returns it with its chain.
func (st *store) put(next next) (d *goal.Document, chain int, err error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	d, err = next(st.document, st.withDefault())
	if err == nil && d != nil {
		err = fits(d)
	}
	if err != nil || d == nil {
		return nil, st.chain, err
	}
	if before := st.document; before != nil && before.Asked != st.requested {
		st.chain++
	}
	d.Revision = st.following()
	d.Asked = d.Revision
	st.requested = d.Asked
	st.replace(d)
	st.opts.Logger.Info("goal", "revision", d.Revision.String(), "by", d.By)
	st.changed()
	return d, st.chain, nil
}

// maxRebases is how often a change is applied again, on top of other managers' documents that appear while it is
// being distributed.
const maxRebases = 3

// awaitStored waits until a majority of the replicas stores a document of a chain. If a newer document overtakes it,
// awaitStored applies next again, unless next is nil.
func (k *Keeper) awaitStored(ctx context.Context, d *goal.Document, chain int, next next) (Status, error) {
	for rebases := 0; ; {
		last, changed := k.evaluated.get()
		now := k.Status()
		have := voters(last.observed) - len(k.store.behind(last.observed))
		if 2*have > voters(last.observed) {
			return now, nil
		}
		if next != nil && rebases < maxRebases && k.store.overtaken(d, chain) {
			// A replica had a newer document than this manager knew: apply the request to it, and keep its other parts.
			rebases++
			again, nextChain, err := k.store.put(next)
			if err != nil {
				return now, err
			}
			d, chain = cmp.Or(again, d), nextChain
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return now, ErrNotKept
		}
	}
}

// overtaken reports whether another manager's document has replaced one of a chain. Later requests to this manager
// are derived from it.
func (st *store) overtaken(d *goal.Document, chain int) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	newest := st.document.Asked
	return newest.Compare(d.Asked) > 0 && (newest != st.requested || chain != st.chain)
}
