package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toskose/toskose/spec/protocol"
)

// link is the other end of a binding: an element, and its capability that
// fulfils a requirement, or its requirement that a capability fulfils.
type link struct {
	element int
	names   set // empty: a capability that its protocol offers in no state
	name    string
}

// element is a compiled Element.
type element struct {
	*kind
	name   string
	uses   [][]link // by requirement
	usedBy [][]link // by capability
}

// situation is the state of each element.
type situation []uint16

// step is a move of an element from the state that it is in.
type step struct {
	element int
	from    int
	move
}

// world is a compiled Problem.
type world struct {
	elements []element
	index    map[string]int
	start    situation
}

func compile(p Problem) (*world, error) {
	w := &world{index: map[string]int{}, elements: make([]element, len(p.Elements)), start: make(situation, len(p.Elements))}
	errs := w.checkNames(p)
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	run := map[string][]protocol.Operation{}
	for _, op := range p.Run {
		if !slices.Contains(run[op.Component], op.Operation) {
			run[op.Component] = append(run[op.Component], op.Operation)
		}
	}
	kinds := map[string]*kind{}
	for i := range p.Elements {
		e := &p.Elements[i]
		spec := kindSpec{element: e, goal: p.Goal[e.Name], run: run[e.Name]}
		key := spec.key()
		k := kinds[key]
		if k == nil {
			var err error
			if k, err = newKind(spec); err != nil {
				return nil, fmt.Errorf("%w: %q: %w", ErrProblem, e.Name, err)
			}
			kinds[key] = k
		}
		w.elements[i] = element{kind: k, name: e.Name, uses: make([][]link, len(k.reqs)), usedBy: make([][]link, len(k.caps))}
		w.start[i] = uint16(k.start(e.Protocol.Initial, p.From[e.Name], p.Closed[e.Name]))
	}
	for i := range p.Elements {
		for _, b := range p.Elements[i].Bindings {
			w.bind(i, b)
		}
	}
	return w, nil
}

func (w *world) bind(i int, b Binding) {
	r, ok := slices.BinarySearch(w.elements[i].reqs, b.Requirement)
	if !ok {
		return // the protocol never requires it
	}
	j := w.index[b.Target]
	target := &w.elements[j]
	to := link{element: j, name: b.Capability}
	if c, ok := slices.BinarySearch(target.caps, b.Capability); ok {
		to.names = 1 << c
		target.usedBy[c] = append(target.usedBy[c], link{element: i, names: 1 << r, name: b.Requirement})
	}
	if !slices.Contains(w.elements[i].uses[r], to) {
		w.elements[i].uses[r] = append(w.elements[i].uses[r], to)
	}
}

// checkNames fills the index and returns the errors in the problem.
func (w *world) checkNames(p Problem) []error {
	var errs []error
	wrong := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%w: "+format, append([]any{ErrProblem}, args...)...))
	}
	for i, e := range p.Elements {
		if _, twice := w.index[e.Name]; twice {
			wrong("%q is defined twice", e.Name)
		}
		w.index[e.Name] = i
	}
	for _, e := range p.Elements {
		for _, b := range e.Bindings {
			if _, ok := w.index[b.Target]; !ok || b.Target == e.Name {
				wrong("requirement %q of %q is bound to %q, which is not another element", b.Requirement, e.Name, b.Target)
			}
		}
	}
	for _, given := range []struct {
		what   string
		states map[string]string
	}{{"the start", p.From}, {"the goal", p.Goal}} {
		for _, name := range sortedKeys(given.states) {
			i, ok := w.index[name]
			switch state := given.states[name]; {
			case !ok:
				wrong("%s names %q, which is not in the topology%s", given.what, name, suggestion(name, sortedKeys(w.index)))
			case !p.Elements[i].Protocol.Has(state):
				names := p.Elements[i].Protocol.StateNames()
				wrong("%s names state %q of %q, whose states are %s%s", given.what, state, name, strings.Join(names, ", "), suggestion(state, names))
			}
		}
	}
	for _, op := range p.Run {
		i, ok := w.index[op.Component]
		if !ok {
			wrong("%s must run, but %q is not in the topology%s", op, op.Component, suggestion(op.Component, sortedKeys(w.index)))
			continue
		}
		names := operations(p.Elements[i])
		if name := op.Operation.String(); !slices.Contains(names, name) {
			wrong("%s must run, but the protocol of %q has no such operation%s", op, op.Component, suggestionOr("its operations are", name, names))
		}
	}
	return errs
}

// offered reports whether the target of a link offers its capabilities.
func (w *world) offered(at situation, l link) bool {
	return w.elements[l.element].offers[at[l.element]]&l.names != 0
}

// faults describes the requirements of initial states that are not offered, one sentence each.
func (w *world) faults() []string {
	var all []string
	for i := range w.elements {
		e := &w.elements[i]
		if r, l, found := w.unmet(w.start, i, e.requires[w.start[i]]); found {
			all = append(all, fmt.Sprintf("the start has a fault: %q in state %q requires %s, and %s",
				e.name, e.states[w.start[i]], e.reqs[r], w.whyNotOffered(w.start, l)))
		}
	}
	return all
}

// unmet returns the first of an element's requirements that does not hold.
func (w *world) unmet(at situation, i int, needs set) (requirement int, to link, found bool) {
	for ; needs != 0; needs &= needs - 1 {
		r := lowest(needs)
		for _, l := range w.elements[i].uses[r] {
			if !w.offered(at, l) {
				return r, l, true
			}
		}
	}
	return 0, link{}, false
}

// broken returns the first element whose state requires a capability that a step withdraws.
func (w *world) broken(at situation, s step) (by link, capability int, found bool) {
	e := &w.elements[s.element]
	for lost := w.withdraws(s); lost != 0; lost &= lost - 1 {
		c := lowest(lost)
		for _, l := range e.usedBy[c] {
			if w.elements[l.element].requires[at[l.element]]&l.names != 0 {
				return l, c, true
			}
		}
	}
	return link{}, 0, false
}

// allows reports whether the rules allow a step.
func (w *world) allows(at situation, s step) bool {
	if _, _, found := w.unmet(at, s.element, s.needs); found {
		return false
	}
	_, _, found := w.broken(at, s)
	return !found
}

func (w *world) reached(at situation) bool {
	for i := range w.elements {
		if !w.elements[i].goal[at[i]] {
			return false
		}
	}
	return true
}

// needed returns all that a step needs, from the state that it leaves to the one
// that it enters.
func (w *world) needed(s step) set { return s.needs | w.elements[s.element].requires[s.from] }

// changes returns the capabilities that a step begins or ceases to offer.
func (w *world) changes(s step) set {
	e := &w.elements[s.element]
	return e.offers[s.from] ^ e.offers[s.to]
}

// withdraws returns the capabilities that a step ceases to offer.
func (w *world) withdraws(s step) set {
	e := &w.elements[s.element]
	return e.offers[s.from] &^ e.offers[s.to]
}

// interferes reports whether two steps of different elements cannot be made at
// the same time.
func (w *world) interferes(a, b step) bool {
	return w.concerns(a, b) || w.concerns(b, a)
}

// concerns reports whether a needs a capability that b begins to offer, or one that b ceases to
// offer, also if a needs it only in the state that it leaves. If that state requires a capability
// that b begins to offer, the requirement was unmet from the start, and a does not wait for b.
func (w *world) concerns(a, b step) bool {
	changed, withdrawn := w.changes(b), w.withdraws(b)
	for needs := w.needed(a); needs != 0; needs &= needs - 1 {
		r := lowest(needs)
		concerned := withdrawn
		if a.needs.has(r) {
			concerned = changed
		}
		for _, l := range w.elements[a.element].uses[r] {
			if l.element == b.element && concerned&l.names != 0 {
				return true
			}
		}
	}
	return false
}
