package proctree

import (
	"slices"
	"sync"
	"time"
)

// childlessCache caches whether no child of this process has forked. For a thousand processes,
// reading the children of each takes longer than ending them.
type childlessCache struct {
	mu        sync.Mutex
	lastQuery time.Time // time of the last query

	lastPID    int       // the last allocated pid at that time
	since      time.Time // when that pid was first seen as the last one
	known      bool      // the fields below are valid for that pid
	determined time.Time // when none was determined
	next       time.Time // do not determine it again before this time
	none       bool
}

const (
	// seriesGap is the largest gap between two queries of a series.
	seriesGap = 5 * time.Millisecond
	// forkTime bounds the duration of a fork: the child has a pid but is not listed until the fork
	// completes.
	forkTime = 5 * time.Millisecond
)

// childless reports whether it is certain that this process's children have no children: there were
// no other processes, and no pid has been allocated since. false means unknown. It is cheaper than
// reading the children only if many programs are queried.
func (t *Tree) childless() bool {
	if t.freeze == nil || !t.init || !t.direct {
		return false
	}
	c := &t.childlessness
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	series := now.Sub(c.lastQuery) < seriesGap
	c.lastQuery = now
	if !series {
		return false
	}
	last, ok := t.proc.lastPID()
	if !ok {
		return false
	}
	if last != c.lastPID {
		c.lastPID, c.since, c.known = last, now, false
	}
	done := c.known && c.determined.Sub(c.since) >= forkTime
	if due := now.Sub(c.since) >= forkTime || !c.known; !done && due && now.After(c.next) {
		c.none, c.known, c.determined = t.forkedAll(), true, now
		c.next = now.Add((1 + share) * time.Since(now))
	}
	return c.known && c.none
}

// forkedAll reports whether this process forked all others.
func (t *Tree) forkedAll() (all bool) {
	t.freeze(func(forked func(pid int) bool) {
		pids, err := t.pids()
		all = err == nil && !slices.ContainsFunc(pids, func(pid int) bool { return !forked(pid) })
	})
	return all
}
