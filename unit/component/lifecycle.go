package component

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/process"
	"github.com/toskose/toskose/unit/wire"
)

// lifecycle is a component's management protocol and the kinds of its operations. It is immutable.
type lifecycle struct {
	protocol *protocol.Protocol                   // nil if none is configured, which allows every operation
	kinds    map[protocol.Operation]protocol.Kind // of the operations with a program
	programs []*process.Program                   // the programs of these operations
	ordinary *process.Program                     // runs all operations, see Definition.Program; nil: programs do
}

// lifecycle returns the lifecycle of a definition.
func (d Definition) lifecycle() lifecycle {
	if d.Program != nil {
		return lifecycle{protocol: &programProtocol, kinds: programKinds, ordinary: d.Program}
	}
	life := lifecycle{protocol: d.Protocol, kinds: map[protocol.Operation]protocol.Kind{}}
	for _, p := range d.Programs {
		if p.Kind() != protocol.KindNone {
			life.kinds[p.Config().Operation] = p.Kind()
			life.programs = append(life.programs, p)
		}
	}
	return life
}

// operations returns every operation named by the protocol or by a program.
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

// program returns the program that implements an operation, or nil.
func (l lifecycle) program(operation protocol.Operation) *process.Program {
	if l.ordinary != nil {
		return l.ordinary
	}
	for _, p := range l.programs {
		if p.Config().Operation == operation {
			return p
		}
	}
	return nil
}

// implementation finds an operation by "interface.operation", or by its bare name if it is unique
// in the component, and the program that implements it, or nil.
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

// kindOf returns the kind of a component's operation, and whether an ordinary program runs it.
func (l *ledger) kindOf(component string, operation protocol.Operation) (kind protocol.Kind, ordinary bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	life := l.lifecycles[component]
	return life.kind(operation), life.ordinary != nil
}

// startPrograms returns the programs of a component whose kind is start.
func (l *ledger) startPrograms(component string) []*process.Program {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.lifecycles[component].ordinary; p != nil {
		return []*process.Program{p}
	}
	var openers []*process.Program
	for _, p := range l.lifecycles[component].programs {
		if p.Kind() == protocol.KindStart {
			openers = append(openers, p)
		}
	}
	return openers
}

const unknownState = "unknown"

// initial returns the initial state of the component.
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

// kind returns the kind declared by the program, or else by the protocol.
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

// step returns the target state of an operation and whether it is allowed.
func (l lifecycle) step(state string, operation protocol.Operation, open bool) (target string, ok bool) {
	if l.protocol == nil {
		return state, true
	}
	s, ok := l.protocol.Next(state, operation, open, l.implemented)
	return s.Target, ok
}

// allowed returns the operations that step allows, sorted and never nil.
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

// fallback returns the state of an open component after all its processes have ended: the target of
// its fault handler, or the state it was started from.
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

// afterStop returns the state of an open component whose processes were ended on request: the
// target of the protocol's stop, or else the state it was started from.
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
