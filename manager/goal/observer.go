package goal

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/toskose/toskose/manager/mirror"
	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/wire"
)

// Observer derives Situations from the mirror's snapshots. It reuses the results for unchanged replicas. Its methods
// are safe for concurrent use.
type Observer struct {
	clock   *Clock
	digests map[string]string // expected digests of the units' configurations, by node

	mu        sync.Mutex
	last      *Observed
	times     map[string]executionTimes // of executions, by instance
	reachable map[string]bool           // instances that were reachable at the last observation
}

// NewObserver returns an Observer. digests are the expected digests of the units' configurations, by node.
func NewObserver(digests map[string]string, clock *Clock) *Observer {
	return &Observer{
		clock: clock, digests: digests, last: &Observed{Snapshot: &mirror.Snapshot{}}, times: map[string]executionTimes{}, reachable: map[string]bool{},
	}
}

// Observed is a snapshot and its Situation. It is immutable.
type Observed struct {
	*mirror.Snapshot
	situation Situation
	number    map[*mirror.Replica]int // in situation.Replicas
	clock     *Clock
}

// Situation returns the state of the units now.
func (o *Observed) Situation() Situation {
	s := o.situation
	s.Now, s.Complete = o.clock.Now(), o.Complete()
	return s
}

// Number returns the number of a replica in the Situation.
func (o *Observed) Number(at *mirror.Replica) int { return o.number[at] }

// At returns the situation in a snapshot.
func (o *Observer) At(now *mirror.Snapshot) *Observed {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.last.Snapshot == now {
		return o.last
	}
	s, number := Situation{Standalone: map[string]bool{}}, map[*mirror.Replica]int{}
	for _, n := range now.Nodes {
		s.Standalone[n.Name] = len(n.Running) > 0
		for _, at := range n.Missing {
			s.Missing = append(s.Missing, at.Address.String())
		}
		for _, at := range n.Replicas {
			if !at.Gone.IsZero() {
				continue
			}
			number[at] = len(s.Replicas)
			if i, known := o.last.number[at]; known {
				s.Replicas = append(s.Replicas, o.last.situation.Replicas[i])
			} else {
				s.Replicas = append(s.Replicas, o.replica(at))
			}
		}
	}
	s = s.Indexed()
	o.forgetRemoved(s)
	o.last = &Observed{Snapshot: now, situation: s, number: number, clock: o.clock}
	return o.last
}

// forgetRemoved drops the data of removed instances. The caller holds the lock.
func (o *Observer) forgetRemoved(s Situation) {
	if len(o.reachable) <= len(s.Replicas) {
		return
	}
	exists := map[string]bool{}
	for i := range s.Replicas {
		exists[s.Replicas[i].Instance] = true
	}
	maps.DeleteFunc(o.reachable, func(instance string, _ bool) bool { return !exists[instance] })
	maps.DeleteFunc(o.times, func(instance string, _ executionTimes) bool { return !exists[instance] })
}

// replica returns a new or changed replica. The caller holds the lock.
func (o *Observer) replica(at *mirror.Replica) Replica {
	r := Replica{Node: at.Node, Name: at.Address.String(), Instance: at.Instance, Unresolvable: !at.Resolvable, Components: map[string]Component{}}
	switch {
	case at.Problem != nil || at.Instance == "":
		r.Problem, r.Unknown = "its unit does not answer", true
	case o.Outdated(at):
		r.Problem = "outdated: it has another version of its components than the manager"
	}
	known := o.clock.timesOf(at, o.times[at.Instance], o.reachable[at.Instance])
	o.times[at.Instance], o.reachable[at.Instance] = known, !r.Unknown
	for _, c := range at.Components {
		r.Components[c.Component] = componentOf(c, known)
	}
	return r
}

// Outdated reports whether a replica has another configuration than the manager's model: it belongs to another
// deployment with its own manager.
func (o *Observer) Outdated(at *mirror.Replica) bool {
	expected := o.digests[at.Node]
	return expected != "" && at.Digest != "" && at.Digest != expected
}

// componentOf returns a component with the times of its executions.
func componentOf(c *mirror.Component, known executionTimes) Component {
	made := Component{State: c.State, Open: c.StartedFrom != "", Failing: c.Failing != nil, Completed: c.Completed, Seq: c.Seq}
	for i := range c.Recent {
		x := &c.Recent[i]
		t := known[x.ID]
		run := Run{
			ID: x.ID, By: x.By, Operation: protocol.Operation{Interface: x.Interface, Name: x.Operation}, From: x.From, To: x.To,
			Cancelled: x.Outcome == wire.OutcomeCancelled, Started: t.started, Ended: t.ended, Gone: t.gone, Stopped: x.Stopped, Container: x.ContainerEnded, Seq: x.Seq,
			ExitCode: x.ExitCode, Signal: x.Signal, Part: partSince(x.Part, t.since), Execution: x,
		}
		switch x.Outcome {
		case wire.OutcomeRunning:
			made.Executing = &run
			continue
		case wire.OutcomeSucceeded, wire.OutcomeCancelled:
		case wire.OutcomeFailed, wire.OutcomeTimeout, wire.OutcomeLost:
			run.Failed, run.TimedOut = true, x.Outcome == wire.OutcomeTimeout
		}
		made.Runs = append(made.Runs, run)
	}
	if t := known[externalID(c)]; c.External && t != nil {
		made.Runs = append(made.Runs, externalRun(c, t.started))
	}
	return made
}

// externalID identifies the change of a program without an operation among the times of executions.
func externalID(c *mirror.Component) string { return fmt.Sprintf("%s %d", c.Component, c.Seq) }

// externalRun returns the change of a program without an operation as a start that no one requested, or as its end.
func externalRun(c *mirror.Component, at time.Time) Run {
	r := Run{
		Operation: protocol.ProgramStart, From: protocol.Stopped, To: protocol.Running, Started: at, Ended: at, Seq: c.Seq, External: true,
	}
	if !c.Open() {
		r.Gone, r.Stopped = at, true
	}
	return r
}

// partSince returns a part with another start time; nil for nil.
func partSince(p *wire.Part, since time.Time) *wire.Part {
	if p == nil || p.Since.Equal(since) {
		return p
	}
	other := *p
	other.Since = since
	return &other
}
