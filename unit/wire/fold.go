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

// After returns where a component stands after one more entry about it, with the
// executions that Bounded keeps, without their output. It is the rule for the
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
			x.Gone, x.Stopped, x.ContainerEnded = e.Time, e.Kind != EntryGone, e.ContainerEnded
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

// MaxAttempts is how many executions of one operation in a row are remembered, however
// many others there were since, if they did not end well: as many can be counted.
const MaxAttempts = 16

// Bounded returns the last executions, as many as are to be kept, and of those before
// them the ones under way, the last of each index of a Task, and the ones that say how
// often another operation was tried in vain: its last, and as long as these failed, or
// ended by themselves, those before.
func Bounded(recent []Execution, keep int) []Execution {
	before := len(recent) - keep
	if before <= 0 {
		return recent
	}
	type operation struct {
		iface, name string
		index       int // from 1; 0: no part of a Task
	}
	tried := map[operation]int{}
	needed := make([]bool, before)
	for i := range slices.Backward(recent) {
		x := &recent[i]
		of := operation{x.Interface, x.Operation, 0}
		if x.Part != nil {
			of.index = x.Part.Index + 1
		}
		counts := x.Outcome.Done() && (x.Outcome != OutcomeCancelled || x.Part != nil) && tried[of] < MaxAttempts
		if i < before {
			needed[i] = counts || !x.Outcome.Done()
		}
		if counts {
			tried[of]++
		}
		if counts && (x.Part != nil || x.Outcome == OutcomeSucceeded && (x.Gone.IsZero() || x.Stopped)) {
			tried[of] = MaxAttempts
		}
	}
	kept := make([]Execution, 0, len(recent))
	for i, x := range recent {
		if i >= before || needed[i] {
			kept = append(kept, x)
		}
	}
	return kept
}
