package component

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/process"
	"github.com/toskose/toskose/unit/wire"
)

// lifecycle is a component's management protocol together with which of its
// operations have a program. It never changes.
type lifecycle struct {
	protocol *protocol.Protocol                   // nil: the configuration has none, and every operation is allowed
	kinds    map[protocol.Operation]protocol.Kind // of the operations that have a program
	programs []*process.Program                   // these
}

// lifecycle returns what a definition comes to.
func (d Definition) lifecycle() lifecycle {
	life := lifecycle{protocol: d.Protocol, kinds: map[protocol.Operation]protocol.Kind{}}
	for _, p := range d.Programs {
		if p.Kind() != protocol.KindNone {
			life.kinds[p.Config().Operation] = p.Kind()
			life.programs = append(life.programs, p)
		}
	}
	return life
}

// operations returns every operation that the protocol or a program names.
func (l lifecycle) operations() []protocol.Operation {
	var all []protocol.Operation
	add := func(o protocol.Operation) {
		if !slices.Contains(all, o) {
			all = append(all, o)
		}
	}
	if l.protocol != nil {
		all = l.protocol.Operations()
	}
	for _, p := range l.programs {
		add(p.Config().Operation)
	}
	return all
}

// program returns what implements an operation, nil: nothing does.
func (l lifecycle) program(operation protocol.Operation) *process.Program {
	for _, p := range l.programs {
		if p.Config().Operation == operation {
			return p
		}
	}
	return nil
}

// implementation finds an operation by "interface.operation", or by its bare
// name where only one interface of the component has it, and the program that
// implements it, nil: none does.
func (l *ledger) implementation(component, name string) (operation protocol.Operation, p *process.Program, err error) {
	l.mu.Lock()
	life, ok := l.lifecycles[component]
	l.mu.Unlock()
	if !ok {
		return operation, nil, wire.NewFault(wire.BadName, fmt.Sprintf("no component is named %q", component))
	}
	var candidates []string
	for _, known := range life.operations() {
		if known.String() == name {
			return known, life.program(known), nil
		}
		if known.Name == name {
			operation = known
			candidates = append(candidates, known.String())
		}
	}
	switch len(candidates) {
	case 0:
		return operation, nil, wire.NewFault(wire.BadName, fmt.Sprintf("%s has no operation %q", component, name))
	case 1:
		return operation, life.program(operation), nil
	}
	slices.Sort(candidates)
	return protocol.Operation{}, nil, wire.NewFault(wire.BadName, fmt.Sprintf(
		"%q is an operation of several interfaces of %s: %s", name, component, strings.Join(candidates, ", ")))
}

// kindOf returns the kind of an operation of a component.
func (l *ledger) kindOf(component string, operation protocol.Operation) protocol.Kind {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lifecycles[component].kind(operation)
}

// openers returns the programs of a component whose kind is start.
func (l *ledger) openers(component string) []*process.Program {
	l.mu.Lock()
	defer l.mu.Unlock()
	var openers []*process.Program
	for _, p := range l.lifecycles[component].programs {
		if p.Kind() == protocol.KindStart {
			openers = append(openers, p)
		}
	}
	return openers
}

// unknownState is the state of a component that has no protocol.
const unknownState = "unknown"

// initial is the state of a component that nothing was done to.
func (l lifecycle) initial() string {
	if l.protocol == nil {
		return unknownState
	}
	return l.protocol.Initial
}

func (l lifecycle) implemented(operation protocol.Operation) bool {
	_, ok := l.kinds[operation]
	return ok
}

// kind is as the program says, else as the protocol does.
func (l lifecycle) kind(operation protocol.Operation) protocol.Kind {
	kind, ok := l.kinds[operation]
	switch {
	case ok:
		return kind
	case l.protocol == nil:
		return operation.Kind()
	}
	return l.protocol.KindOf(operation)
}

// step returns the state that an operation leads to, and whether it is allowed.
func (l lifecycle) step(state string, operation protocol.Operation, open bool) (target string, ok bool) {
	if l.protocol == nil {
		return state, true
	}
	s, ok := l.protocol.Next(state, operation, open, l.implemented)
	return s.Target, ok
}

// allowed returns the operations that step allows, sorted; never nil.
func (l lifecycle) allowed(state string, open bool) []string {
	allowed := []string{}
	if l.protocol == nil {
		for operation := range l.kinds {
			allowed = append(allowed, operation.String())
		}
	} else {
		for _, s := range l.protocol.Allowed(state, open, l.implemented) {
			allowed = append(allowed, s.Operation.String())
		}
	}
	slices.Sort(allowed)
	return allowed
}

// fallback returns the state of an open component whose processes have all
// ended: its fault handler's target, or where it was started from.
func (l lifecycle) fallback(state, startedFrom string) string {
	if l.protocol != nil {
		for _, h := range l.protocol.FaultHandlers {
			if h.Source == state {
				return h.Target
			}
		}
	}
	return startedFrom
}

// afterStop returns the state of an open component whose processes the unit has
// ended on request: as the protocol's stop moves it, or where it was started
// from when the protocol has none there.
func (l lifecycle) afterStop(state, startedFrom string) string {
	if l.protocol != nil {
		for _, t := range l.protocol.Transitions {
			if t.Source == state && l.kind(t.Operation) == protocol.KindStop {
				return t.Target
			}
		}
	}
	return startedFrom
}
