package mirror

import (
	"slices"
	"time"
)

// Limits of the removed replicas that the Mirror remembers for the history.
const (
	removedTime       = time.Hour
	removedExecutions = 10_000
)

// removed has the last states of removed replicas, oldest first. The Mirror's lock guards it.
type removed struct {
	replicas   []*Replica
	executions int
}

// add remembers a removed replica, and forgets those that exceed the limits.
func (l *removed) add(r *Replica) {
	l.drop(func(known *Replica) bool { return known.Instance == r.Instance })
	later := slices.IndexFunc(l.replicas, func(known *Replica) bool { return known.Gone.After(r.Gone) })
	if later < 0 {
		later = len(l.replicas)
	}
	l.replicas = slices.Insert(l.replicas, later, r)
	l.executions += executionsOf(r)
	l.drop(func(known *Replica) bool { return time.Since(known.Gone) >= removedTime })
	for l.executions > removedExecutions && len(l.replicas) > 1 {
		oldest := l.replicas[0]
		l.drop(func(known *Replica) bool { return known == oldest })
	}
}

func (l *removed) drop(these func(*Replica) bool) {
	l.replicas = slices.DeleteFunc(l.replicas, func(r *Replica) bool {
		drop := these(r)
		if drop {
			l.executions -= executionsOf(r)
		}
		return drop
	})
}

func executionsOf(r *Replica) (n int) {
	for _, c := range r.Components {
		n += len(c.Recent)
	}
	return n
}

// Recall adds removed replicas that this Mirror has not seen: they were removed before it started, or only another manager has
// seen them. Known and existing replicas are skipped.
func (m *Mirror) Recall(replicas []*Replica) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range replicas {
		known := slices.ContainsFunc(m.removed.replicas, func(other *Replica) bool { return other.Instance == r.Instance })
		if !known && !m.exists(r.Instance) {
			m.removed.add(r)
		}
	}
}

// exists reports whether a replica has an instance now. The caller holds the lock.
func (m *Mirror) exists(instance string) bool {
	for _, n := range m.nodes {
		for _, p := range n.replicas {
			if p.now != nil && p.now.Instance == instance {
				return true
			}
		}
	}
	return false
}

// Removed returns the last states of the replicas that were removed within the last hour, oldest first, with at most 10,000
// executions.
func (m *Mirror) Removed() []*Replica {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.removed.drop(func(r *Replica) bool { return time.Since(r.Gone) >= removedTime })
	return slices.Clone(m.removed.replicas)
}
