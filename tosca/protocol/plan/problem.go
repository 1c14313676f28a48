package plan

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/toskose/toskose/tosca/protocol"
)

// Element is a container, a component or a volume.
type Element struct {
	Name     string
	Protocol protocol.Protocol
	Bindings []Binding
	// Unimplemented are the operations that do nothing, as
	// "interface.operation". All others are run by somebody.
	Unimplemented []string
}

// Binding is who fulfils a requirement of an element, and by what.
type Binding struct {
	Requirement string
	Target      string // the element that offers
	Capability  string
}

// Operation names an operation of an element.
type Operation struct {
	Component string `json:"component"`
	Interface string `json:"interface"`
	Operation string `json:"operation"`
}

// String gives component:interface.operation.
func (o Operation) String() string { return o.Component + ":" + o.Interface + "." + o.Operation }

// ParseOperation reads what String gives. A name of an operation has no dot.
func ParseOperation(text string) (Operation, error) {
	component, qualified, ok := strings.Cut(text, ":")
	dot := strings.LastIndex(qualified, ".")
	if !ok || component == "" || dot <= 0 || dot == len(qualified)-1 {
		return Operation{}, fmt.Errorf("%q is not component:interface.operation", text)
	}
	return Operation{component, qualified[:dot], qualified[dot+1:]}, nil
}

// Problem is a situation and a goal.
type Problem struct {
	Elements []Element
	From     map[string]string // states by element; the initial one for those that are not here
	Goal     map[string]string // states by element; any state for those that are not here
	Run      []Operation       // what must be run on the way
}

// Up is the goal that everything runs: the state running for elements that
// have one, else created. An element with neither is an error, since only its
// author knows what it is there for. What is given goes before all that.
func Up(elements []Element, given map[string]string) (map[string]string, error) {
	goal := map[string]string{}
	maps.Copy(goal, given)
	var errs []error
	for _, e := range elements {
		_, has := goal[e.Name]
		switch {
		case has:
		case e.Protocol.Has(protocol.Running):
			goal[e.Name] = protocol.Running
		case e.Protocol.Has(protocol.Created):
			goal[e.Name] = protocol.Created
		default:
			errs = append(errs, fmt.Errorf("%w: the protocol of %q has neither state running nor created, so one must be given; its states are %s",
				ErrProblem, e.Name, strings.Join(e.Protocol.StateNames(), ", ")))
		}
	}
	return goal, errors.Join(errs...)
}

// Down is the goal that everything is deleted: the state deleted for elements
// that have one, else their initial state.
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

// What is wrong with a problem, or with the search for its solution.
var (
	ErrProblem    = errors.New("cannot plan")                         // it names what is not there
	ErrStart      = errors.New("the start contradicts itself")        // a state requires what is not offered
	ErrImpossible = errors.New("the goal cannot be reached")          // proven
	ErrLimit      = errors.New("no plan was found within the limits") // there may be one
)

// CheckProblem says what is wrong with a problem: ErrProblem's or
// ErrStart's, all at once.
func CheckProblem(p Problem) error {
	_, err := compile(p)
	return err
}

// Options bound the search. A deadline of its context does, too.
type Options struct {
	MaxStates int // situations looked at by each search; 0: 200,000
}

const (
	defaultStates = 200_000
	maxMemory     = 128 << 20 // bytes of situations that a search may keep
)

// states gives the bound for situations of n elements.
func (o Options) states(n int) int {
	limit := o.MaxStates
	if limit <= 0 {
		limit = defaultStates
	}
	return max(1, min(limit, maxMemory/(2*max(n, 1))))
}

// Plan is what leads to the goal.
type Plan struct {
	Operations int      `json:"operations"`
	Minimal    Minimal  `json:"minimal"`
	Limit      string   `json:"limit,omitempty"` // why something is not proven
	Levels     [][]Step `json:"levels"`          // by element within a level
}

// Minimal tells what is proven of a plan.
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
	Implemented bool   `json:"implemented"`     // otherwise it changes the state only
	After       []int  `json:"after,omitempty"` // IDs of the steps that it waits for
}

// Steps gives the steps in an order in which they can be made.
func (p *Plan) Steps() []Step {
	var all []Step
	for _, level := range p.Levels {
		all = append(all, level...)
	}
	return all
}
