package plan_test

import (
	"slices"

	"github.com/toskose/toskose/spec/plan"
	"github.com/toskose/toskose/spec/protocol"
)

// oracle plays by the rules that the package's documentation gives, by brute
// force and without anything of the planner or of how protocols skip operations:
// what it says of at most four elements is what plans are held to.
type oracle struct {
	p     plan.Problem
	index map[string]int // of elements
	moves map[stand][]oracleMove
}

// stand is an element, by its index, in a state, with processes of its start or
// without.
type stand struct {
	element int
	state   string
	open    bool
}

// oracleMove is what an operation makes of a state, and what that requires of
// others before the target state does.
type oracleMove struct {
	operation plan.Operation
	to        string
	requires  []string
}

// oracleState is a situation, and which of the operations that must run did.
type oracleState struct {
	states [4]string
	open   [4]bool
	ran    [4]bool
}

func newOracle(p plan.Problem) *oracle {
	o := &oracle{p: p, index: map[string]int{}, moves: map[stand][]oracleMove{}}
	for i, e := range p.Elements {
		o.index[e.Name] = i
		for _, s := range e.Protocol.States {
			o.moves[stand{i, s.Name, false}] = movesFrom(e, s.Name, false)
			o.moves[stand{i, s.Name, true}] = movesFrom(e, s.Name, true)
		}
	}
	return o
}

// movesFrom tries every way through operations that are not implemented, shorter
// ones first and those written first before others: an operation is the first
// transition that such a way leads to. No way leads through the initial state,
// and an element with processes has none.
func movesFrom(e plan.Element, state string, open bool) []oracleMove {
	type way struct {
		at      string
		through []protocol.Transition
	}
	var moves []oracleMove
	known := map[protocol.Operation]bool{}
	for ways, length := []way{{at: state}}, 0; len(ways) > 0 && length < len(e.Protocol.States); length++ {
		var longer []way
		for _, w := range ways {
			for _, t := range e.Protocol.Transitions {
				if t.Source != w.at {
					continue
				}
				if !known[t.Operation] {
					known[t.Operation] = true
					m := oracleMove{plan.Operation{Component: e.Name, Operation: t.Operation}, t.Target, slices.Clone(t.Requires)}
					for _, skipped := range w.through {
						m.requires = append(m.requires, skipped.Requires...)
					}
					moves = append(moves, m)
				}
				if !open && t.Target != e.Protocol.Initial && slices.Contains(e.Unimplemented, t.Operation) {
					longer = append(longer, way{t.Target, append(slices.Clone(w.through), t)})
				}
			}
		}
		ways = longer
	}
	return moves
}

// opens reports whether element i has processes after an operation: a start that
// is implemented leaves some, and a stop ends them.
func (o *oracle) opens(i int, op protocol.Operation, before bool) bool {
	switch op.String() {
	case "Standard.start":
		return before || !slices.Contains(o.p.Elements[i].Unimplemented, op)
	case "Standard.stop":
		return false
	}
	return before
}

// canBeOpen reports whether operations lead from any state without processes to
// one with some.
func (o *oracle) canBeOpen(i int, state string) bool {
	seen := map[stand]bool{}
	var visit func(at stand)
	visit = func(at stand) {
		if seen[at] {
			return
		}
		seen[at] = true
		for _, m := range o.moves[at] {
			visit(stand{i, m.to, o.opens(i, m.operation.Operation, at.open)})
		}
	}
	for _, s := range o.p.Elements[i].Protocol.States {
		visit(stand{i, s.Name, false})
	}
	return seen[stand{i, state, true}]
}

func (o *oracle) state(i int, s oracleState) protocol.State {
	for _, st := range o.p.Elements[i].Protocol.States {
		if st.Name == s.states[i] {
			return st
		}
	}
	panic("no state " + s.states[i])
}

// holds reports whether all that element i requires is offered by whom it is bound to.
func (o *oracle) holds(i int, requires []string, s oracleState) bool {
	for _, b := range o.p.Elements[i].Bindings {
		if slices.Contains(requires, b.Requirement) && !slices.Contains(o.state(o.index[b.Target], s).Offers, b.Capability) {
			return false
		}
	}
	return true
}

func (o *oracle) sound(s oracleState) bool {
	for i := range o.p.Elements {
		if !o.holds(i, o.state(i, s).Requires, s) {
			return false
		}
	}
	return true
}

// start is where a plan begins. An element of which only the state is given has
// processes if it can have some there.
func (o *oracle) start() oracleState {
	var s oracleState
	for i, e := range o.p.Elements {
		s.states[i] = e.Protocol.Initial
		if given, ok := o.p.From[e.Name]; ok {
			s.states[i], s.open[i] = given, o.canBeOpen(i, given)
		}
	}
	return s
}

func (o *oracle) reached(s oracleState) bool {
	for name, want := range o.p.Goal {
		if s.states[o.index[name]] != want {
			return false
		}
	}
	return !slices.Contains(s.ran[:len(o.p.Run)], false)
}

// step makes a move of an element; ok is false when that is not allowed.
func (o *oracle) step(s oracleState, i int, m oracleMove) (next oracleState, ok bool) {
	before := s
	if !o.holds(i, m.requires, s) {
		return s, false
	}
	s.states[i], s.open[i] = m.to, o.opens(i, m.operation.Operation, s.open[i])
	for r, op := range o.p.Run {
		s.ran[r] = s.ran[r] || op == m.operation
	}
	if !o.holds(i, o.state(i, s).Requires, s) {
		return s, false
	}
	for j := range o.p.Elements {
		if j != i && o.takesFrom(j, before, s) {
			return s, false
		}
	}
	return s, true
}

// takesFrom reports whether element j, whose state is the same, has lost anything that it requires.
func (o *oracle) takesFrom(j int, before, after oracleState) bool {
	for _, b := range o.p.Elements[j].Bindings {
		target := o.index[b.Target]
		if slices.Contains(o.state(j, after).Requires, b.Requirement) &&
			slices.Contains(o.state(target, before).Offers, b.Capability) && !slices.Contains(o.state(target, after).Offers, b.Capability) {
			return true
		}
	}
	return false
}

// options are the moves of an element.
func (o *oracle) options(s oracleState, i int) []oracleMove {
	return o.moves[stand{i, s.states[i], s.open[i]}]
}

// next returns all situations that are one step away.
func (o *oracle) next(s oracleState) []oracleState {
	var all []oracleState
	for i := range o.p.Elements {
		for _, m := range o.options(s, i) {
			if to, ok := o.step(s, i, m); ok {
				all = append(all, to)
			}
		}
	}
	return all
}

// run makes operations one after the other: it returns the first that is not
// allowed, counted from 1, or 0 and where they lead.
func (o *oracle) run(operations []plan.Operation) (refused int, end oracleState) {
	s := o.start()
	for n, op := range operations {
		var ok bool
		if s, ok = o.make(s, op); !ok {
			return n + 1, s
		}
	}
	return 0, s
}

// make makes one operation.
func (o *oracle) make(s oracleState, op plan.Operation) (next oracleState, ok bool) {
	i, known := o.index[op.Component]
	at := slices.IndexFunc(o.options(s, i), func(m oracleMove) bool { return m.operation == op })
	if !known || at < 0 {
		return s, false
	}
	return o.step(s, i, o.options(s, i)[at])
}

// distances returns for each reachable situation the fewest operations that lead
// from there to the goal; those that never lead there are left out.
func (o *oracle) distances() map[oracleState]int {
	before := map[oracleState][]oracleState{}
	seen := map[oracleState]bool{o.start(): true}
	left := map[oracleState]int{}
	var ends []oracleState
	for queue := []oracleState{o.start()}; len(queue) > 0; queue = queue[1:] {
		if s := queue[0]; o.reached(s) {
			left[s] = 0
			ends = append(ends, s)
		}
		for _, to := range o.next(queue[0]) {
			before[to] = append(before[to], queue[0])
			if !seen[to] {
				seen[to] = true
				queue = append(queue, to)
			}
		}
	}
	for ; len(ends) > 0; ends = ends[1:] {
		for _, s := range before[ends[0]] {
			if _, known := left[s]; !known {
				left[s] = left[ends[0]] + 1
				ends = append(ends, s)
			}
		}
	}
	return left
}

// best returns the fewest operations that reach the goal and, with as few, the
// fewest levels.
func (o *oracle) best() (operations, levels int, ok bool) {
	left := o.distances()
	operations, ok = left[o.start()]
	if !ok {
		return 0, 0, false
	}
	type spent struct {
		oracleState
		operations int
	}
	now := map[spent]bool{{o.start(), 0}: true}
	for ; ; levels++ {
		later := map[spent]bool{}
		for s := range now {
			if s.operations == operations && o.reached(s.oracleState) {
				return operations, levels, true
			}
			o.together(s.oracleState, func(to oracleState, steps int) {
				if rest, leads := left[to]; leads && s.operations+steps+rest == operations {
					later[spent{to, s.operations + steps}] = true
				}
			})
		}
		now = later
	}
}

// together calls f for every set of moves of different elements that are allowed
// in every order, with what comes of it.
func (o *oracle) together(s oracleState, f func(to oracleState, steps int)) {
	n := len(o.p.Elements)
	chosen := make([]*oracleMove, n)
	var choose func(i int)
	choose = func(i int) {
		if i < n {
			chosen[i] = nil
			choose(i + 1)
			for _, m := range o.options(s, i) {
				chosen[i] = &m
				choose(i + 1)
			}
			chosen[i] = nil
			return
		}
		var made []int
		for e := range n {
			if chosen[e] != nil {
				made = append(made, e)
			}
		}
		if to, ok := o.anyOrder(s, chosen, made); ok && len(made) > 0 {
			f(to, len(made))
		}
	}
	choose(0)
}

// anyOrder makes the chosen moves of the elements that are left, each of them
// first once.
func (o *oracle) anyOrder(s oracleState, chosen []*oracleMove, left []int) (end oracleState, ok bool) {
	end = s
	for at, e := range left {
		to, ok := o.step(s, e, *chosen[e])
		if !ok {
			return s, false
		}
		if end, ok = o.anyOrder(to, chosen, slices.Delete(slices.Clone(left), at, at+1)); !ok {
			return s, false
		}
	}
	return end, true
}
