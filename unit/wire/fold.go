package wire

import (
	"slices"
	"strings"
)

// Untouched is why a component is in its initial state, and unmoved ends why it
// still is after something was done to it.
const (
	Untouched = "nothing was done to it yet"
	unmoved   = ", which left it as it was"
)

// After returns where a component stands after one more entry about it, with at
// most keep executions that have ended, without their output. It is the rule for the
// unit, which writes entries, and for all who read them. It changes nothing that it was
// given.
func (c Checkpointed) After(e Entry, keep int) Checkpointed {
	switch {
	case c.Since.IsZero() || e.State != c.State:
		c.Since, c.Why = e.Time, e.Why
	case e.Kind == EntryExit && (c.Why == Untouched || strings.HasSuffix(c.Why, unmoved)):
		c.Why = e.Why + unmoved
	}
	if c.Open() && e.StartedFrom == "" {
		c.Recent = closed(c.Recent, e)
	}
	c.State, c.StartedFrom, c.Seq = e.State, e.StartedFrom, e.Seq
	if e.Execution != nil {
		x := *e.Execution.Brief()
		x.Seq = e.Seq
		c.Recent = remember(c.Recent, x, keep)
	}
	return c
}

// closed marks the start that left processes, now that they have ended.
func closed(recent []Execution, e Entry) []Execution {
	recent = slices.Clone(recent)
	for i := range slices.Backward(recent) {
		x := &recent[i]
		if x.Outcome == OutcomeSucceeded && x.starts() {
			x.Gone, x.Stopped = e.Time, e.Kind != EntryGone
			break
		}
	}
	return recent
}

// Open reports whether a start has left processes that nothing has closed.
func (c *Checkpointed) Open() bool { return c.StartedFrom != "" }

// Executing returns the latest execution that has not ended, if any. There are
// two while a stop waits for the start that it has cancelled.
func (c *Checkpointed) Executing() *Execution {
	for i := len(c.Recent) - 1; i >= 0; i-- {
		if !c.Recent[i].Outcome.Done() {
			return &c.Recent[i]
		}
	}
	return nil
}

// remember puts an execution in, in the place of an earlier version of it, and
// forgets the oldest ended ones that are too many.
func remember(recent []Execution, x Execution, keep int) []Execution {
	recent = slices.Clone(recent)
	if i := slices.IndexFunc(recent, func(r Execution) bool { return r.ID == x.ID }); i >= 0 {
		recent[i] = x
		return recent
	}
	return Bounded(append(recent, x), keep)
}

// Bounded returns executions without the oldest ended ones that are too many.
func Bounded(recent []Execution, keep int) []Execution {
	for len(recent) > keep {
		i := slices.IndexFunc(recent, func(r Execution) bool { return r.Outcome.Done() })
		if i < 0 {
			break
		}
		recent = slices.Delete(recent, i, i+1)
	}
	return recent
}
