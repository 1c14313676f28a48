package view

import (
	"maps"
	"sync"
	"time"

	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/mirror"
	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/wire"
)

// Rules evaluate the requirements between the components of the application.
type Rules struct {
	model   *goal.Model
	digests map[string]string // expected digests of the units' configurations, by node
	holds   func() *goal.Document
	clock   *Clock

	mu      sync.Mutex
	last    *mirror.Snapshot // the last translated snapshot
	now     goal.Situation
	index   map[*mirror.Replica]int // in now.Replicas
	goal    *goal.Document          // with which Tasks were last settled
	settled goal.Situation
	tasks   *progress
	times   map[string]times // of executions, by instance
	heard   map[string]bool  // instances that were reachable at the last translation

	shown shown
}

// NewRules returns the rules of an application with the expected digests of its units. The goal returned by holds
// only affects Tasks.
func NewRules(model *goal.Model, digests map[string]string, holds func() *goal.Document, clock *Clock) *Rules {
	if len(model.Tasks) == 0 {
		holds = func() *goal.Document { return nil }
	}
	return &Rules{model: model, digests: digests, holds: holds, clock: clock, times: map[string]times{}, heard: map[string]bool{}}
}

// At returns the state in a snapshot. It reuses the results for unchanged replicas.
func (r *Rules) At(now *mirror.Snapshot) Look {
	r.mu.Lock()
	defer r.mu.Unlock()
	holds := r.holds()
	if r.last == now && r.goal == holds {
		if due := r.tasks.due; due.IsZero() || r.clock.Now().Before(due) {
			return r.look()
		}
	}
	next, index := goal.Situation{Standalone: map[string]bool{}}, map[*mirror.Replica]int{}
	for _, n := range now.Nodes {
		next.Standalone[n.Name] = len(n.Running) > 0
		for _, at := range n.Missing {
			next.Missing = append(next.Missing, at.Address.String())
		}
		for _, at := range n.Replicas {
			if !at.Gone.IsZero() {
				continue
			}
			index[at] = len(next.Replicas)
			if i, known := r.index[at]; known {
				next.Replicas = append(next.Replicas, r.now.Replicas[i])
			} else {
				next.Replicas = append(next.Replicas, r.seen(at))
			}
		}
	}
	next = next.Indexed()
	r.forget(next)
	r.last, r.now, r.index, r.goal = now, next, index, holds
	r.settled = r.model.Settled(next, holds)
	r.tasks = r.stand(r.tasks)
	return r.look()
}

// look returns the last result. The caller holds the lock.
func (r *Rules) look() Look {
	return Look{Snapshot: r.last, rules: r, told: r.now, situation: r.settled, goal: r.goal, index: r.index, tasks: r.tasks}
}

// forget drops the data of removed instances. The caller holds the lock.
func (r *Rules) forget(s goal.Situation) {
	if len(r.heard) <= len(s.Replicas) {
		return
	}
	there := map[string]bool{}
	for i := range s.Replicas {
		there[s.Replicas[i].Instance] = true
	}
	maps.DeleteFunc(r.heard, func(instance string, _ bool) bool { return !there[instance] })
	maps.DeleteFunc(r.times, func(instance string, _ times) bool { return !there[instance] })
}

// seen returns a replica in the form that package goal uses.
func (r *Rules) seen(at *mirror.Replica) goal.Replica {
	g := goal.Replica{Node: at.Node, Name: at.Address.String(), Instance: at.Instance, Apart: !at.Resolvable, Components: map[string]goal.Component{}}
	switch {
	case at.Problem != nil || at.Instance == "":
		g.Problem, g.Unknown = "its unit does not answer", true
	case r.outdated(at):
		g.Problem = "outdated: it has another version of its components than the manager"
	}
	known := r.clock.timesOf(at, r.times[at.Instance], r.heard[at.Instance])
	r.times[at.Instance], r.heard[at.Instance] = known, !g.Unknown
	for _, c := range at.Components {
		g.Components[c.Component] = standing(c, known)
	}
	return g
}

// outdated reports whether a replica has another configuration than the manager's model: it belongs to another
// deployment with its own manager.
func (r *Rules) outdated(at *mirror.Replica) bool {
	expected := r.digests[at.Node]
	return expected != "" && at.Digest != "" && at.Digest != expected
}

// standing returns a component in the form that package goal uses.
func standing(c *mirror.Component, known times) goal.Component {
	made := goal.Component{State: c.State, Open: c.StartedFrom != "", Seq: c.Seq}
	for _, x := range c.Recent {
		t := known[x.ID]
		run := goal.Run{
			ID: x.ID, By: x.By, Operation: protocol.Operation{Interface: x.Interface, Name: x.Operation}, From: x.From, To: x.To,
			Cancelled: x.Outcome == wire.OutcomeCancelled, Started: t.started, Ended: t.ended, Gone: t.gone, Stopped: x.Stopped, Container: x.ContainerEnded, Seq: x.Seq,
			ExitCode: x.ExitCode, Signal: x.Signal, Part: partSince(x.Part, t.since),
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
	return made
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

// Look is a snapshot with the results of the rules.
type Look struct {
	*mirror.Snapshot
	rules     *Rules
	told      goal.Situation // as reported by the units
	situation goal.Situation // with Tasks settled
	goal      *goal.Document
	index     map[*mirror.Replica]int
	tasks     *progress
}

// Goal returns the document by which Tasks are shown; nil without a goal or Tasks.
func (l Look) Goal() *goal.Document { return l.goal }

// Situation returns the state in the form that package goal uses.
func (l Look) Situation() goal.Situation {
	s := l.told
	s.Now, s.Complete = l.rules.clock.Now(), l.Complete()
	return s
}

// of returns a replica in the form that package goal uses.
func (l Look) of(at *mirror.Replica) *goal.Replica { return &l.situation.Replicas[l.index[at]] }
