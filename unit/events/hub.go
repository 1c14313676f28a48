package events

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Hub passes events on to the pools that subscribed to them. Its zero value is
// ready, and has none.
type Hub struct {
	serial  uint64 // of the next event that a pool takes
	mu      sync.Mutex
	pools   []*Pool
	changed chan struct{} // closed and replaced when pools changes

	known atomic.Pointer[[]*Pool] // pools, for Wants
}

// Add lets a pool have what is emitted from now on.
func (h *Hub) Add(p *Pool) {
	h.change(func() { h.pools = append(slices.Clone(h.pools), p) })
}

// Remove ends that. What the pool has in its buffer stays there.
func (h *Hub) Remove(p *Pool) {
	h.change(func() {
		h.pools = slices.DeleteFunc(slices.Clone(h.pools), func(other *Pool) bool { return other == p })
	})
}

func (h *Hub) change(do func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	do()
	pools := h.pools
	h.known.Store(&pools)
	if h.changed != nil {
		close(h.changed)
		h.changed = nil
	}
}

// Wants tells, without a lock, whether anyone subscribed to a type, so that an
// event whose making costs something need not be made.
func (h *Hub) Wants(t Type) bool {
	pools := h.known.Load()
	return pools != nil && slices.ContainsFunc(*pools, func(p *Pool) bool { return p.wants(t) })
}

// Emit passes an event on. All pools get events in the same order. It never
// waits for a listener.
func (h *Hub) Emit(e Event) {
	if !h.Wants(e.Type) {
		return
	}
	type said struct {
		by      *Pool
		reports []report
	}
	var all []said
	h.mu.Lock()
	serial := h.serial
	for _, p := range h.pools {
		if p.wants(e.Type) {
			h.serial = serial + 1
			all = append(all, said{p, p.offer(e, serial)})
		}
	}
	h.mu.Unlock()
	for _, s := range all {
		s.by.log(s.reports)
	}
}

// period is how often a type of tick comes.
type period struct {
	t     Type
	every time.Duration
}

var periods = []period{{Tick5, 5 * time.Second}, {Tick60, time.Minute}, {Tick3600, time.Hour}}

// Tick emits TICK events until ctx ends: each at the moments that its period
// divides, counted from the beginning of 1970. While nobody subscribes to any
// it waits without a timer.
func (h *Hub) Tick(ctx context.Context, now func() time.Time) {
	last := now()
	for {
		changed := h.next()
		wanted := slices.DeleteFunc(slices.Clone(periods), func(p period) bool { return !h.Wants(p.t) })
		var due <-chan time.Time
		stop := func() bool { return true }
		if len(wanted) > 0 {
			timer := time.NewTimer(untilTick(wanted, now()))
			due, stop = timer.C, timer.Stop
		}
		select {
		case <-due:
		case <-changed:
			stop()
		case <-ctx.Done():
			stop()
			return
		}
		this := now()
		for _, e := range ticks(wanted, last, this) {
			h.Emit(e)
		}
		last = this
	}
}

// next gives a channel that is closed when the pools change.
func (h *Hub) next() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.changed == nil {
		h.changed = make(chan struct{})
	}
	return h.changed
}

// untilTick is how long it is to the next tick of some periods.
func untilTick(of []period, now time.Time) time.Duration {
	wait := time.Duration(math.MaxInt64)
	for _, p := range of {
		wait = min(wait, slot(now, p.every).Add(p.every).Sub(now))
	}
	return wait
}

// ticks are the events of some periods between two moments: one of each at most,
// of the last moment that it divides, also where the clock was set back.
func ticks(of []period, last, now time.Time) []Event {
	var due []Event
	for _, p := range of {
		if this := slot(now, p.every); !this.Equal(slot(last, p.every)) {
			due = append(due, ticked(p.t, this))
		}
	}
	return due
}

// slot is the last moment that a period divides.
func slot(t time.Time, every time.Duration) time.Time {
	seconds, length := t.Unix(), int64(every/time.Second)
	return time.Unix(seconds-seconds%length, 0)
}
