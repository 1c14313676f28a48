package manager

import (
	"slices"
	"strings"
	"sync"

	"github.com/toskose/toskose/manager/mirror"
	"github.com/toskose/toskose/tosca/protocol"
)

// place is where a component stands by its own protocol.
type place struct {
	state    string
	open     bool
	starting bool // what leads there is executing: only what stops may begin
}

// choice is what the protocol allows in a place, by name.
type choice struct {
	steps []protocol.Step
	names []string // never nil
}

// choices remembers them: there are few places, and many who ask.
type choices struct {
	mu    sync.Mutex
	known map[place]choice
}

// allowed returns the operations that may begin now: those that the component's
// own protocol allows, as its unit does, without those that require what nothing
// offers, which are blocked.
func (c *component) allowed(all look, at *mirror.Replica, known *mirror.Component) (allowed []string, blocked map[string][]Lack) {
	choice := c.choice(known)
	for _, step := range choice.steps {
		name := step.Operation.String()
		if lacks := all.rules.missing(all.situation, all.of(at), c, all.rules.model.Needed(c.name(), step)); lacks != nil {
			if blocked == nil {
				blocked = map[string][]Lack{}
			}
			blocked[name] = lacks
		}
	}
	if blocked == nil {
		return choice.names, nil
	}
	allowed = []string{}
	for _, name := range choice.names {
		if blocked[name] == nil {
			allowed = append(allowed, name)
		}
	}
	return allowed, blocked
}

// choice returns what the component's own protocol allows now.
func (c *component) choice(at *mirror.Component) choice {
	x := at.Executing()
	if x == nil {
		return c.choiceIn(place{state: at.State, open: at.Open()})
	}
	name := protocol.Operation{Interface: x.Interface, Name: x.Operation}
	if c.kind(name) == protocol.KindStart {
		if step, ok := c.model.Protocol.Next(at.State, name, at.Open(), c.implemented); ok {
			return c.choiceIn(place{state: step.Target, open: true, starting: true})
		}
	}
	return choice{names: []string{}}
}

func (c *component) choiceIn(at place) choice {
	c.choices.mu.Lock()
	defer c.choices.mu.Unlock()
	known, ok := c.choices.known[at]
	if ok {
		return known
	}
	known.names = []string{}
	for _, s := range c.model.Protocol.Allowed(at.state, at.open, c.implemented) {
		if !at.starting || c.kind(s.Operation) == protocol.KindStop {
			known.steps = append(known.steps, s)
		}
	}
	slices.SortFunc(known.steps, func(a, b protocol.Step) int { return strings.Compare(a.Operation.String(), b.Operation.String()) })
	for _, s := range known.steps {
		known.names = append(known.names, s.Operation.String())
	}
	if c.choices.known == nil {
		c.choices.known = map[place]choice{}
	}
	c.choices.known[at] = known
	return known
}

// kind is as toskose.yml says, else as the operation's name does.
func (c *component) kind(name protocol.Operation) protocol.Kind {
	if kind, ok := c.kinds[name]; ok {
		return kind
	}
	return name.Kind()
}

// implemented reports whether an operation has a script.
func (c *component) implemented(name protocol.Operation) bool {
	return slices.ContainsFunc(c.operations, func(op operation) bool { return op.name == name && op.model.Script != "" })
}
