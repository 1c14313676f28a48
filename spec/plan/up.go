package plan

import (
	"fmt"
	"maps"
	"slices"

	"github.com/toskose/toskose/spec/protocol"
)

// Up returns the goal that everything is up: for each element its protocol's up state (see
// [protocol.Protocol.Up]), or the next state that offers the capabilities required by other
// elements that are up. Given states take precedence.
//
// An element without such a state is not in the goal. The notes list these elements, and the
// states with other names than in the default protocols.
func Up(elements []Element, given map[string]string) (goal map[string]string, notes []string) {
	goal = map[string]string{}
	maps.Copy(goal, given)
	wanted := map[string][]string{}
	for _, e := range elements {
		for _, b := range e.Bindings {
			wanted[b.Target] = append(wanted[b.Target], b.Capability)
		}
	}
	for i := range elements {
		e := &elements[i]
		if _, has := goal[e.Name]; has {
			continue
		}
		if state, ok := e.Protocol.Up(wanted[e.Name]); ok {
			goal[e.Name] = state
		}
	}
	for range elements { // an element's new state may have more requirements
		if !advance(elements, goal, given) {
			break
		}
	}
	for i := range elements {
		if note := upNote(&elements[i], goal, given); note != "" {
			notes = append(notes, note)
		}
	}
	slices.Sort(notes)
	return goal, notes
}

// advance moves elements whose state does not offer a capability that the states of others
// require, and reports whether it moved any.
func advance(elements []Element, goal, given map[string]string) bool {
	needed := map[string][]string{}
	for i := range elements {
		at, _ := elements[i].Protocol.State(goal[elements[i].Name])
		for _, b := range elements[i].Bindings {
			if slices.Contains(at.Requires, b.Requirement) && !slices.Contains(needed[b.Target], b.Capability) {
				needed[b.Target] = append(needed[b.Target], b.Capability)
			}
		}
	}
	moved := false
	for i := range elements {
		e := &elements[i]
		if _, fixed := given[e.Name]; fixed || len(needed[e.Name]) == 0 {
			continue
		}
		from, has := goal[e.Name]
		if !has {
			from = e.Protocol.Initial
		}
		if state, ok := e.Protocol.FirstOffering(from, needed[e.Name]); ok && state != goal[e.Name] {
			goal[e.Name], moved = state, true
		}
	}
	return moved
}

func upNote(e *Element, goal, given map[string]string) string {
	if _, is := given[e.Name]; is {
		return ""
	}
	switch state, ok := goal[e.Name]; {
	case !ok:
		return fmt.Sprintf("%q is left out: its protocol has no operation start and no state that offers anything", e.Name)
	case state == protocol.Running || state == protocol.Created && e.Protocol.Equal(protocol.Volume()):
		return ""
	default:
		return fmt.Sprintf("%q is up in state %q", e.Name, state)
	}
}
