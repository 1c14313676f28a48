package access

import (
	"context"
	"net/netip"
	"slices"
	"sync"
)

// queue lets one login at a time compute a hash, which is deliberately expensive in memory and processor time. The
// network that was served longest ago is next, so that many logins from a few addresses do not delay others. The
// server's connection limit bounds the number of waiting logins.
type queue struct {
	mu      sync.Mutex
	busy    bool
	waiting []*waiter               // in order of arrival
	served  map[netip.Prefix]uint64 // the number of the last turn of each network
	turn    uint64
}

type waiter struct {
	from  origin
	ready chan struct{} // closed on its turn
}

func newQueue() *queue { return &queue{served: map[netip.Prefix]uint64{}} }

// enter blocks until it is the login's turn, or ctx ends. If it returns nil, the caller must call leave.
func (q *queue) enter(ctx context.Context, from origin) error {
	w := q.join(from)
	if w == nil {
		return nil
	}
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	i := slices.Index(q.waiting, w)
	if i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
	q.mu.Unlock()
	if i < 0 { // its turn came concurrently
		q.leave()
	}
	return ctx.Err()
}

// join returns a place in the queue, or nil if it is the caller's turn immediately.
func (q *queue) join(from origin) *waiter {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.busy {
		q.serve(from)
		return nil
	}
	w := &waiter{from, make(chan struct{})}
	q.waiting = append(q.waiting, w)
	return w
}

// leave ends a turn.
func (q *queue) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.busy = false
	if len(q.waiting) == 0 {
		return
	}
	next := 0
	for i, w := range q.waiting {
		if q.before(w.from, q.waiting[next].from) {
			next = i
		}
	}
	w := q.waiting[next]
	q.waiting = slices.Delete(q.waiting, next, next+1)
	q.serve(w.from)
	close(w.ready)
}

// before reports whether network a is served before network b.
func (q *queue) before(a, b origin) bool {
	if a.site != b.site {
		return q.served[a.site] < q.served[b.site]
	}
	return q.served[a.address] < q.served[b.address]
}

// serve gives a network its turn. The caller holds the lock.
func (q *queue) serve(from origin) {
	if len(q.served) >= maxAddresses {
		clear(q.served)
	}
	q.busy = true
	q.turn++
	q.served[from.address], q.served[from.site] = q.turn, q.turn
}
