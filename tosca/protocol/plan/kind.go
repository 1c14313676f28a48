package plan

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/toskose/toskose/tosca/protocol"
)

// set is a set of requirements or of capabilities of one kind, by index.
type set uint64

// What can be planned with, in one protocol.
const (
	maxNames  = 64 // requirements, and capabilities
	maxStates = 64
	maxRun    = 10 // operations that must run
)

func (s set) has(i int) bool { return s>>i&1 == 1 }

// each calls f for every member.
func (s set) each(f func(i int)) {
	for ; s != 0; s &= s - 1 {
		f(bits.TrailingZeros64(uint64(s)))
	}
}

// move is what one operation makes of a state.
type move struct {
	protocol.Transition
	implemented bool
	to          int
	needs       set // of the transition, of those passed through, and of the target state
}

// kind is what elements with the same protocol and the same goal have in
// common. Where operations must run, its states are those of the protocol times
// which of them did.
type kind struct {
	states   []string // the protocol's name of each state
	requires []set
	offers   []set
	goal     []bool // any state where there is no goal
	wanted   bool   // there is a goal
	moves    [][]move
	better   [][]move // moves, without those that another makes needless
	reqs     []string
	caps     []string
	journeys map[journeyKey]*journey
}

// kindSpec is what makes a kind.
type kindSpec struct {
	element *Element
	goal    string   // empty: none
	run     []string // qualified operations that must run
}

// key is the same for elements of one kind.
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
	list(s.run)
	list(s.element.Unimplemented)
	for i := range p.States {
		list([]string{p.States[i].Name})
		list(p.States[i].Requires)
		list(p.States[i].Offers)
	}
	for i := range p.Transitions {
		t := &p.Transitions[i]
		list([]string{t.Source, t.Target, t.Interface, t.Operation})
		list(t.Requires)
	}
	return b.String()
}

func newKind(s kindSpec) (*kind, error) {
	k := &kind{journeys: map[journeyKey]*journey{}, wanted: s.goal != "" || len(s.run) > 0}
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
	index := map[string]int{}
	for i, state := range p.States {
		index[state.Name] = i * runs
		for done := range runs {
			k.states = append(k.states, state.Name)
			k.requires = append(k.requires, setOf(k.reqs, state.Requires))
			k.offers = append(k.offers, setOf(k.caps, state.Offers))
			k.goal = append(k.goal, (s.goal == "" || s.goal == state.Name) && done == runs-1)
		}
	}
	implemented := func(op string) bool { return !slices.Contains(s.element.Unimplemented, op) }
	for _, state := range p.States {
		passages := p.Passages(state.Name, implemented)
		for done := range runs {
			var moves []move
			for _, passage := range passages {
				m := move{Transition: passage.Transition, implemented: implemented(passage.Qualified())}
				m.to = index[passage.Target] + done
				if i := slices.Index(s.run, passage.Qualified()); i >= 0 {
					m.to = index[passage.Target] + (done | 1<<i)
				}
				m.needs = setOf(k.reqs, passage.Requires) | k.requires[m.to]
				for _, t := range passage.Through {
					m.needs |= setOf(k.reqs, t.Requires)
				}
				moves = append(moves, m)
			}
			k.moves = append(k.moves, moves)
			k.better = append(k.better, best(moves, len(k.better)))
		}
	}
	return k, nil
}

// nameSets gives each requirement and capability of a protocol its index.
func (k *kind) nameSets(p protocol.Protocol) error {
	for _, s := range p.States {
		k.reqs = append(k.reqs, s.Requires...)
		k.caps = append(k.caps, s.Offers...)
	}
	for _, t := range p.Transitions {
		k.reqs = append(k.reqs, t.Requires...)
	}
	for _, names := range []*[]string{&k.reqs, &k.caps} {
		slices.Sort(*names)
		if *names = slices.Compact(*names); len(*names) > maxNames {
			return fmt.Errorf("its protocol has %d requirements or capabilities, and at most %d can be planned with", len(*names), maxNames)
		}
	}
	return nil
}

func setOf(all, names []string) set {
	var s set
	for _, n := range names {
		i, _ := slices.BinarySearch(all, n)
		s |= 1 << i
	}
	return s
}

// best leaves out moves that lead nowhere, and those that need more than
// another one to the same state, or as much and come later.
func best(moves []move, from int) []move {
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
