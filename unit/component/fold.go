package component

import (
	"cmp"
	"slices"
	"time"

	"github.com/toskose/toskose/unit/wire"
)

// recentExecutions is the number of ended executions kept per component, so that a repeated id is
// not executed again.
const recentExecutions = 64

// componentStatus is the current state of a component: the result of folding its journal entries.
type componentStatus struct {
	state       string
	startedFrom string // non-empty while a start's processes live
	why         string
	since       time.Time
	seq         uint64
	completed   bool          // it is a program that has ended as its exitcodes expect
	external    bool          // it is a program that was started or stopped without an operation
	failing     *wire.Failing // nil: it is live, or not checked
	unmoved     bool          // it has entries, but has not left its initial state
	death       *wire.Death   // see wire.Checkpointed
	restarts    int
	recent      []wire.Execution // oldest first
}

// open reports whether processes of a start are alive.
func (s componentStatus) open() bool { return s.startedFrom != "" }

// executing returns the latest execution that has not ended, or nil.
func (s componentStatus) executing() *wire.Execution {
	c := s.toWire("")
	return c.Executing()
}

// fold returns the statuses after one more entry. It does not modify its arguments.
func fold(before map[string]componentStatus, e wire.Entry) map[string]componentStatus {
	after := make(map[string]componentStatus, len(before)+1)
	if e.Kind == wire.EntryCheckpoint {
		for _, c := range e.Components {
			c.Recent = slices.Clone(c.Recent)
			after[c.Component] = statusFromWire(c)
		}
		return after
	}
	for name, s := range before {
		after[name] = s
	}
	if e.Component != "" {
		after[e.Component] = foldOne(before[e.Component], e)
	}
	return after
}

func foldOne(s componentStatus, e wire.Entry) componentStatus {
	return statusFromWire(s.toWire(e.Component).After(e, recentExecutions))
}

// toWire returns the status as checkpoints have it; statusFromWire is its inverse.
func (s componentStatus) toWire(name string) wire.Checkpointed {
	return wire.Checkpointed{
		Component: name, State: s.state, StartedFrom: s.startedFrom, Since: s.since, Why: s.why, Seq: s.seq, Unmoved: s.unmoved,
		Completed: s.completed, External: s.external, Failing: s.failing, Death: s.death, Restarts: s.restarts, Recent: s.recent,
	}
}

func statusFromWire(c wire.Checkpointed) componentStatus {
	return componentStatus{
		state: c.State, startedFrom: c.StartedFrom, why: c.Why, since: c.Since, seq: c.Seq, unmoved: c.Unmoved, completed: c.Completed,
		external: c.External, failing: c.Failing, death: c.Death, restarts: c.Restarts, recent: c.Recent,
	}
}

// checkpoint returns the components of a checkpoint entry, sorted by name. Folding them restores
// the same statuses.
func checkpoint(all map[string]componentStatus) []wire.Checkpointed {
	components := make([]wire.Checkpointed, 0, len(all))
	for name, s := range all {
		c := s.toWire(name)
		c.Recent = slices.Clone(s.recent)
		components = append(components, c)
	}
	slices.SortFunc(components, func(a, b wire.Checkpointed) int { return cmp.Compare(a.Component, b.Component) })
	return components
}
