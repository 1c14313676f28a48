package component

import (
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/toskose/toskose/tosca/protocol"
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

// executing returns the latest execution that has not ended, if any. There are
// two while a stop waits for the start that it has cancelled.
func (s standing) executing() *wire.Execution {
	for i := len(s.recent) - 1; i >= 0; i-- {
		if !s.recent[i].Outcome.Done() {
			return &s.recent[i]
		}
	}
	return nil
}

// fold returns where all components stand after one more entry. It changes
// nothing that it was given.
func fold(before map[string]standing, e wire.Entry) map[string]standing {
	after := make(map[string]standing, len(before)+1)
	if e.Kind == wire.EntryCheckpoint {
		for _, c := range e.Components {
			after[c.Component] = standing{
				state: c.State, startedFrom: c.StartedFrom, why: c.Why, since: c.Since,
				seq: c.Seq, recent: slices.Clone(c.Recent),
			}
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

// untouched is why a component is in its initial state, and unmoved ends why it
// still is after something was done to it.
const (
	untouched = "nothing was done to it yet"
	unmoved   = ", which left it as it was"
)

func foldOne(s standing, e wire.Entry) standing {
	switch {
	case s.since.IsZero() || e.State != s.state:
		s.since, s.why = e.Time, e.Why
	case e.Kind == wire.EntryExit && (s.why == untouched || strings.HasSuffix(s.why, unmoved)):
		s.why = e.Why + unmoved
	}
	if s.open() && e.StartedFrom == "" {
		s.recent = closed(s.recent, e)
	}
	s.state, s.startedFrom, s.seq = e.State, e.StartedFrom, e.Seq
	if e.Execution != nil {
		x := *e.Execution
		x.Seq = e.Seq
		s.recent = remember(s.recent, x)
	}
	return s
}

// closed marks the start that left processes, now that they have ended.
func closed(recent []wire.Execution, e wire.Entry) []wire.Execution {
	recent = slices.Clone(recent)
	for i := range slices.Backward(recent) {
		x := &recent[i]
		if x.Outcome == wire.OutcomeSucceeded && (protocol.Operation{Interface: x.Interface, Name: x.Operation}).Kind() == protocol.KindStart {
			x.Gone, x.Stopped = e.Time, e.Kind != wire.EntryGone
			break
		}
	}
	return recent
}

// remember puts an execution in, in the place of an earlier version of it, and
// forgets the oldest ended ones that are too many.
func remember(recent []wire.Execution, x wire.Execution) []wire.Execution {
	recent = slices.Clone(recent)
	if i := slices.IndexFunc(recent, func(r wire.Execution) bool { return r.ID == x.ID }); i >= 0 {
		if x.Stdout == "" && x.Stderr == "" {
			x.Stdout, x.Stderr = recent[i].Stdout, recent[i].Stderr
		}
		recent[i] = x
		return recent
	}
	recent = append(recent, x)
	for len(recent) > recentExecutions {
		i := slices.IndexFunc(recent, func(r wire.Execution) bool { return r.Outcome.Done() })
		if i < 0 {
			break
		}
		recent = slices.Delete(recent, i, i+1)
	}
	return recent
}

// checkpoint returns the components of a checkpoint entry, sorted by name:
// folding it gives the same standings, without the output's ends.
func checkpoint(all map[string]standing) []wire.Checkpointed {
	components := make([]wire.Checkpointed, 0, len(all))
	for name, s := range all {
		c := wire.Checkpointed{
			Component: name, State: s.state, StartedFrom: s.startedFrom,
			Since: s.since, Why: s.why, Seq: s.seq,
		}
		for _, x := range s.recent {
			x.Stdout, x.Stderr = "", ""
			c.Recent = append(c.Recent, x)
		}
		components = append(components, c)
	}
	sort.SliceStable(components, func(i, j int) bool { return components[i].Component < components[j].Component })
	return components
}
