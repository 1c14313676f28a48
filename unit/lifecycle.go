package unit

import (
	"slices"

	"github.com/toskose/toskose/unit/wire"
)

// lifecycle is a component's management protocol together with which of its
// operations have a program. It never changes.
type lifecycle struct {
	protocol *wire.Protocol // nil: the configuration has none, and every operation is allowed
	has      map[string]bool
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

// step gives the state that an operation ("interface.operation") leads to from
// a state, and whether it is allowed there. Operations without a program are
// passed through on the way, so that a component without a configure starts
// from created. Not so while processes of a start live (open), which passing
// through an unimplemented stop would leave behind; nor through the initial
// state, which would let an unimplemented delete make a second create allowed.
func (l lifecycle) step(state, operation string, open bool) (target string, ok bool) {
	if l.protocol == nil {
		return state, true
	}
	seen := map[string]bool{state: true}
	for queue := []string{state}; len(queue) > 0; queue = queue[1:] {
		for _, t := range l.protocol.Transitions {
			if t.Source != queue[0] {
				continue
			}
			if t.Operation == operation {
				return t.Target, true
			}
			if !open && !l.has[t.Operation] && !seen[t.Target] && t.Target != l.protocol.Initial {
				seen[t.Target] = true
				queue = append(queue, t.Target)
			}
		}
	}
	return "", false
}

// operations gives every operation that the protocol or a program names, sorted.
func (l lifecycle) operations() []string {
	var all []string
	for operation := range l.has {
		all = append(all, operation)
	}
	if l.protocol != nil {
		for _, t := range l.protocol.Transitions {
			all = append(all, t.Operation)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// allowed gives the operations that step allows, sorted; never nil.
func (l lifecycle) allowed(state string, open bool) []string {
	allowed := []string{}
	for _, operation := range l.operations() {
		if _, ok := l.step(state, operation, open); ok {
			allowed = append(allowed, operation)
		}
	}
	return allowed
}

// fallback gives the state of an open component whose processes have all
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

// closed gives the state of an open component whose processes the unit has
// ended on request: as the protocol's stop moves it, or where it was started
// from when the protocol has none there.
func (l lifecycle) closed(state, startedFrom string) string {
	if l.protocol != nil {
		for _, t := range l.protocol.Transitions {
			if t.Source == state && bare(t.Operation) == "stop" {
				return t.Target
			}
		}
	}
	return startedFrom
}

// bare gives an operation's name without its interface.
func bare(operation string) string {
	_, name := split(operation)
	return name
}
