package protocol

import "slices"

// Step is the effect of an operation in a state: it makes a transition from that state, or from a
// state reached by skipping operations that are not implemented.
type Step struct {
	Transition
	Skipped []Transition // in order
}

// Allowed returns the steps that can be made from a state, nearest first.
//
// Operations that are not implemented only change the state, so they are skipped on the way:
// a component without a configure starts from created. Of several transitions of one
// operation, the nearest is returned. No operation is skipped while the component is open,
// that is, while processes of its start are running: skipping an unimplemented stop would
// leave them behind. Nor is a transition to the initial state skipped: skipping an
// unimplemented delete would allow a second create. Free operations run in the states that
// they name, and no operation is skipped for them.
func (p Protocol) Allowed(state string, open bool, implemented func(Operation) bool) []Step {
	var allowed []Step
	for _, s := range p.reach(state, open, implemented) {
		if !slices.ContainsFunc(allowed, func(nearer Step) bool { return nearer.Operation == s.Operation }) {
			allowed = append(allowed, s)
		}
	}
	return allowed
}

// Next returns the step that an operation makes from a state; ok is false where
// Allowed does not have it.
func (p Protocol) Next(state string, operation Operation, open bool, implemented func(Operation) bool) (s Step, ok bool) {
	for _, s := range p.reach(state, open, implemented) {
		if s.Operation == operation {
			return s, true
		}
	}
	return Step{}, false
}

// reach returns every transition that leaves a state or, where skipping is
// allowed, one reached by skipping, nearest first.
func (p Protocol) reach(state string, open bool, implemented func(Operation) bool) []Step {
	type place struct {
		state   string
		skipped []Transition
	}
	var steps []Step
	seen := map[string]bool{state: true, p.Initial: true}
	for queue := []place{{state: state}}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		for _, t := range p.Transitions {
			if t.Source != at.state {
				continue
			}
			steps = append(steps, Step{t, at.skipped})
			if !open && !seen[t.Target] && !implemented(t.Operation) {
				seen[t.Target] = true
				queue = append(queue, place{t.Target, append(slices.Clip(at.skipped), t)})
			}
		}
	}
	for _, f := range p.Free {
		if slices.Contains(f.States, state) {
			steps = append(steps, Step{Transition: Transition{state, state, f.Operation, f.Requires}})
		}
	}
	return steps
}

// Doubt is an operation that, from a state, is as near to one transition as to
// another with a different target.
type Doubt struct {
	State        string
	Operation    Operation
	Taken, Other string
}

// Doubts returns the ambiguous operations when operations are skipped: Allowed then picks one of
// two targets. Each pair is returned once, for the first state in which it occurs, beginning with
// the initial one.
func (p Protocol) Doubts(implemented func(Operation) bool) []Doubt {
	var all []Doubt
	known := map[Doubt]bool{}
	for _, from := range append([]string{p.Initial}, p.StateNames()...) {
		nearest := map[Operation]Step{}
		for _, s := range p.reach(from, false, implemented) {
			taken, ok := nearest[s.Operation]
			if !ok {
				nearest[s.Operation] = s
				continue
			}
			pair := Doubt{"", s.Operation, taken.Target, s.Target}
			if len(taken.Skipped) == len(s.Skipped) && taken.Target != s.Target && !known[pair] {
				known[pair] = true
				all = append(all, Doubt{from, s.Operation, taken.Target, s.Target})
			}
		}
	}
	return all
}
