package keep

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/unit/wire"
)

// Copies stores documents on one unit.
type Copies interface {
	// Read returns the document; the zero Document if there is none.
	Read(ctx context.Context) (wire.Document, error)
	// Write returns when the document is synced to disk. It returns a *NewerError if the unit has a newer one.
	Write(ctx context.Context, d wire.Document) error
}

// NewerError is returned when a unit rejects a document because it stores a newer one.
type NewerError struct{ Revision wire.Revision }

func (e *NewerError) Error() string { return fmt.Sprintf("it keeps revision %s", e.Revision) }

// ErrNoRoom is returned when a unit has no place for documents.
var ErrNoRoom = errors.New("it has no place to keep the goal")

// store holds the goal, and the revision that each unit stores. Its methods lock it, unless their comments say that
// the caller holds the lock.
type store struct {
	opts    Options
	changed func() // called when the Keeper must evaluate the goal again
	working *sync.WaitGroup

	mu       sync.Mutex
	document *goal.Document // the newest known document; nil: no replica stores one
	adopted  *unsigned      // the adopted document of an earlier release; nil: none
	key      string         // the id of the key that signs this revision; empty: none
	copies   map[string]*copyState
	next     int // the next replica to read again

	defaulted *goal.Document // the default goal with the holds and other records of defaultOf
	defaultOf *goal.Document

	requested wire.Revision // of the last document requested from this manager
	chain     int           // counts requested documents that were not derived from this manager's previous one
}

// copyState is the state of one instance's copy.
type copyState struct {
	known     bool
	revision  wire.Revision // of the manager's document that it stores; zero: none
	stored    wire.Revision // of the stored document, also if it is ignored
	unsigned  *unsigned     // the stored document if it has no signature; nil otherwise
	rejected  string        // why the manager ignores the stored document; empty: it does not
	noStorage bool          // it cannot store documents
	busy      bool
	again     time.Time // do not retry before
	checked   time.Time // when it was last read or written
}

// current returns the current goal: the units', or the default with their holds; nil if there is none.
func (st *store) current() *goal.Document {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.withDefault()
}

// withDefault is current for a caller that holds the lock.
func (st *store) withDefault() *goal.Document {
	d := st.document
	if st.opts.Default == "" || d != nil && (d.All != "" || len(d.States) > 0) {
		return d
	}
	if st.defaulted == nil || st.defaultOf != d {
		with := goal.Document{}
		if d != nil {
			with = *d
		}
		with.All = st.opts.Default
		st.defaulted, st.defaultOf = &with, d
	}
	return st.defaulted
}

// ifCurrent calls do with the lock held if a document is still the current goal, and reports whether it is.
func (st *store) ifCurrent(d *goal.Document, do func()) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.withDefault() != d {
		return false
	}
	do()
	return true
}

// sample is how many copies that are known to be current are read again in each evaluation, so that a document that a
// majority stores is found soon.
const sample = 3

// exchange reads the copies of new replicas, writes the newest document to replicas that do not store it, and reads a
// few of the others again.
func (st *store) exchange(ctx context.Context, s goal.Situation) {
	st.mu.Lock()
	defer st.mu.Unlock()
	exists := map[string]bool{}
	var current []*goal.Replica
	for i := range s.Replicas {
		r := &s.Replicas[i]
		if r.Instance == "" {
			continue
		}
		exists[r.Instance] = true
		if st.copies[r.Instance] == nil {
			st.copies[r.Instance] = &copyState{}
		}
		c := st.copies[r.Instance]
		if r.Unknown {
			c.known = false // read it again: another manager may have replaced it meanwhile
			continue
		}
		if c.busy || s.Now.Before(c.again) {
			continue
		}
		switch {
		case !c.known:
			st.read(ctx, r, c, s.Now)
		case st.isBehind(c):
			st.write(ctx, r, c, s.Now)
		default:
			current = append(current, r)
		}
	}
	for range min(sample, len(current)) {
		st.next++
		r := current[st.next%len(current)]
		if c := st.copies[r.Instance]; !c.busy && s.Now.Sub(c.checked) >= evaluationInterval {
			st.read(ctx, r, c, s.Now)
		}
	}
	maps.DeleteFunc(st.copies, func(instance string, c *copyState) bool { return !exists[instance] && !c.busy })
}

// isBehind reports whether a copy is older than the goal. The caller holds the lock.
func (st *store) isBehind(c *copyState) bool {
	return st.document != nil && !c.noStorage && c.revision.Compare(st.document.Revision) < 0
}

// isCurrent reports whether an instance stores the goal, or cannot store one.
func (st *store) isCurrent(instance string) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	c := st.copies[instance]
	return c != nil && c.known && !st.isBehind(c)
}

// voters returns the number of replicas: the discovered ones, and the ones that may still be running undiscovered.
// A majority of them decides, so that only one of two managers acts if they see different replicas.
func voters(s goal.Situation) int { return len(s.Replicas) + len(s.Missing) }

// trivial reports whether the application has no component.
func (st *store) trivial() bool { return len(st.opts.Model.Node) == 0 }

// reported reports whether enough replicas have reported their copies.
func (st *store) reported(s goal.Situation, waited bool) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	known := 0
	for _, r := range s.Replicas {
		if c := st.copies[r.Instance]; c != nil && c.known {
			known++
		}
	}
	if known == 0 && !st.trivial() {
		return false
	}
	return s.Complete && (known == voters(s) || waited && 2*known > voters(s))
}

// behind returns the replicas that do not store the goal, sorted; none if there is no goal.
func (st *store) behind(s goal.Situation) []string {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.document == nil {
		return nil
	}
	all := slices.Clone(s.Missing)
	for _, r := range s.Replicas {
		if c := st.copies[r.Instance]; c == nil || c.noStorage || st.isBehind(c) {
			all = append(all, r.Name)
		}
	}
	slices.Sort(all)
	return all
}

// request sends a request without the lock, and then calls the function that it returns with the lock. The caller
// holds the lock.
func (st *store) request(ctx context.Context, c *copyState, now time.Time, send func(context.Context) (update func() error)) {
	c.busy, c.checked = true, now
	st.working.Go(func() {
		update := send(ctx)
		if ctx.Err() != nil {
			return
		}
		st.mu.Lock()
		defer st.mu.Unlock()
		before, document := *c, st.document
		c.busy = false
		if update() != nil {
			c.again = now.Add(st.opts.Retry)
		}
		if before.known != c.known || before.revision != c.revision || before.noStorage != c.noStorage || before.rejected != c.rejected ||
			document != st.document || !before.unsigned.same(c.unsigned) {
			st.changed()
		}
	})
}

// read reads the document of a replica. The caller holds the lock.
func (st *store) read(ctx context.Context, r *goal.Replica, c *copyState, now time.Time) {
	st.request(ctx, c, now, func(ctx context.Context) func() error {
		d, err := st.opts.Copies(r.Node, r.Instance).Read(ctx)
		return func() error { return st.accept(r, c, d, err) }
	})
}

// write writes the newest document to a replica. The caller holds the lock.
func (st *store) write(ctx context.Context, r *goal.Replica, c *copyState, now time.Time) {
	d, err := st.signed()
	if d.Revision.Compare(c.stored) <= 0 {
		d.Replaces = c.stored // the manager has rejected it
	}
	st.request(ctx, c, now, func(ctx context.Context) func() error {
		if err == nil {
			err = st.opts.Copies(r.Node, r.Instance).Write(ctx, d)
		}
		return func() error {
			var newer *NewerError
			switch {
			case errors.As(err, &newer) && d.Replaces == (wire.Revision{}):
				c.known = false // read it
				return nil
			case errors.As(err, &newer): // what it stores is ignored, and cannot be replaced
				c.known = false
				return err
			case errors.Is(err, ErrNoRoom):
				c.noStorage = true
				return nil
			case err == nil:
				c.revision, c.stored, c.unsigned, c.rejected = d.Revision, d.Revision, nil, ""
			}
			return err
		}
	})
}

// hold adds and removes holds of the document, as a new revision. The caller holds the lock.
func (st *store) hold(more, ended map[string]goal.Hold, now time.Time) {
	st.amend(st.known(now).Held(more, ended))
	for name, h := range more {
		st.opts.Logger.Info("the goal puts a component on hold", "component", name, "by", h.By, "operation", h.Operation)
	}
	for name, h := range ended {
		st.opts.Logger.Info("the goal resumes a component", "component", name, "by", h.By, "operation", h.Operation)
	}
}

// record stores records of Tasks in the document, as a new revision. The caller holds the lock.
func (st *store) record(records map[string]goal.Record, now time.Time) {
	st.amend(st.known(now).Recorded(records))
	for name, r := range records {
		st.opts.Logger.Info("the goal records the progress of a task", "component", name, "round", r.Round, "completed", len(r.Done))
	}
}

// known returns the document, or an empty one. The caller holds the lock.
func (st *store) known(now time.Time) *goal.Document {
	if st.document == nil {
		return &goal.Document{At: now}
	}
	return st.document
}

// amend stores a manager's own change as the newest revision of the document. The caller holds the lock.
func (st *store) amend(d *goal.Document) {
	d.Revision = st.following()
	st.replace(d)
}

// replace stores a document of this manager as the newest one. The caller holds the lock.
func (st *store) replace(d *goal.Document) { st.document, st.key = d, st.opts.Keys().Current() }

// following returns a revision that wins over all known ones. Documents with an excessive counter are rejected, so
// the counter does not wrap. The caller holds the lock.
func (st *store) following() wire.Revision {
	var counter uint64
	if st.document != nil {
		counter = st.document.Revision.Counter
	}
	return wire.Revision{Counter: counter + 1, ID: newID()}
}

// newID returns a random id.
func newID() string { return strings.ToLower(rand.Text()[:10]) }
