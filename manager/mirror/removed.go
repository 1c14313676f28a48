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
	l.replicas = append(l.replicas, r)
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

// Removed returns the last states of the replicas that were removed within the last hour, oldest first, with at most 10,000
// executions.
func (m *Mirror) Removed() []*Replica {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.removed.drop(func(r *Replica) bool { return time.Since(r.Gone) >= removedTime })
	return slices.Clone(m.removed.replicas)
}
