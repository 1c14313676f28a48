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

// leases measures how long this manager has seen no renewal of each lease. A manager that has
// started again measures anew, so that a lease lasts once more as long at most.
type leases map[string]lastRenewal

// lastRenewal is the last renewal that was seen.
type lastRenewal struct {
	renewals uint64
	at       time.Time
}

// expired returns the leases of a document that were not renewed in their time, and those of
// its holds that it does not have.
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

// endExpired ends the leases that their clients have not renewed: the goal has their components
// again. The caller holds the lock.
func (k *Keeper) endExpired(now time.Time) {
	ids := k.leases.expired(k.store.document, now)
	if len(ids) == 0 {
		return
	}
	k.store.amend(k.store.document.Released(ids, now))
	k.stale = true
	for _, id := range ids {
		k.opts.Logger.Warn("a lease was not renewed: the goal has its components again", "lease", id)
	}
}

// ErrNoGoal says that there is no goal, so that nothing is kept from starting.
var ErrNoGoal = errors.New("the application has no goal: nothing starts its components automatically")

// maxLeases is how many leases a document has at most.
const maxLeases = 32

// ErrLeases says that a document has no room for another lease.
var ErrLeases = fmt.Errorf("a goal has at most %d leases", maxLeases)

// Lease begins or renews a lease, and waits as Set does. renewed is false where there was none:
// it has begun now, or once more since it had ended.
func (k *Keeper) Lease(ctx context.Context, id string, l goal.Lease, now time.Time) (renewed bool, err error) {
	err = k.revise(ctx, func(d *goal.Document) (*goal.Document, error) {
		if _, renewed = d.Leases[id]; !renewed && len(d.Leases) >= maxLeases {
			return nil, ErrLeases
		}
		return d.Renewed(id, l, now), nil
	})
	return renewed, err
}

// EndLease ends a lease, if there is one, and waits as Set does.
func (k *Keeper) EndLease(ctx context.Context, id string, now time.Time) error {
	return k.revise(ctx, func(d *goal.Document) (*goal.Document, error) {
		if _, is := d.Leases[id]; !is {
			return nil, nil
		}
		return d.Released([]string{id}, now), nil
	})
}

// revise makes a revision of the goal that asks for the same: operations and attempts of it
// count as before. A revision of nil changes nothing.
func (k *Keeper) revise(ctx context.Context, next func(*goal.Document) (*goal.Document, error)) error {
	if !k.learn(ctx) {
		return ErrNoEvidence
	}
	k.mu.Lock()
	d := k.document()
	if d == nil || d.All == "" && len(d.States) == 0 {
		k.mu.Unlock()
		return ErrNoGoal
	}
	d, err := next(k.store.known(time.Now()))
	if err == nil && d != nil {
		err = fits(d)
	}
	if err != nil || d == nil {
		k.mu.Unlock()
		return err
	}
	k.store.amend(d)
	k.holds.Store(k.document())
	k.poke()
	k.mu.Unlock()
	_, err = k.kept(ctx, d, 0, nil)
	return err
}
