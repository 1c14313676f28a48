package protocol

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Has tells whether the protocol has a state.
func (p Protocol) Has(state string) bool {
	_, ok := p.State(state)
	return ok
}

// State gives a state by its name.
func (p Protocol) State(name string) (State, bool) {
	for _, s := range p.States {
		if s.Name == name {
			return s, true
		}
	}
	return State{}, false
}

// StateNames lists the states, sorted.
func (p Protocol) StateNames() []string {
	names := make([]string, len(p.States))
	for i, s := range p.States {
		names[i] = s.Name
	}
	slices.Sort(names)
	return names
}

// Validate says everything that is wrong with a protocol: a name without a
// state, two states of one name, and what is ambiguous, that is two
// transitions of one operation from one state, or two fault handlers of one.
func (p Protocol) Validate() error {
	var errs []error
	known := map[string]bool{}
	for _, s := range p.States {
		if known[s.Name] {
			errs = append(errs, fmt.Errorf("state %q is there twice", s.Name))
		}
		known[s.Name] = true
	}
	check := func(what, state string) {
		if !known[state] {
			errs = append(errs, fmt.Errorf("%s names state %q, which the protocol does not have", what, state))
		}
	}
	check("initial", p.Initial)
	type edge struct{ source, operation string }
	edges := map[edge]bool{}
	for _, t := range p.Transitions {
		check("transition "+t.Qualified(), t.Source)
		check("transition "+t.Qualified(), t.Target)
		if e := (edge{t.Source, t.Qualified()}); edges[e] {
			errs = append(errs, fmt.Errorf("two transitions leave state %q by %s", t.Source, t.Qualified()))
		} else {
			edges[e] = true
		}
	}
	handled := map[string]bool{}
	for _, f := range p.FaultHandlers {
		check("a fault handler", f.Source)
		check("a fault handler", f.Target)
		if handled[f.Source] {
			errs = append(errs, fmt.Errorf("state %q has two fault handlers", f.Source))
		}
		handled[f.Source] = true
	}
	return errors.Join(errs...)
}

// Passage is a transition that can be made from a state. Through are the
// transitions of operations that are not implemented which lead from there to
// its source, in order; none where the state is its source.
type Passage struct {
	Transition
	Through []Transition
}

// Passages gives the transitions that can be made from a state, nearest first:
// those that leave it, and those that leave a state which is reached by
// operations that are not implemented, since these do nothing but change the
// state. Of one operation only the nearest transition is given; implemented is
// asked for qualified names ("interface.operation").
func (p Protocol) Passages(state string, implemented func(operation string) bool) []Passage {
	var passages []Passage
	type place struct {
		state   string
		through []Transition
	}
	taken := map[string]bool{}
	seen := map[string]bool{state: true}
	for queue := []place{{state: state}}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		for _, t := range p.Transitions {
			if t.Source != at.state {
				continue
			}
			if !taken[t.Qualified()] {
				taken[t.Qualified()] = true
				passages = append(passages, Passage{Transition: t, Through: at.through})
			}
			if !implemented(t.Qualified()) && !seen[t.Target] {
				seen[t.Target] = true
				queue = append(queue, place{t.Target, append(slices.Clip(at.through), t)})
			}
		}
	}
	return passages
}

// Doubt is an operation that, from a state, is as near to one transition as to
// another with a different target.
type Doubt struct{ State, Operation, Taken, Other string }

// Doubts gives what is ambiguous where operations are passed through: Passages
// takes one of two targets. Each pair is given once, of the first state, from the
// initial one on.
func (p Protocol) Doubts(implemented func(operation string) bool) []Doubt {
	var all []Doubt
	known := map[Doubt]bool{}
	for _, from := range append([]string{p.Initial}, p.StateNames()...) {
		seen, nearest := map[string]bool{from: true}, map[string]string{}
		for near := []string{from}; len(near) > 0; {
			here := map[string]string{} // target by the operations that are not nearer
			var next []string
			for _, at := range near {
				for _, t := range p.Transitions {
					if t.Source != at {
						continue
					}
					op := t.Qualified()
					if !implemented(op) && !seen[t.Target] {
						seen[t.Target] = true
						next = append(next, t.Target)
					}
					if nearest[op] != "" {
						continue
					}
					if here[op] == "" {
						here[op] = t.Target
					}
					if pair := (Doubt{"", op, here[op], t.Target}); here[op] != t.Target && !known[pair] {
						known[pair] = true
						all = append(all, Doubt{from, op, here[op], t.Target})
					}
				}
			}
			maps.Copy(nearest, here)
			near = next
		}
	}
	return all
}

// Allowed gives the transitions of Passages.
func (p Protocol) Allowed(state string, implemented func(operation string) bool) []Transition {
	var allowed []Transition
	for _, passage := range p.Passages(state, implemented) {
		allowed = append(allowed, passage.Transition)
	}
	return allowed
}

// Next gives the transition that an operation makes from a state, by the rule
// of Allowed; ok is false when it is not allowed.
func (p Protocol) Next(state, operation string, implemented func(operation string) bool) (t Transition, ok bool) {
	for _, t := range p.Allowed(state, implemented) {
		if t.Qualified() == operation {
			return t, true
		}
	}
	return Transition{}, false
}
