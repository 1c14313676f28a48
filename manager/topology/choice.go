package topology

import (
	"slices"
	"strings"
	"sync"

	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/wire"
)

// place is a component's state in its own protocol.
type place struct {
	state    string
	open     bool
	starting bool // a start is running: only stop operations are allowed
}

// Choice is the steps that the protocol allows in a state, and their names.
type Choice struct {
	Steps []protocol.Step
	Names []string // never nil
}

// choices caches the choices: there are few distinct states, and many callers.
type choices struct {
	mu    sync.Mutex
	known map[place]Choice
}

// Choice returns the steps that the component's own protocol allows now.
func (c *Component) Choice(at *wire.Checkpointed) Choice {
	x := at.Executing()
	if x == nil {
		return c.choiceIn(place{state: at.State, open: at.Open()})
	}
	name := protocol.Operation{Interface: x.Interface, Name: x.Operation}
	if c.Model.Protocol.KindOf(name) == protocol.KindStart {
		if step, ok := c.Model.Protocol.Next(at.State, name, at.Open(), c.implemented); ok {
			return c.choiceIn(place{state: step.Target, open: true, starting: true})
		}
	}
	return Choice{Names: []string{}}
}

func (c *Component) choiceIn(at place) Choice {
	c.choices.mu.Lock()
	defer c.choices.mu.Unlock()
	known, ok := c.choices.known[at]
	if ok {
		return known
	}
	known.Names = []string{}
	for _, s := range c.Model.Protocol.Allowed(at.state, at.open, c.implemented) {
		if !at.starting || c.Model.Protocol.KindOf(s.Operation) == protocol.KindStop {
			known.Steps = append(known.Steps, s)
		}
	}
	slices.SortFunc(known.Steps, func(a, b protocol.Step) int { return strings.Compare(a.Operation.String(), b.Operation.String()) })
	for _, s := range known.Steps {
		known.Names = append(known.Names, s.Operation.String())
	}
	if c.choices.known == nil {
		c.choices.known = map[place]Choice{}
	}
	c.choices.known[at] = known
	return known
}

// implemented reports whether an operation does more than change the state.
func (c *Component) implemented(name protocol.Operation) bool {
	return slices.ContainsFunc(c.Operations, func(op Operation) bool { return op.Name == name && op.Implemented() })
}
