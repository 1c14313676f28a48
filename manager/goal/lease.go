package goal

import (
	"maps"
	"slices"
	"time"
)

// Lease keeps components on hold for a client that stops them for a while and starts them
// again, such as one that copies their volumes. The client renews it. Each renewal changes
// the lease, so that every manager measures by its own clock for how long it has seen no
// renewal: no manager relies on the clock of another machine.
type Lease struct {
	By         string   `json:"by,omitempty"`
	Components []string `json:"components"`
	Seconds    float64  `json:"seconds"`  // until it expires without a renewal
	Renewals   uint64   `json:"renewals"` // how often it was renewed
}

// Time returns the time after which the lease ends without a renewal.
func (l Lease) Time() time.Duration { return time.Duration(l.Seconds * float64(time.Second)) }

// onLease is the operation recorded in the holds of a lease.
const onLease = "a lease"

// Renewed returns a copy of the document with a lease added or renewed. Its components are put on hold, except for
// components that are on hold for another reason, and components that an operation has returned to their targets
// since the lease began.
func (d *Document) Renewed(id string, l Lease, at time.Time) *Document {
	next := *d
	before, renewed := d.Leases[id]
	if renewed {
		l.Renewals = before.Renewals + 1
	}
	next.Leases, next.Holds = maps.Clone(d.Leases), maps.Clone(d.Holds)
	if next.Leases == nil {
		next.Leases = map[string]Lease{}
	}
	if next.Holds == nil {
		next.Holds = map[string]Hold{}
	}
	next.Leases[id] = l
	for _, name := range l.Components {
		if contains(next.Holds, name) || renewed && contains(next.Resumed, name) {
			continue
		}
		next.Holds[name] = Hold{By: l.By, At: at, Operation: onLease, Lease: id}
	}
	return &next
}

// Released returns a copy of the document without some leases and their holds. Operations before that put no
// component on hold.
func (d *Document) Released(ids []string, at time.Time) *Document {
	next := *d
	next.Leases, next.Holds, next.HoldsAfter = maps.Clone(d.Leases), maps.Clone(d.Holds), at
	for _, id := range ids {
		delete(next.Leases, id)
	}
	maps.DeleteFunc(next.Holds, func(_ string, h Hold) bool { return slices.Contains(ids, h.Lease) })
	return &next
}

// Orphans returns the leases that holds refer to and the document does not have: a restored goal may have such
// holds.
func (d *Document) Orphans() []string {
	var all []string
	for _, h := range d.Holds {
		if _, is := d.Leases[h.Lease]; h.Lease != "" && !is && !slices.Contains(all, h.Lease) {
			all = append(all, h.Lease)
		}
	}
	slices.Sort(all)
	return all
}

// LeasedHolds returns the holds of leases.
func (d *Document) LeasedHolds() map[string]Hold {
	all := maps.Clone(d.Holds)
	maps.DeleteFunc(all, func(_ string, h Hold) bool { return h.Lease == "" })
	return all
}

// holdsAfter returns the time after which operations put components on hold.
func (d *Document) holdsAfter() time.Time {
	if d.HoldsAfter.After(d.At) {
		return d.HoldsAfter
	}
	return d.At
}
