package component

import (
	"cmp"
	"slices"
	"time"

	"github.com/toskose/toskose/unit/wire"
)

// recentExecutions is how many ended executions of a component are remembered,
// so that an id that is sent again is not run again.
const recentExecutions = 64

// standing is where a component stands: what its journal entries add up to.
type standing struct {
	state       string
	startedFrom string // not empty: open, a start has left processes
	why         string
	since       time.Time
	seq         uint64
	recent      []wire.Execution // oldest first
}

// open reports whether a start has left processes that nothing has closed.
func (s standing) open() bool { return s.startedFrom != "" }

// executing returns the latest execution that has not ended, if any.
func (s standing) executing() *wire.Execution {
	c := s.onWire("")
	return c.Executing()
}

// fold returns where all components stand after one more entry. It changes
// nothing that it was given.
func fold(before map[string]standing, e wire.Entry) map[string]standing {
	after := make(map[string]standing, len(before)+1)
	if e.Kind == wire.EntryCheckpoint {
		for _, c := range e.Components {
			c.Recent = slices.Clone(c.Recent)
			after[c.Component] = standingOf(c)
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

func foldOne(s standing, e wire.Entry) standing {
	return standingOf(s.onWire(e.Component).After(e, recentExecutions))
}

// onWire is a standing as checkpoints have it; standingOf is the reverse.
func (s standing) onWire(name string) wire.Checkpointed {
	return wire.Checkpointed{
		Component: name, State: s.state, StartedFrom: s.startedFrom, Since: s.since, Why: s.why, Seq: s.seq, Recent: s.recent,
	}
}

func standingOf(c wire.Checkpointed) standing {
	return standing{state: c.State, startedFrom: c.StartedFrom, why: c.Why, since: c.Since, seq: c.Seq, recent: c.Recent}
}

// checkpoint returns the components of a checkpoint entry, sorted by name:
// folding it gives the same standings.
func checkpoint(all map[string]standing) []wire.Checkpointed {
	components := make([]wire.Checkpointed, 0, len(all))
	for name, s := range all {
		c := s.onWire(name)
		c.Recent = slices.Clone(s.recent)
		components = append(components, c)
	}
	slices.SortFunc(components, func(a, b wire.Checkpointed) int { return cmp.Compare(a.Component, b.Component) })
	return components
}
