package events

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Hub passes events to the pools that subscribed to them. The zero value is ready for use and has
// no pools.
type Hub struct {
	serial  uint64 // of the next event that a pool accepts
	mu      sync.Mutex
	pools   []*Pool
	changed chan struct{} // closed and replaced when pools changes

	current atomic.Pointer[[]*Pool] // a copy of pools, for Wants
}

// Add subscribes a pool to future events.
func (h *Hub) Add(p *Pool) {
	h.change(func() { h.pools = append(slices.Clone(h.pools), p) })
}

// Remove ends a pool's subscription. Its buffered events are kept.
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
	h.current.Store(&pools)
	if h.changed != nil {
		close(h.changed)
		h.changed = nil
	}
}

// Wants reports, without a lock, whether any pool has subscribed to a type, so that callers can
// avoid building unused events.
func (h *Hub) Wants(t Type) bool {
	pools := h.current.Load()
	return pools != nil && slices.ContainsFunc(*pools, func(p *Pool) bool { return p.wants(t) })
}

// Emit passes an event to the pools. All pools receive events in the same order. It never waits for
// a listener.
func (h *Hub) Emit(e Event) {
	if !h.Wants(e.Type) {
		return
	}
	type delivery struct {
		pool    *Pool
		reports []logMessage
	}
	var deliveries []delivery
	h.mu.Lock()
	serial := h.serial
	for _, p := range h.pools {
		if p.wants(e.Type) {
			h.serial = serial + 1
			deliveries = append(deliveries, delivery{p, p.offer(e, serial)})
		}
	}
	h.mu.Unlock()
	for _, d := range deliveries {
		d.pool.log(d.reports)
	}
}

// period is the interval of a type of tick.
type period struct {
	t     Type
	every time.Duration
}

var periods = []period{{Tick5, 5 * time.Second}, {Tick60, time.Minute}, {Tick3600, time.Hour}}

// Tick emits TICK events until ctx is done, each when the Unix time is a multiple of its period.
// Without subscribers it runs no timer.
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

// next returns a channel that is closed when the pools change.
func (h *Hub) next() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.changed == nil {
		h.changed = make(chan struct{})
	}
	return h.changed
}

// untilTick returns the time until the next tick.
func untilTick(of []period, now time.Time) time.Duration {
	wait := time.Duration(math.MaxInt64)
	for _, p := range of {
		wait = min(wait, slot(now, p.every).Add(p.every).Sub(now))
	}
	return wait
}

// ticks returns the events due between two times: at most one per period, for its last tick, even
// if the clock was set back.
func ticks(of []period, last, now time.Time) []Event {
	var due []Event
	for _, p := range of {
		if this := slot(now, p.every); !this.Equal(slot(last, p.every)) {
			due = append(due, tickEvent(p.t, this))
		}
	}
	return due
}

// slot returns the last multiple of a period at or before t.
func slot(t time.Time, every time.Duration) time.Time {
	seconds, length := t.Unix(), int64(every/time.Second)
	return time.Unix(seconds-seconds%length, 0)
}
