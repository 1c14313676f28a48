package keep

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/signature"
	"github.com/toskose/toskose/unit/wire"
)

// Copies is where one unit keeps documents.
type Copies interface {
	// Read returns the document; the zero Document where there is none.
	Read(ctx context.Context) (wire.Document, error)
	// Write returns when the document is synced. A *NewerError refuses it.
	Write(ctx context.Context, d wire.Document) error
}

// NewerError is why a unit does not take a document: it has a newer one.
type NewerError struct{ Revision wire.Revision }

func (e *NewerError) Error() string { return fmt.Sprintf("it keeps revision %s", e.Revision) }

// ErrNoRoom says that a unit has no place for documents.
var ErrNoRoom = errors.New("it has no place to keep the goal")

// store is the goal, and who keeps which revision of it. The Keeper's lock guards
// it.
type store struct {
	document *goal.Document // the newest that is known; nil: no replica has one
	adopted  *unsigned      // the document of an earlier release that it began with; nil: none
	key      string         // the id of the key that signs this revision of it; empty: none
	copies   map[string]*held
	next     int  // whom to ask again
	trivial  bool // the application has no component

	keys    func() signature.Keys
	report  func(Notice)
	open    func(node, instance string) Copies
	locked  func(func() bool) // does something under the lock, and has the Keeper decide again if that changed anything
	working *sync.WaitGroup
	retry   time.Duration
	log     *slog.Logger
}

// held is what one instance keeps.
type held struct {
	known    bool
	revision wire.Revision // of the manager's document that it keeps; zero: none
	stored   wire.Revision // of whatever it keeps
	unsigned *unsigned     // what it keeps if that has no signature; nil otherwise
	rejected string        // why the manager ignores what it keeps; empty: it does not
	homeless bool          // it cannot keep any
	busy     bool
	again    time.Time // not before
	problem  error
	looked   time.Time
}

// follow asks those who were never asked what they keep, gives the newest document
// to those who lack it, and asks a few of the others again: a document that more
// than half keep is found soon.
func (st *store) follow(ctx context.Context, s goal.Situation) {
	there := map[string]bool{}
	var well []*goal.Replica
	for i := range s.Replicas {
		r := &s.Replicas[i]
		if r.Instance == "" {
			continue
		}
		there[r.Instance] = true
		if st.copies[r.Instance] == nil {
			st.copies[r.Instance] = &held{}
		}
		h := st.copies[r.Instance]
		if r.Unknown {
			h.known = false // read it again: meanwhile another manager may have given it another
			continue
		}
		if h.busy || s.Now.Before(h.again) {
			continue
		}
		switch {
		case !h.known:
			st.read(ctx, r, h, s.Now)
		case st.lacks(h):
			st.write(ctx, r, h, s.Now)
		default:
			well = append(well, r)
		}
	}
	const sample = 3
	for range min(sample, len(well)) {
		st.next++
		r := well[st.next%len(well)]
		if h := st.copies[r.Instance]; !h.busy && s.Now.Sub(h.looked) >= look {
			st.read(ctx, r, h, s.Now)
		}
	}
	maps.DeleteFunc(st.copies, func(instance string, h *held) bool { return !there[instance] && !h.busy })
}

func (st *store) lacks(h *held) bool {
	return st.document != nil && !h.homeless && h.revision.Compare(st.document.Revision) < 0
}

// kept reports whether an instance has the goal, or cannot have it.
func (st *store) kept(instance string) bool {
	h := st.copies[instance]
	return h != nil && h.known && !st.lacks(h)
}

// voters is how many replicas there are: those that are found, and those that may go
// on where they are not seen. More than half of them decide, so that of two managers
// that do not see the same ones only one does.
func voters(s goal.Situation) int { return len(s.Replicas) + len(s.Missing) }

// enough reports whether enough replicas have said what they keep.
func (st *store) enough(s goal.Situation, waited bool) bool {
	known := 0
	for _, r := range s.Replicas {
		if h := st.copies[r.Instance]; h != nil && h.known {
			known++
		}
	}
	if known == 0 && !st.trivial {
		return false
	}
	return s.Complete && (known == voters(s) || waited && 2*known > voters(s))
}

// lacking returns the replicas that do not have the goal.
func (st *store) lacking(s goal.Situation) []string {
	all := slices.Clone(s.Missing)
	for _, r := range s.Replicas {
		if h := st.copies[r.Instance]; h == nil || h.homeless || st.lacks(h) {
			all = append(all, r.Name)
		}
	}
	slices.Sort(all)
	return all
}

// ask does what takes time without the lock, and what it returns with it.
func (st *store) ask(ctx context.Context, h *held, now time.Time, question func(context.Context) func() error) {
	h.busy, h.looked = true, now
	st.working.Go(func() {
		take := question(ctx)
		if ctx.Err() != nil {
			return
		}
		st.locked(func() (changed bool) {
			before, document := *h, st.document
			h.busy = false
			if h.problem = take(); h.problem != nil {
				h.again = now.Add(st.retry)
			}
			changed = before.known != h.known || before.revision != h.revision || before.homeless != h.homeless || before.rejected != h.rejected
			return changed || document != st.document || !before.unsigned.same(h.unsigned)
		})
	})
}

// read asks a replica for its document.
func (st *store) read(ctx context.Context, r *goal.Replica, h *held, now time.Time) {
	st.ask(ctx, h, now, func(ctx context.Context) func() error {
		d, err := st.open(r.Node, r.Instance).Read(ctx)
		return func() error { return st.take(r, h, d, err) }
	})
}

func (st *store) write(ctx context.Context, r *goal.Replica, h *held, now time.Time) {
	d, err := st.signed()
	if d.Revision.Compare(h.stored) <= 0 {
		d.Replaces = h.stored // the manager has rejected it
	}
	st.ask(ctx, h, now, func(ctx context.Context) func() error {
		if err == nil {
			err = st.open(r.Node, r.Instance).Write(ctx, d)
		}
		return func() error {
			var newer *NewerError
			switch {
			case errors.As(err, &newer) && d.Replaces == (wire.Revision{}):
				h.known = false // read it
				return nil
			case errors.As(err, &newer):
				h.known = false
				return fmt.Errorf("cannot replace what it keeps, which is ignored (%s): %w", h.rejected, err)
			case errors.Is(err, ErrNoRoom):
				h.homeless = true
				return nil
			case err == nil:
				h.revision, h.stored, h.unsigned, h.rejected = d.Revision, d.Revision, nil, ""
			}
			return err
		}
	})
}

// hold adds holds to the document and ends some, as a revision of its own.
func (st *store) hold(more, ended map[string]goal.Hold, now time.Time) {
	st.amend(st.known(now).Held(more, ended))
	for name, h := range more {
		st.log.Info("the goal leaves a component alone", "component", name, "by", h.By, "operation", h.Operation)
	}
	for name, h := range ended {
		st.log.Info("the goal no longer leaves a component alone", "component", name, "by", h.By, "operation", h.Operation)
	}
}

// record puts records of Tasks into the document, as a revision of its own.
func (st *store) record(records map[string]goal.Record, now time.Time) {
	st.amend(st.known(now).Recorded(records))
	for name, r := range records {
		st.log.Info("the goal notes how far a task is", "component", name, "round", r.Round, "completed", len(r.Done))
	}
}

// known returns the document, or an empty one.
func (st *store) known(now time.Time) *goal.Document {
	if st.document == nil {
		return &goal.Document{At: now}
	}
	return st.document
}

// amend makes what a manager has added to the document the newest revision of it.
func (st *store) amend(d *goal.Document) {
	d.Revision = st.following()
	st.replace(d)
}

// replace makes a document of this manager the newest one.
func (st *store) replace(d *goal.Document) { st.document, st.key = d, st.keys().Current() }

// following returns a revision that wins over all that are known. Documents whose
// counter is too high are rejected, so the counter does not wrap.
func (st *store) following() wire.Revision {
	var counter uint64
	if st.document != nil {
		counter = st.document.Revision.Counter
	}
	return wire.Revision{Counter: counter + 1, ID: newID()}
}

// newID returns a random id.
func newID() string { return strings.ToLower(rand.Text()[:10]) }
