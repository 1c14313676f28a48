package goal

import (
	"time"

	"github.com/toskose/toskose/manager/mirror"
	"github.com/toskose/toskose/unit/wire"
)

// Clock measures time for decisions. It is monotonic, regardless of changes of the machine's clock. Its methods
// are safe for concurrent use.
type Clock struct {
	start time.Time
	wall  func() time.Time // the machine's clock
}

// NewClock returns a clock that starts at the machine's current time. wall replaces the machine's clock in tests;
// it is nil otherwise.
func NewClock(wall func() time.Time) *Clock {
	if wall == nil {
		wall = time.Now
	}
	return &Clock{start: time.Now(), wall: wall}
}

// Now returns the time of the clock.
func (c *Clock) Now() time.Time { return c.start.Add(time.Since(c.start)) }

// trusted is the largest accepted difference between an event's timestamp and the time at which the manager,
// following the unit, receives it.
const trusted = 5 * time.Second

// convert returns the time of an event on this clock. The event's timestamp comes from the clock of the unit's
// machine, and is meant for people: an event that has just been received happened now, and no event is in the
// future. A zero time stays zero.
func (c *Clock) convert(at time.Time, live bool) time.Time {
	if at.IsZero() {
		return at
	}
	age := c.wall().Round(0).Sub(at.Round(0))
	if age < 0 || live && age > trusted {
		age = 0
	}
	return c.Now().Add(-age)
}

// executionTimes are the start and end times of an instance's executions on the Clock; once set, they do not change.
type executionTimes map[string]*runTimes

type runTimes struct{ started, ended, gone, since time.Time }

// timesOf returns the times of all executions of a replica. before holds the known times; live reports whether the
// manager has followed its unit since.
func (c *Clock) timesOf(at *mirror.Replica, before executionTimes, live bool) executionTimes {
	next := executionTimes{}
	for _, component := range at.Components {
		for i := range component.Recent {
			x := &component.Recent[i]
			t := runTimes{}
			if known := before[x.ID]; known != nil {
				t = *known
			}
			t.complete(c, x, live)
			next[x.ID] = &t
		}
		if component.External {
			id := externalID(component)
			if next[id] = before[id]; next[id] == nil {
				next[id] = &runTimes{started: c.convert(component.Since, live)}
			}
		}
	}
	return next
}

// complete adds the missing times.
func (t *runTimes) complete(c *Clock, x *wire.Execution, live bool) {
	for _, one := range []struct {
		known *time.Time
		at    time.Time
	}{{&t.started, x.Started}, {&t.ended, x.Ended}, {&t.gone, x.Gone}} {
		if one.known.IsZero() {
			*one.known = c.convert(one.at, live)
		}
	}
	if x.Part != nil && t.since.IsZero() {
		if t.since = x.Part.Since; t.since.After(c.Now()) { // from a manager whose clock was ahead
			t.since = t.started
		}
	}
}
