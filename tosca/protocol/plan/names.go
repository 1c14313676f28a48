package plan

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"

	"github.com/toskose/toskose/tosca/diag"
)

func lowest(s set) int { return bits.TrailingZeros64(uint64(s)) }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// meant is what to add to a message about an unknown name.
func meant(name string, known []string) string {
	if near := diag.Nearest(name, known); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	return ""
}

// demanded says what an element requires of whom: with the capability's name, too,
// where it is another.
func (w *world) demanded(e *element, requirement int, on link) string {
	name, of := e.reqs[requirement], w.elements[on.element].name
	if name == on.name {
		return fmt.Sprintf("requires %s of %q", name, of)
	}
	return fmt.Sprintf("requires %s, which is %s of %q", name, on.name, of)
}

// meantOf is meant, or all that is known where nothing is near and that is not too
// much.
func meantOf(what, name string, known []string) string {
	near := meant(name, known)
	if near == "" && len(known) > 0 && len(known) <= 10 {
		return "; " + what + " " + strings.Join(known, ", ")
	}
	return near
}

// operations lists what a protocol has transitions for, sorted.
func operations(e Element) []string {
	names := map[string]bool{}
	for _, t := range e.Protocol.Transitions {
		names[t.Qualified()] = true
	}
	return sortedKeys(names)
}

// offering lists the states of an element that offer a capability.
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

// offered says why a requirement does not hold.
func (w *world) offered(at situation, l link) string {
	e := &w.elements[l.element]
	states := w.offering(l)
	if len(states) == 0 {
		return fmt.Sprintf("%q offers %s in no state", e.name, l.name)
	}
	return fmt.Sprintf("%q, in state %q, does not offer %s: it does in %s", e.name, e.states[at[l.element]], l.name, strings.Join(states, ", "))
}
