package mirror

import (
	"errors"
	"slices"
	"time"

	"github.com/toskose/toskose/manager/unitclient"
	"github.com/toskose/toskose/unit/wire"
)

// miss notes that a replica that was heard is no longer found: unless it said or
// showed that it has ended, it may go on where it is not seen. The caller holds the
// lock.
func (n *node) miss(p *place) {
	if !p.counts() {
		return
	}
	r := *p.now
	r.Gone = time.Now()
	if r.Problem != nil {
		r.Gone = r.Since
	}
	n.unmiss(r.Instance)
	n.missing = append(n.missing, &r)
}

// counts reports whether a replica may go on though it is not seen.
func (p *place) counts() bool {
	return p.now != nil && p.now.Instance != "" && !p.ended && !p.replaced
}

// unmiss notes that an instance is there, or has ended.
func (n *node) unmiss(instance string) (changed bool) {
	before := len(n.missing)
	n.missing = slices.DeleteFunc(n.missing, func(r *Replica) bool { return r.Instance == instance })
	return len(n.missing) < before
}

// replace notes that a replica came which was not there before: it takes the place of
// the one that is missing for longest. The orchestrator says so.
func (n *node) replace(by *place) {
	if len(n.missing) > 0 {
		n.missing = slices.Delete(n.missing, 0, 1)
		return
	}
	for _, p := range n.replicas {
		if p != by && p.counts() && p.now.hidden() {
			p.replaced = true
			return
		}
	}
}

// forget ends the wait for replicas that are missing for too long. It reports whether
// there were any.
func (n *node) forget(after time.Duration) (changed bool) {
	before := len(n.missing)
	n.missing = slices.DeleteFunc(n.missing, func(r *Replica) bool { return time.Since(r.Gone) >= after })
	for _, p := range n.replicas {
		if p.counts() && p.now.hidden() && time.Since(p.now.Since) >= after {
			p.replaced, changed = true, true
		}
	}
	return changed || len(n.missing) < before
}

// linger lets a follower find out how a replica ends that is no longer found: an
// orchestrator forgets the name of a container before it stops it. The caller holds
// the lock.
func (f *follower) linger(instance string) {
	f.left = instance
	time.AfterFunc(lingering, f.cancel)
}

// lingering is how long a container may take to end that is no longer found.
const lingering = 30 * time.Second

// ended reports whether what a request to a unit came to shows that the unit has
// ended: it closed the connection, or had answered before that it waits no longer.
func (f *follower) ended(err error) bool {
	code, _ := wire.FaultCodeOf(err)
	return f.dismissed || code == wire.ShutdownState || errors.Is(err, unitclient.ErrClosed)
}

// leaves reports whether a replica is followed that is no longer found, and takes in
// how that ended.
func (f *follower) leaves(err error) bool {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.left != "" && f.ended(err) && f.node.unmiss(f.left) {
		f.m.change(f.node)
	}
	return f.left != ""
}
