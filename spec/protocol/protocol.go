// Package protocol defines management protocols: the states of a component with their requirements
// and capabilities, and the transitions that operations make between them. It determines which
// operations are allowed in a state and to which states they lead. It imports the standard library
// only and starts no goroutine.
package protocol

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Protocol is a management protocol.
type Protocol struct {
	Initial       string         `json:"initial"`
	States        []State        `json:"states"`      // sorted by name
	Transitions   []Transition   `json:"transitions"` // in the order they were written
	FaultHandlers []FaultHandler `json:"fault_handlers,omitempty"`
	Free          []Free         `json:"free,omitempty"` // sorted by operation
	// Kinds are the kinds of operations, by full name, that differ from the ones implied by their
	// names.
	Kinds map[string]Kind `json:"kinds,omitempty"`
}

// Free is an operation that no transition names: it may run in some states, and
// changes none.
type Free struct {
	Operation
	States   []string `json:"states"` // sorted
	Requires []string `json:"requires,omitempty"`
}

// State is a state with the requirements that must hold in it and the
// capabilities that it offers.
type State struct {
	Name     string   `json:"name"`
	Requires []string `json:"requires,omitempty"`
	Offers   []string `json:"offers,omitempty"`
}

// Transition moves a component from Source to Target by an operation.
type Transition struct {
	Source string `json:"source"`
	Target string `json:"target"`
	Operation
	Requires []string `json:"requires,omitempty"`
}

// String returns "source -> target by operation".
func (t Transition) String() string {
	return t.Source + " -> " + t.Target + " by " + t.Operation.String()
}

// FaultHandler defines the state to which a component falls when the processes of its start exit
// unexpectedly in Source.
type FaultHandler struct {
	Source string `json:"source"`
	Target string `json:"target"`
}

// Equal reports whether two protocols are the same, transitions in their order.
func (p Protocol) Equal(other Protocol) bool {
	sameState := func(a, b State) bool {
		return a.Name == b.Name && slices.Equal(a.Requires, b.Requires) && slices.Equal(a.Offers, b.Offers)
	}
	sameTransition := func(a, b Transition) bool {
		return a.Source == b.Source && a.Target == b.Target && a.Operation == b.Operation && slices.Equal(a.Requires, b.Requires)
	}
	return p.Initial == other.Initial && slices.EqualFunc(p.States, other.States, sameState) &&
		slices.EqualFunc(p.Transitions, other.Transitions, sameTransition) && slices.Equal(p.FaultHandlers, other.FaultHandlers) &&
		slices.EqualFunc(p.Free, other.Free, func(a, b Free) bool {
			return a.Operation == b.Operation && slices.Equal(a.States, b.States) && slices.Equal(a.Requires, b.Requires)
		}) && maps.Equal(p.Kinds, other.Kinds)
}

// Has reports whether the protocol has a state.
func (p Protocol) Has(state string) bool {
	_, ok := p.State(state)
	return ok
}

// State returns a state by its name.
func (p Protocol) State(name string) (State, bool) {
	for _, s := range p.States {
		if s.Name == name {
			return s, true
		}
	}
	return State{}, false
}

// StateNames returns the names of the states, sorted.
func (p Protocol) StateNames() []string {
	names := make([]string, len(p.States))
	for i, s := range p.States {
		names[i] = s.Name
	}
	slices.Sort(names)
	return names
}

// Operations returns every operation of the protocol once, in the order written, with free
// operations last.
func (p Protocol) Operations() []Operation {
	var all []Operation
	add := func(o Operation) {
		if !slices.Contains(all, o) {
			all = append(all, o)
		}
	}
	for _, t := range p.Transitions {
		add(t.Operation)
	}
	for _, f := range p.Free {
		add(f.Operation)
	}
	return all
}

// Validate returns everything that is wrong with a protocol, joined.
func (p Protocol) Validate() error { return errors.Join(p.Problems()...) }

// Problems returns all errors in a protocol: names that are empty or not defined, states with the
// same name, and ambiguity: two transitions from one state by one operation, or two fault handlers
// of one state.
func (p Protocol) Problems() []error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	known := map[string]bool{}
	for _, s := range p.States {
		if s.Name == "" {
			wrong("a state has no name")
		}
		if known[s.Name] {
			wrong("state %q is defined twice", s.Name)
		}
		known[s.Name] = true
	}
	check := func(what, state string) {
		if !known[state] {
			wrong("%s names state %q, which the protocol does not have", what, state)
		}
	}
	check("initial", p.Initial)
	type edge struct {
		source string
		Operation
	}
	edges := map[edge]bool{}
	for _, t := range p.Transitions {
		if t.Interface == "" || t.Name == "" {
			wrong("a transition from state %q lacks its interface or operation", t.Source)
		}
		what := fmt.Sprintf("transition %q", t.Operation)
		check(what, t.Source)
		check(what, t.Target)
		e := edge{t.Source, t.Operation}
		if edges[e] {
			wrong("two transitions leave state %q by %q", t.Source, t.Operation)
		}
		edges[e] = true
	}
	handled := map[string]bool{}
	for _, f := range p.FaultHandlers {
		check("a fault handler", f.Source)
		check("a fault handler", f.Target)
		if handled[f.Source] {
			wrong("state %q has two fault handlers", f.Source)
		}
		handled[f.Source] = true
	}
	return append(errs, p.freeProblems()...)
}

func (p Protocol) freeProblems() []error {
	var errs []error
	for i, f := range p.Free {
		if f.Interface == "" || f.Name == "" {
			errs = append(errs, errors.New("a free operation lacks its interface or name"))
		}
		for _, state := range f.States {
			if !p.Has(state) {
				errs = append(errs, fmt.Errorf("free operation %q names state %q, which the protocol does not have", f.Operation, state))
			}
		}
		if slices.ContainsFunc(p.Transitions, func(t Transition) bool { return t.Operation == f.Operation }) {
			errs = append(errs, fmt.Errorf("free operation %q is that of a transition, too", f.Operation))
		}
		if slices.ContainsFunc(p.Free[:i], func(o Free) bool { return o.Operation == f.Operation }) {
			errs = append(errs, fmt.Errorf("free operation %q is there twice", f.Operation))
		}
	}
	return errs
}
