package proctree

import (
	"slices"
	"sync"
	"time"
)

// childlessness remembers whether none of this process's own children has forked. To
// read the children of each of a thousand processes costs more than to end them.
type childlessness struct {
	mu    sync.Mutex
	asked time.Time // last

	last  int       // the pid that had been allocated last
	since time.Time // when that was seen first
	known bool      // the rest is of that pid
	at    time.Time // when it was found out
	next  time.Time // before which that is not found out again
	none  bool
}

const (
	// seriesGap is how soon one question follows another if they are a series.
	seriesGap = 5 * time.Millisecond
	// forkTime is how long a fork may take: its child has a pid, but is not listed
	// until it is done.
	forkTime = 5 * time.Millisecond
)

// childless reports that this process's own children have none: there are no
// other processes, and no pid was allocated since that was so. false says nothing.
// Only where many are asked about is it cheaper than to read their children.
func (t *Tree) childless() bool {
	if t.still == nil || !t.init || !t.direct {
		return false
	}
	c := &t.childlessness
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	series := now.Sub(c.asked) < seriesGap
	c.asked = now
	if !series {
		return false
	}
	last, ok := t.proc.lastPID()
	if !ok {
		return false
	}
	if last != c.last {
		c.last, c.since, c.known = last, now, false
	}
	done := c.known && c.at.Sub(c.since) >= forkTime
	if due := now.Sub(c.since) >= forkTime || !c.known; !done && due && now.After(c.next) {
		c.none, c.known, c.at = t.forkedAll(), true, now
		c.next = now.Add((1 + share) * time.Since(now))
	}
	return c.known && c.none
}

// forkedAll reports whether this process forked all others.
func (t *Tree) forkedAll() (all bool) {
	t.still(func(forked func(pid int) bool) {
		pids, err := t.pids()
		all = err == nil && !slices.ContainsFunc(pids, func(pid int) bool { return !forked(pid) })
	})
	return all
}
