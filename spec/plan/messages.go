package plan

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"

	"github.com/toskose/toskose/internal/suggest"
)

func lowest(s set) int { return bits.TrailingZeros64(uint64(s)) }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// suggestion returns the text to append to a message about an unknown name.
func suggestion(name string, known []string) string {
	if near := suggest.Nearest(name, known); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	return ""
}

// requirementText describes a requirement of an element and its target, with the name of the
// capability if it differs.
func (w *world) requirementText(e *element, requirement int, on link) string {
	name, of := e.reqs[requirement], w.elements[on.element].name
	if name == on.name {
		return fmt.Sprintf("requires %s of %q", name, of)
	}
	return fmt.Sprintf("requires %s, which is %s of %q", name, on.name, of)
}

// suggestionOr returns the suggestion, or all known names if none is similar and there are few.
func suggestionOr(what, name string, known []string) string {
	near := suggestion(name, known)
	if near == "" && len(known) > 0 && len(known) <= 10 {
		return "; " + what + " " + strings.Join(known, ", ")
	}
	return near
}

// operations returns the operations of a protocol, sorted.
func operations(e Element) []string {
	names := map[string]bool{}
	for _, o := range e.Protocol.Operations() {
		names[o.String()] = true
	}
	return sortedKeys(names)
}

// offering returns the states of an element that offer a capability.
func (w *world) offering(l link) []string {
	e := &w.elements[l.element]
	var states []string
	for s, name := range e.states {
		if e.offers[s]&l.names != 0 {
			states = append(states, name)
		}
	}
	return slices.Compact(states)
}

// whyNotOffered returns why a requirement does not hold.
func (w *world) whyNotOffered(at situation, l link) string {
	e := &w.elements[l.element]
	states := w.offering(l)
	if len(states) == 0 {
		return fmt.Sprintf("%q offers %s in no state", e.name, l.name)
	}
	return fmt.Sprintf("%q, in state %q, does not offer %s: it does in %s", e.name, e.states[at[l.element]], l.name, strings.Join(states, ", "))
}
