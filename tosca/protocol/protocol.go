// Package protocol holds management protocols: the states of a component, what
// each requires and offers, and the transitions that operations make between
// them. It knows nothing of files or of TOSCA's grammar and starts no goroutine.
package protocol

import "slices"

// Protocol is a management protocol. Names in it are checked when it is made:
// every state that is named exists.
type Protocol struct {
	Initial       string         `json:"initial"`
	States        []State        `json:"states"`      // sorted by name
	Transitions   []Transition   `json:"transitions"` // in the order they were written
	FaultHandlers []FaultHandler `json:"fault_handlers,omitempty"`
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
	Source    string   `json:"source"`
	Target    string   `json:"target"`
	Interface string   `json:"interface"`
	Operation string   `json:"operation"`
	Requires  []string `json:"requires,omitempty"`
}

// Qualified gives the operation as "interface.operation".
func (t Transition) Qualified() string { return t.Interface + "." + t.Operation }

// FaultHandler says which state a component falls to when the processes of its
// start end by themselves in Source.
type FaultHandler struct {
	Source string `json:"source"`
	Target string `json:"target"`
}

// Equal tells whether two protocols are the same, transitions in their order.
func (p Protocol) Equal(other Protocol) bool {
	sameState := func(a, b State) bool {
		return a.Name == b.Name && slices.Equal(a.Requires, b.Requires) && slices.Equal(a.Offers, b.Offers)
	}
	sameTransition := func(a, b Transition) bool {
		return a.Source == b.Source && a.Target == b.Target && a.Qualified() == b.Qualified() && slices.Equal(a.Requires, b.Requires)
	}
	return p.Initial == other.Initial && slices.EqualFunc(p.States, other.States, sameState) &&
		slices.EqualFunc(p.Transitions, other.Transitions, sameTransition) && slices.Equal(p.FaultHandlers, other.FaultHandlers)
}
