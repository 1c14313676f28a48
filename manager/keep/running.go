package keep

import (
	"maps"
	"slices"
	"sync"

	"github.com/toskose/toskose/manager/goal"
)

// place is a component on a replica.
type place struct{ instance, component string }

// runningStep is a step that was requested and has not been observed to end.
type runningStep struct {
	goal.Step
	seq uint64 // of its end; 0: still running
}

// runningSteps are the steps that this Keeper started.
type runningSteps struct {
	mu      sync.Mutex
	byPlace map[place]*runningStep
}

func newRunningSteps() *runningSteps { return &runningSteps{byPlace: map[place]*runningStep{}} }

// add records a step that starts.
func (rs *runningSteps) add(step goal.Step) *runningStep {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	r := &runningStep{Step: step}
	rs.byPlace[place{step.Instance, step.Component}] = r
	return r
}

// end records the journal entry of a step's end; 0: unknown.
func (rs *runningSteps) end(r *runningStep, seq uint64) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if r.seq = seq; seq == 0 {
		delete(rs.byPlace, place{r.Instance, r.Component})
	}
}

// overlay marks the components as executing whose steps the situation does not show yet, and drops the steps that
// it shows as ended, or whose containers were removed.
func (rs *runningSteps) overlay(s goal.Situation) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	exists := map[place]bool{}
	for i := range s.Replicas {
		r := &s.Replicas[i]
		for name, c := range r.Components {
			at := place{r.Instance, name}
			step := rs.byPlace[at]
			if step == nil {
				continue
			}
			if exists[at] = true; step.seq > 0 && c.Seq >= step.seq {
				delete(rs.byPlace, at)
				continue
			}
			if c.Executing == nil {
				c.Executing = &goal.Run{ID: step.ID, Operation: step.Operation, From: c.State}
				r.Components = maps.Clone(r.Components)
				r.Components[name] = c
			}
		}
	}
	maps.DeleteFunc(rs.byPlace, func(at place, step *runningStep) bool { return !exists[at] && step.seq > 0 })
}

// list returns the steps that are still running, sorted.
func (rs *runningSteps) list() (all []goal.Step) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for _, r := range rs.byPlace {
		if r.seq == 0 {
			all = append(all, r.Step)
		}
	}
	slices.SortFunc(all, func(a, b goal.Step) int {
		return slices.Compare([]string{a.Node, a.Component, a.Instance}, []string{b.Node, b.Component, b.Instance})
	})
	return all
}
