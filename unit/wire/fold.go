package wire

import "slices"

// Untouched is the reason of a component's initial state. unchanged is appended to the reason after
// an execution that left a component in it.
const (
	Untouched = "nothing was done to it yet"
	unchanged = ", which left it as it was"
)

// After returns the state of a component after one more entry, with the executions that Bounded
// keeps, without their output. The unit and all readers of its journal use this rule. After does
// not modify its arguments.
func (c Checkpointed) After(e Entry, keep int) Checkpointed {
	unmoved := c.Seq == 0 || c.Unmoved
	switch {
	case c.Since.IsZero():
		c.Since, c.Why = e.Time, e.Why
		unmoved = e.Kind == EntryStart // the first entry of a component that was unknown
	case e.State != c.State:
		c.Since, c.Why = e.Time, e.Why
		unmoved = false
	case e.Kind == EntryGone: // a program that never was in another state
		c.Since, c.Why = e.Time, e.Why
	case e.Kind == EntryExit && unmoved:
		c.Why = e.Why + unchanged
	}
	c.Unmoved = unmoved
	c.External = e.Kind == EntryRunning || e.Kind == EntryLive && c.External
	if c.Open() && e.StartedFrom == "" {
		var known bool
		c.Recent, known = markEnded(c.Recent, e)
		c.External = e.Kind == EntryStop && !known
	}
	if e.Kind == EntryLive || e.StartedFrom == "" {
		c.Failing = e.Failing
	}
	switch {
	case e.Kind == EntryGone || c.Open() && e.StartedFrom == "":
		c.Death = e.Death
	case e.StartedFrom != "" && !c.Open() && c.Death != nil:
		c.Restarts++
	}
	c.State, c.StartedFrom, c.Seq, c.Completed = e.State, e.StartedFrom, e.Seq, e.Completed
	if e.Execution != nil {
		x := *e.Execution.Brief()
		x.Seq = e.Seq
		c.Recent = remember(c.Recent, x, keep)
	}
	return c
}

// markEnded records in the latest start that its processes have ended. known is false without a start, or if other
// processes have replaced its own since.
func markEnded(recent []Execution, e Entry) (marked []Execution, known bool) {
	recent = slices.Clone(recent)
	for i := range slices.Backward(recent) {
		x := &recent[i]
		if x.Outcome == OutcomeSucceeded && x.leavesProcesses() {
			if known = x.Gone.IsZero(); known {
				x.Gone, x.Stopped, x.ContainerEnded, x.Death = e.Time, e.Kind != EntryGone, e.ContainerEnded, e.Death
			}
			break
		}
	}
	return recent, known
}

// Open reports whether processes of a start are alive.
func (c *Checkpointed) Open() bool { return c.StartedFrom != "" }

// Executing returns the latest execution that has not ended, or nil. There are two while a stop
// waits for the start that it has cancelled.
func (c *Checkpointed) Executing() *Execution {
	for i := len(c.Recent) - 1; i >= 0; i-- {
		if !c.Recent[i].Outcome.Done() {
			return &c.Recent[i]
		}
	}
	return nil
}

// remember adds an execution or replaces its earlier version, and drops surplus ended ones.
func remember(recent []Execution, x Execution, keep int) []Execution {
	recent = slices.Clone(recent)
	if i := slices.IndexFunc(recent, func(r Execution) bool { return r.ID == x.ID }); i >= 0 {
		recent[i] = x
		return recent
	}
	return Bounded(append(recent, x), keep)
}

// MaxAttempts is how many consecutive unsuccessful executions of one operation are kept,
// independent of executions of other operations, so that attempts can be counted.
const MaxAttempts = 16

// Bounded returns the last keep executions. Of earlier ones it keeps the running ones, the
// last of each index of a Task, and for each other operation the last one and the unsuccessful
// series that it ends.
func Bounded(recent []Execution, keep int) []Execution {
	before := len(recent) - keep
	if before <= 0 {
		return recent
	}
	type operation struct {
		iface, name string
		index       int // from 1; 0: not part of a Task
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
