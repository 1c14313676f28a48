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

// store holds the goal, and the revision that each unit stores. The Keeper's lock guards it.
type store struct {
	document *goal.Document // the newest known document; nil: no replica stores one
	adopted  *unsigned      // the adopted document of an earlier release; nil: none
	key      string         // the id of the key that signs this revision; empty: none
	copies   map[string]*held
	next     int  // the next replica to read again
	trivial  bool // the application has no component

	keys    func() signature.Keys
	report  func(Notice)
	open    func(node, instance string) Copies
	locked  func(func() bool) // calls a function under the lock, and makes the Keeper decide again if it returns true
	working *sync.WaitGroup
	retry   time.Duration
	log     *slog.Logger
}

// held is the state of one instance's copy.
type held struct {
	known    bool
	revision wire.Revision // of the manager's document that it stores; zero: none
	stored   wire.Revision // of the stored document, also if it is ignored
	unsigned *unsigned     // the stored document if it has no signature; nil otherwise
	rejected string        // why the manager ignores the stored document; empty: it does not
	homeless bool          // it cannot store documents
	busy     bool
	again    time.Time // do not retry before
	problem  error
	looked   time.Time
}

// follow reads the copies of new replicas, writes the newest document to replicas that lack it, and reads a few of
// the others again, so that a document that a majority stores is found soon.
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
			h.known = false // read it again: another manager may have replaced it meanwhile
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

// kept reports whether an instance stores the goal, or cannot store one.
func (st *store) kept(instance string) bool {
	h := st.copies[instance]
	return h != nil && h.known && !st.lacks(h)
}

// voters returns the number of replicas: the discovered ones, and the ones that may still be running undiscovered.
// A majority of them decides, so that only one of two managers acts if they see different replicas.
func voters(s goal.Situation) int { return len(s.Replicas) + len(s.Missing) }

// enough reports whether enough replicas have reported their copies.
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

// lacking returns the replicas that do not store the goal.
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

// ask runs question without the lock, and the function that it returns with the lock.
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

// read reads the document of a replica.
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

// hold adds and removes holds of the document, as a new revision.
func (st *store) hold(more, ended map[string]goal.Hold, now time.Time) {
	st.amend(st.known(now).Held(more, ended))
	for name, h := range more {
		st.log.Info("the goal leaves a component alone", "component", name, "by", h.By, "operation", h.Operation)
	}
	for name, h := range ended {
		st.log.Info("the goal no longer leaves a component alone", "component", name, "by", h.By, "operation", h.Operation)
	}
}

// record stores records of Tasks in the document, as a new revision.
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

// amend stores a manager's own change as the newest revision of the document.
func (st *store) amend(d *goal.Document) {
	d.Revision = st.following()
	st.replace(d)
}

// replace stores a document of this manager as the newest one.
func (st *store) replace(d *goal.Document) { st.document, st.key = d, st.keys().Current() }

// following returns a revision that wins over all known ones. Documents with an excessive counter are rejected, so
// the counter does not wrap.
func (st *store) following() wire.Revision {
	var counter uint64
	if st.document != nil {
		counter = st.document.Revision.Counter
	}
	return wire.Revision{Counter: counter + 1, ID: newID()}
}

// newID returns a random id.
func newID() string { return strings.ToLower(rand.Text()[:10]) }
