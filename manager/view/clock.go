package view

import (
	"time"

	"github.com/toskose/toskose/manager/mirror"
	"github.com/toskose/toskose/unit/wire"
)

// Clock measures time for decisions: its readings advance as fast as time does, whatever
// happens to the machine's clock. Its methods are safe for concurrent use.
type Clock struct {
	start time.Time
	wall  func() time.Time // the machine's clock
}

// NewClock returns a clock that reads as the machine's does now. wall replaces the machine's
// clock in tests; nil: it does not.
func NewClock(wall func() time.Time) *Clock {
	if wall == nil {
		wall = time.Now
	}
	return &Clock{start: time.Now(), wall: wall}
}

// Now returns the time of the clock.
func (c *Clock) Now() time.Time { return c.start.Add(time.Since(c.start)) }

// trusted is how far the time of an event may be from when the manager learns of it,
// while it follows the unit.
const trusted = 5 * time.Second

// convert returns when an event happened, by this clock. A unit has given the time by its
// machine's clock, which is for people to read: an event that the manager has just learned of
// happened just now, and none happens in the future. A zero time stays zero.
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

// times are when the executions of an instance began and ended, by the Clock: once
// known, they do not change.
type times map[string]*executionTimes

type executionTimes struct{ started, ended, gone, since time.Time }

// timesOf returns the times of all executions of a replica. before are those that are known;
// live says that the manager has followed its unit since.
func (c *Clock) timesOf(at *mirror.Replica, before times, live bool) times {
	next := times{}
	for _, component := range at.Components {
		for i := range component.Recent {
			x := &component.Recent[i]
			t := executionTimes{}
			if known := before[x.ID]; known != nil {
				t = *known
			}
			t.complete(c, x, live)
			next[x.ID] = &t
		}
	}
	return next
}

// complete adds the times that are not known yet.
func (t *executionTimes) complete(c *Clock, x *wire.Execution, live bool) {
	for _, one := range []struct {
		known *time.Time
		at    time.Time
	}{{&t.started, x.Started}, {&t.ended, x.Ended}, {&t.gone, x.Gone}} {
		if one.known.IsZero() {
			*one.known = c.convert(one.at, live)
		}
	}
	if x.Part != nil && t.since.IsZero() {
		if t.since = x.Part.Since; t.since.After(c.Now()) { // by the clock of a manager that was ahead
			t.since = t.started
		}
	}
}
