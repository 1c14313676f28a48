package plan

import (
	"errors"
	"fmt"
	"strings"

	"github.com/toskose/toskose/spec/protocol"
)

// Element is a container, a component or a volume.
type Element struct {
	Name     string
	Protocol protocol.Protocol
	Bindings []Binding
	// Unimplemented are the operations that do nothing. All others have a
	// script.
	Unimplemented []protocol.Operation
}

// Binding binds a requirement to an element's capability.
type Binding struct {
	Requirement string
	Target      string // the element that offers
	Capability  string
	Live        bool // a target that fails its liveness checks does not offer it
}

// Operation names an operation of an element.
type Operation struct {
	Component string `json:"component"`
	protocol.Operation
}

// String returns component:interface.operation.
func (o Operation) String() string { return o.Component + ":" + o.Operation.String() }

// ParseOperation parses the output of String.
func ParseOperation(text string) (Operation, error) {
	component, name, ok := strings.Cut(text, ":")
	operation, err := protocol.ParseOperation(name)
	if !ok || component == "" || err != nil {
		return Operation{}, fmt.Errorf("%q is not component:interface.operation", text)
	}
	return Operation{component, operation}, nil
}

// Problem is a situation and a goal.
type Problem struct {
	Elements []Element
	From     map[string]string // states by element; the initial one for others
	Closed   map[string]bool   // elements of From that are known not to be open
	Goal     map[string]string // states by element; any state for others
	Run      []Operation       // that must be run on the way
	Notes    []string          // on From and Goal, which the plan repeats
}

// Down returns the goal that everything is deleted: the state deleted for
// elements that have one, else their initial state.
func Down(elements []Element) map[string]string {
	goal := map[string]string{}
	for _, e := range elements {
		goal[e.Name] = e.Protocol.Initial
		if e.Protocol.Has(protocol.Deleted) {
			goal[e.Name] = protocol.Deleted
		}
	}
	return goal
}

// The errors of problems and of the search for a plan.
var (
	ErrProblem    = errors.New("cannot plan")                         // it names what does not exist
	ErrImpossible = errors.New("the goal cannot be reached")          // proven
	ErrLimit      = errors.New("no plan was found within the limits") // there may be one
)

// CheckProblem returns everything that is wrong with a problem. The error wraps
// ErrProblem.
func CheckProblem(p Problem) error {
	_, err := compile(p)
	return err
}

// Options bound the search, as a deadline of its context does.
type Options struct {
	MaxStates int // situations visited by each search; 0: 200,000
}

const (
	defaultStates = 200_000
	maxMemory     = 128 << 20 // bytes of situations that a search may keep
)

// states returns the limit for situations of n elements.
func (o Options) states(n int) int {
	limit := o.MaxStates
	if limit <= 0 {
		limit = defaultStates
	}
	return max(1, min(limit, maxMemory/(2*max(n, 1))))
}

// Plan is a sequence of levels that reaches the goal.
type Plan struct {
	Operations int      `json:"operations"`
	Minimal    Minimal  `json:"minimal"`
	Limit      string   `json:"limit,omitempty"` // why something is not proven
	Notes      []string `json:"notes,omitempty"` // the problem's
	Levels     [][]Step `json:"levels"`          // by element within a level
}

// Minimal states how far a plan is proven to be minimal.
type Minimal struct {
	Operations bool `json:"operations"` // no plan has fewer operations
	Levels     bool `json:"levels"`     // of those with as few, no plan has fewer levels
}

// Step is one operation of a plan.
type Step struct {
	ID int `json:"id"` // counts from 1 through all levels
	Operation
	Source      string `json:"source"`
	Target      string `json:"target"`
	Implemented bool   `json:"implemented"`     // otherwise it runs nothing
	After       []int  `json:"after,omitempty"` // IDs of the steps that it waits for
}

// Steps returns the steps in an order in which they can be made.
func (p *Plan) Steps() []Step {
	var all []Step
	for _, level := range p.Levels {
		all = append(all, level...)
	}
	return all
}
