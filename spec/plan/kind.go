package plan

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/toskose/toskose/spec/protocol"
)

// set is a set of requirements or of capabilities of one kind, by index.
type set uint64

// What can be planned with, in one protocol.
const (
	maxNames  = 64 // requirements, and capabilities
	maxStates = 64
	maxRun    = 10 // operations that must run

	maxVariants = 1 << 16 // of states: a situation has 16 bits for each element
)

func (s set) has(i int) bool { return s>>i&1 == 1 }

// each calls f for every member.
func (s set) each(f func(i int)) {
	for ; s != 0; s &= s - 1 {
		f(bits.TrailingZeros64(uint64(s)))
	}
}

// move is the effect of one operation in a state.
type move struct {
	protocol.Transition
	implemented bool
	to          int
	needs       set // of the transition, of those skipped, and of the target state
}

// kind is shared by elements with the same protocol and the same goal. Its states are those of the
// protocol, combined with whether the element is open, where that matters, and with the operations
// that must run and have run.
type kind struct {
	states   []string // the protocol's name of each state
	index    map[localState]int
	requires []set
	offers   []set
	goal     []bool // any state where there is no goal
	wanted   bool   // there is a goal
	moves    [][]move
	useful   [][]move // moves without redundant ones
	reqs     []string
	caps     []string
	paths    map[pathKey]*path
}

// localState is a state of the protocol, and whether processes of a start are
// live in it.
type localState struct {
	state string
	open  bool
}

// start returns the state in which an element starts: the initial state or a given one. In a given
// state, the element counts as open if it can be open there and closed is false.
func (k *kind) start(initial, given string, closed bool) int {
	if given == "" {
		return k.index[localState{initial, false}]
	}
	if i, ok := k.index[localState{given, true}]; ok && !closed {
		return i
	}
	return k.index[localState{given, false}]
}

// kindSpec holds the values that determine a kind.
type kindSpec struct {
	element *Element
	goal    string               // empty: none
	run     []protocol.Operation // that must run
}

func (s kindSpec) implemented(op protocol.Operation) bool {
	return !slices.Contains(s.element.Unimplemented, op)
}

// opens reports whether the element is open after an operation.
func (s kindSpec) opens(op protocol.Operation, before bool) bool {
	switch s.element.Protocol.KindOf(op) {
	case protocol.KindStart:
		return before || s.implemented(op)
	case protocol.KindStop:
		return false
	default:
		return before
	}
}

// opened returns the states in which the element can be open, or none if no operation can be
// skipped, since it makes no difference then.
func (s kindSpec) opened() map[string]bool {
	opened := map[string]bool{}
	if len(s.element.Unimplemented) == 0 {
		return opened
	}
	p := s.element.Protocol
	var queue []localState
	for _, state := range p.States {
		queue = append(queue, localState{state.Name, false})
	}
	for ; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		for _, step := range p.Allowed(at.state, at.open, s.implemented) {
			if s.opens(step.Operation, at.open) && !opened[step.Target] {
				opened[step.Target] = true
				queue = append(queue, localState{step.Target, true})
			}
		}
	}
	return opened
}

// key is equal for elements of one kind.
func (s kindSpec) key() string {
	var b strings.Builder
	list := func(names []string) {
		for _, n := range names {
			b.WriteString(n)
			b.WriteByte(0)
		}
		b.WriteByte(1)
	}
	p := &s.element.Protocol
	list([]string{p.Initial, s.goal})
	list(names(s.run))
	list(names(s.element.Unimplemented))
	for i := range p.States {
		list([]string{p.States[i].Name})
		list(p.States[i].Requires)
		list(p.States[i].Offers)
	}
	for i := range p.Transitions {
		t := &p.Transitions[i]
		list([]string{t.Source, t.Target, t.Interface, t.Name})
		list(t.Requires)
	}
	for _, f := range p.Free {
		list([]string{f.Interface, f.Name})
		list(f.States)
		list(f.Requires)
	}
	return b.String()
}

func newKind(s kindSpec) (*kind, error) {
	k := &kind{index: map[localState]int{}, paths: map[pathKey]*path{}, wanted: s.goal != "" || len(s.run) > 0}
	p := s.element.Protocol
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("its protocol: %w", err)
	}
	if err := k.nameSets(p); err != nil {
		return nil, err
	}
	if len(p.States) > maxStates {
		return nil, fmt.Errorf("its protocol has %d states, and at most %d can be planned with", len(p.States), maxStates)
	}
	if len(s.run) > maxRun {
		return nil, fmt.Errorf("%d operations must run, and at most %d can be asked for", len(s.run), maxRun)
	}
	runs := 1 << len(s.run)
	opened := s.opened()
	for _, state := range p.States {
		for _, open := range []bool{false, true} {
			if open && !opened[state.Name] {
				continue
			}
			k.index[localState{state.Name, open}] = len(k.states)
			for done := range runs {
				k.states = append(k.states, state.Name)
				k.requires = append(k.requires, setOf(k.reqs, state.Requires))
				k.offers = append(k.offers, setOf(k.caps, state.Offers))
				k.goal = append(k.goal, (s.goal == "" || s.goal == state.Name) && done == runs-1)
			}
		}
	}
	if len(k.states) > maxVariants {
		return nil, fmt.Errorf("its protocol has %d states and %d operations must run, which is too much to plan with", len(p.States), len(s.run))
	}
	k.moves, k.useful = make([][]move, len(k.states)), make([][]move, len(k.states))
	for at, first := range k.index {
		steps := p.Allowed(at.state, at.open, s.implemented)
		for done := range runs {
			from := first + done
			for _, step := range steps {
				m := move{Transition: step.Transition, implemented: s.implemented(step.Operation)}
				m.to = k.index[localState{step.Target, opened[step.Target] && s.opens(step.Operation, at.open)}] + done
				if i := slices.Index(s.run, step.Operation); i >= 0 && done>>i&1 == 0 {
					m.to += 1 << i
				}
				m.needs = setOf(k.reqs, step.Requires) | k.requires[m.to]
				for _, t := range step.Skipped {
					m.needs |= setOf(k.reqs, t.Requires)
				}
				k.moves[from] = append(k.moves[from], m)
			}
			k.useful[from] = usefulMoves(k.moves[from], from)
		}
	}
	return k, nil
}

// nameSets assigns an index to each requirement and capability of a protocol.
func (k *kind) nameSets(p protocol.Protocol) error {
	for _, s := range p.States {
		k.reqs = append(k.reqs, s.Requires...)
		k.caps = append(k.caps, s.Offers...)
	}
	for _, t := range p.Transitions {
		k.reqs = append(k.reqs, t.Requires...)
	}
	for _, f := range p.Free {
		k.reqs = append(k.reqs, f.Requires...)
	}
	for _, names := range []*[]string{&k.reqs, &k.caps} {
		slices.Sort(*names)
		if *names = slices.Compact(*names); len(*names) > maxNames {
			return fmt.Errorf("its protocol has %d requirements or capabilities, and at most %d can be planned with", len(*names), maxNames)
		}
	}
	return nil
}

func names(operations []protocol.Operation) []string {
	all := make([]string, len(operations))
	for i, op := range operations {
		all[i] = op.String()
	}
	return all
}

func setOf(all, names []string) set {
	var s set
	for _, n := range names {
		i, _ := slices.BinarySearch(all, n)
		s |= 1 << i
	}
	return s
}

// usefulMoves drops moves that change nothing. Of moves to the same state, it drops a move whose
// needs include those of another move, keeping the first of equal ones.
func usefulMoves(moves []move, from int) []move {
	var kept []move
	for i, m := range moves {
		worse := m.to == from || slices.ContainsFunc(moves[:i], func(o move) bool { return o.to == m.to && o.needs&^m.needs == 0 }) ||
			slices.ContainsFunc(moves[i+1:], func(o move) bool { return o.to == m.to && o.needs != m.needs && o.needs&^m.needs == 0 })
		if !worse {
			kept = append(kept, m)
		}
	}
	return kept
}
