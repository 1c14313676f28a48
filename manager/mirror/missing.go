package mirror

import (
	"errors"
	"slices"
	"time"

	"github.com/toskose/toskose/manager/unitclient"
	"github.com/toskose/toskose/unit/wire"
)

// addMissing records that a replica which once responded is no longer discovered. Unless it is known to have ended, it
// may still be running undiscovered. The caller holds the lock.
func (n *node) addMissing(p *place) {
	if !p.mayRun() {
		return
	}
	r := *p.now
	r.Gone = time.Now()
	if r.Problem != nil {
		r.Gone = r.Since
	}
	n.removeMissing(r.Instance)
	n.missing = append(n.missing, &r)
}

// mayRun reports whether a replica may be running although it is not discovered.
func (p *place) mayRun() bool {
	return p.now != nil && p.now.Instance != "" && !p.ended && !p.replaced
}

// removeMissing records that an instance was discovered, or has ended.
func (n *node) removeMissing(instance string) (changed bool) {
	before := len(n.missing)
	n.missing = slices.DeleteFunc(n.missing, func(r *Replica) bool { return r.Instance == instance })
	return len(n.missing) < before
}

// markReplaced records that a new replica appeared: it replaces the one that has been missing the longest, as the
// orchestrator has decided.
func (n *node) markReplaced(by *place) {
	if len(n.missing) > 0 {
		n.missing = slices.Delete(n.missing, 0, 1)
		return
	}
	for _, p := range n.replicas {
		if p != by && p.mayRun() && p.now.hidden() {
			p.replaced = true
			return
		}
	}
}

// dropMissing drops replicas that have been missing for too long. It reports whether there were any.
func (n *node) dropMissing(after time.Duration) (changed bool) {
	before := len(n.missing)
	n.missing = slices.DeleteFunc(n.missing, func(r *Replica) bool { return time.Since(r.Gone) >= after })
	for _, p := range n.replicas {
		if p.mayRun() && p.now.hidden() && time.Since(p.now.Since) >= after {
			p.replaced, changed = true, true
		}
	}
	return changed || len(n.missing) < before
}

// followUntilStopped lets a follower observe the end of a replica that is no longer discovered: an orchestrator removes a
// container's name before it stops the container. The caller holds the lock.
func (f *follower) followUntilStopped(instance string) {
	f.left = instance
	time.AfterFunc(stopTime, f.cancel)
}

// stopTime is how long a container may take to stop after it is no longer discovered.
const stopTime = 30 * time.Second

// ended reports whether the error of a request shows that the unit has exited: it closed the connection, or had
// announced its shutdown.
func (f *follower) ended(err error) bool {
	code, _ := wire.FaultCodeOf(err)
	return f.shuttingDown || code == wire.ShutdownState || errors.Is(err, unitclient.ErrClosed)
}

// recordEnd reports whether the followed replica is no longer discovered, and records its end.
func (f *follower) recordEnd(err error) bool {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.left != "" && f.ended(err) && f.node.removeMissing(f.left) {
		f.m.change(f.node)
	}
	return f.left != ""
}
