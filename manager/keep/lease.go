package keep

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/toskose/toskose/manager/goal"
)

// leases measures how long this manager has seen no renewal of each lease. A restarted manager measures anew, which
// extends a lease by at most its time.
type leases map[string]lastRenewal

// lastRenewal is the last renewal that this manager has seen.
type lastRenewal struct {
	renewals uint64
	at       time.Time
}

// expired returns the leases that were not renewed in time, and the document's orphaned leases.
func (l leases) expired(d *goal.Document, now time.Time) []string {
	if d == nil {
		clear(l)
		return nil
	}
	maps.DeleteFunc(l, func(id string, _ lastRenewal) bool { _, is := d.Leases[id]; return !is })
	all := d.Orphans()
	for id, lease := range d.Leases {
		last, seen := l[id]
		if !seen || last.renewals != lease.Renewals {
			l[id] = lastRenewal{lease.Renewals, now}
			continue
		}
		if now.Sub(last.at) >= lease.Time() {
			all = append(all, id)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// endExpired ends expired leases and removes their holds. It reports whether there were any.
func (k *Keeper) endExpired(now time.Time) bool {
	ids := k.store.endLeases(now, k.leases.expired)
	for _, id := range ids {
		k.opts.Logger.Warn("a lease expired: its components are reconciled again", "lease", id)
	}
	return len(ids) > 0
}

// endLeases ends the leases of the document that expired returns.
func (st *store) endLeases(now time.Time, expired func(*goal.Document, time.Time) []string) []string {
	st.mu.Lock()
	defer st.mu.Unlock()
	ids := expired(st.document, now)
	if len(ids) > 0 {
		st.amend(st.document.Released(ids, now))
	}
	return ids
}

// ErrNoGoal is returned when the application has no goal: a lease would have no effect.
var ErrNoGoal = errors.New("the application has no goal: nothing starts its components automatically")

// maxLeases is the maximum number of leases in a document.
const maxLeases = 32

// ErrLeases is returned when a document has no room for another lease.
var ErrLeases = fmt.Errorf("a goal has at most %d leases", maxLeases)

// Lease acquires or renews a lease, and waits as Set does. renewed is false if the lease did not exist or had
// expired.
func (k *Keeper) Lease(ctx context.Context, id string, l goal.Lease, now time.Time) (renewed bool, err error) {
	err = k.revise(ctx, func(d *goal.Document) (*goal.Document, error) {
		if _, renewed = d.Leases[id]; !renewed && len(d.Leases) >= maxLeases {
			return nil, ErrLeases
		}
		return d.Renewed(id, l, now), nil
	})
	return renewed, err
}

// EndLease releases a lease, if it exists, and waits as Set does.
func (k *Keeper) EndLease(ctx context.Context, id string, now time.Time) error {
	return k.revise(ctx, func(d *goal.Document) (*goal.Document, error) {
		if _, is := d.Leases[id]; !is {
			return nil, nil
		}
		return d.Released([]string{id}, now), nil
	})
}

// revise stores a revision of the same goal: its operations and attempts still count. A nil result of next changes
// nothing.
func (k *Keeper) revise(ctx context.Context, next func(*goal.Document) (*goal.Document, error)) error {
	if !k.learn(ctx) {
		return ErrNoEvidence
	}
	d, err := k.store.revise(next)
	if err != nil || d == nil {
		return err
	}
	_, err = k.awaitStored(ctx, d, 0, nil)
	return err
}

func (st *store) revise(next func(*goal.Document) (*goal.Document, error)) (*goal.Document, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	d := st.withDefault()
	if d == nil || d.All == "" && len(d.States) == 0 {
		return nil, ErrNoGoal
	}
	d, err := next(st.known(time.Now()))
	if err == nil && d != nil {
		err = fits(d)
	}
	if err != nil || d == nil {
		return nil, err
	}
	st.amend(d)
	st.changed()
	return d, nil
}
