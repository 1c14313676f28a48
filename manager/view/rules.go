package view

import (
	"sync"

	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/mirror"
)

// Rules evaluate the requirements between the components of the application.
type Rules struct {
	model    *goal.Model
	observer *goal.Observer
	current  func() *goal.Document
	clock    *goal.Clock

	mu   sync.Mutex
	last Look

	shown shown
}

// NewRules returns the rules of an application. The goal returned by current only affects Tasks.
func NewRules(model *goal.Model, observer *goal.Observer, current func() *goal.Document, clock *goal.Clock) *Rules {
	if len(model.Tasks) == 0 {
		current = func() *goal.Document { return nil }
	}
	return &Rules{model: model, observer: observer, current: current, clock: clock}
}

// At returns the state in a snapshot. It reuses the results for unchanged replicas.
func (r *Rules) At(now *mirror.Snapshot) Look {
	r.mu.Lock()
	defer r.mu.Unlock()
	document := r.current()
	if r.last.Observed != nil && r.last.Snapshot == now && r.last.goal == document {
		if due := r.last.tasks.due; due.IsZero() || r.clock.Now().Before(due) {
			return r.last
		}
	}
	next := Look{Observed: r.observer.At(now), rules: r, goal: document}
	reported := next.Situation()
	next.settled = r.model.Settled(reported, document)
	next.tasks = r.progress(r.last.tasks, reported, document)
	r.last = next
	return next
}

// Look is a snapshot with the results of the rules.
type Look struct {
	*goal.Observed
	rules   *Rules
	settled goal.Situation // with Tasks settled
	goal    *goal.Document
	tasks   *progress
}

// Goal returns the document by which Tasks are shown; nil without a goal or Tasks.
func (l Look) Goal() *goal.Document { return l.goal }

// of returns a replica with Tasks settled.
func (l Look) of(at *mirror.Replica) *goal.Replica { return &l.settled.Replicas[l.Number(at)] }
