package view

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/toskose/toskose/manager/goal"
)

// progress is the progress of all Tasks. It is immutable. A later progress shares the values that have not
// changed, so that views of them can be reused.
type progress struct {
	of    map[string]*goal.TaskStatus
	nodes map[string][]string // the Tasks of each node, sorted
	due   time.Time           // when the next deadline passes, since no event reports it; zero: never
}

// on appends the Tasks of a node to a list.
func (s *progress) on(all []*goal.TaskStatus, node string) []*goal.TaskStatus {
	for _, task := range s.nodes[node] {
		all = append(all, s.of[task])
	}
	return all
}

// progress returns the progress of Tasks; before is the previous result.
func (r *Rules) progress(before *progress, s goal.Situation, document *goal.Document) *progress {
	if before == nil {
		before = &progress{nodes: map[string][]string{}}
		for _, task := range slices.Sorted(maps.Keys(r.model.Tasks)) {
			node := r.model.Node[task]
			before.nodes[node] = append(before.nodes[node], task)
		}
	}
	next, changed := &progress{of: map[string]*goal.TaskStatus{}, nodes: before.nodes}, before.of == nil
	for task, status := range r.model.TaskStatuses(document, s) {
		last := before.of[task]
		if last == nil || !reflect.DeepEqual(*last, status) {
			last, changed = &status, true
		}
		next.of[task] = last
		deadline := r.model.Tasks[task].Deadline
		if at := status.Since.Add(deadline); deadline > 0 && !status.Since.IsZero() && at.After(s.Now) && (next.due.IsZero() || at.Before(next.due)) {
			next.due = at
		}
	}
	if !changed && before.due.Equal(next.due) {
		return before
	}
	return next
}

// Tasks returns the status of each Task by name. An unchanged status stays the same pointer.
func (l Look) Tasks() map[string]*goal.TaskStatus { return l.tasks.of }

// Same reports whether a later look has the same content.
func (l Look) Same(later Look) bool { return l.Observed == later.Observed && l.tasks == later.tasks }
