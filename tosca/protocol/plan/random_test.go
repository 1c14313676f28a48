package plan_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/toskose/toskose/tosca/protocol"
	"github.com/toskose/toskose/tosca/protocol/plan"
)

// randomProblem makes a small topology in which anything may happen: offers
// come and go, operations are not implemented, goals are missing.
func randomProblem(r *rand.Rand) plan.Problem {
	names := []string{"a", "b", "c", "d"}[:3+r.IntN(2)]
	words := []string{"x", "y"}
	some := func(of []string, one float64) []string {
		var all []string
		for _, w := range of {
			if r.Float64() < one {
				all = append(all, w)
			}
		}
		return all
	}
	p := plan.Problem{Goal: map[string]string{}}
	for _, name := range names {
		e := plan.Element{Name: name, Protocol: protocol.Protocol{Initial: "0", States: []protocol.State{{Name: "0", Offers: some(words, 0.2)}}}}
		states := 2 + r.IntN(2) + r.IntN(2)
		for s := 1; s < states; s++ {
			e.Protocol.States = append(e.Protocol.States, protocol.State{
				Name: fmt.Sprint(s), Requires: some(words, 0.3), Offers: some(words, 0.5),
			})
		}
		for t := range 2*states + r.IntN(2) {
			op := fmt.Sprintf("o%d", t)
			from, to := r.IntN(states), r.IntN(states)
			switch { // a way forward and, perhaps, back
			case t < states-1:
				from, to = t, t+1
			case t < 2*states-2 && r.IntN(2) == 0:
				from, to = t-states+2, t-states+1
			}
			e.Protocol.Transitions = append(e.Protocol.Transitions, protocol.Transition{
				Source: fmt.Sprint(from), Target: fmt.Sprint(to), Interface: "i", Operation: op, Requires: some(words, 0.25),
			})
			if r.IntN(6) == 0 {
				e.Unimplemented = append(e.Unimplemented, "i."+op)
			}
		}
		for _, w := range words {
			if target := names[r.IntN(len(names))]; target != name {
				e.Bindings = append(e.Bindings, plan.Binding{Requirement: w, Target: target, Capability: words[r.IntN(2)]})
			}
		}
		if r.IntN(3) > 0 {
			p.Goal[name] = fmt.Sprint(r.IntN(states))
		}
		if r.IntN(8) == 0 {
			t := e.Protocol.Transitions[r.IntN(len(e.Protocol.Transitions))]
			p.Run = append(p.Run, plan.Operation{Component: name, Interface: "i", Operation: t.Operation})
		}
		p.Elements = append(p.Elements, e)
	}
	return p
}

func TestPlansOfSmallTopologiesAreAsShortAsCanBe(t *testing.T) {
	t.Parallel()
	const count = 120
	var found, impossible, detours, unproven int
	for seed := range uint64(count) {
		p := randomProblem(rand.New(rand.NewPCG(seed, 5)))
		operations, levels, solvable := bruteForce(p)
		made, err := plan.Make(t.Context(), p, plan.Options{})
		switch {
		case err != nil && !errors.Is(err, plan.ErrImpossible):
			t.Fatalf("seed %d: %v", seed, err)
		case (err == nil) != solvable:
			t.Fatalf("seed %d: solvable is %v, and the planner says: %v", seed, solvable, err)
		case err != nil:
			impossible++
			continue
		}
		found++
		if !made.Minimal.Operations || !made.Minimal.Levels {
			t.Errorf("seed %d: not proven minimal: %+v, %s", seed, made.Minimal, made.Limit)
		}
		if made.Operations != operations || len(made.Levels) != levels {
			t.Errorf("seed %d: %d operations in %d levels, where %d in %d will do", seed, made.Operations, len(made.Levels), operations, levels)
		}
		checkPlan(t, p, made)
		hasty, err := plan.Make(t.Context(), p, plan.Options{MaxStates: 6})
		if err == nil {
			checkPlan(t, p, hasty)
			if hasty.Minimal.Operations && hasty.Operations != operations || hasty.Minimal.Levels && len(hasty.Levels) != levels {
				t.Errorf("seed %d: %+v is claimed of %s, where %d in %d will do", seed, hasty.Minimal, hasty.Summary(), operations, levels)
			}
			if !hasty.Minimal.Levels {
				if unproven++; !strings.Contains(hasty.Summary(), "the search met its limit of 6 ") {
					t.Errorf("seed %d: it does not say why it is not proven: %s", seed, hasty.Summary())
				}
			}
		} else if !errors.Is(err, plan.ErrLimit) {
			t.Errorf("seed %d: with a limit: %v", seed, err)
		}
		if levels > 4 {
			detours++
		}
	}
	t.Logf("%d plans, %d of them with more than 4 levels; %d impossible, %d not proven", found, detours, impossible, unproven)
	if found < count/10 || impossible < count/10 || detours < count/100 || unproven == 0 {
		t.Error("the topologies are not the mixture that this test is for")
	}
}

// checkPlan checks a plan in the order that it gives, and each of its levels
// backwards, too: any order within a level is allowed.
func checkPlan(t *testing.T, p plan.Problem, made *plan.Plan) {
	t.Helper()
	var forward, backward []plan.Operation
	id := 0
	for _, level := range made.Levels {
		first := id + 1
		for _, s := range level {
			if id++; s.ID != id {
				t.Errorf("step %d has number %d", id, s.ID)
			}
			for _, before := range s.After {
				if before >= first {
					t.Errorf("step %d waits for %d, which is not in a level before", s.ID, before)
				}
			}
			forward = append(forward, s.Operation)
		}
		for _, s := range slices.Backward(level) {
			backward = append(backward, s.Operation)
		}
	}
	for _, ops := range [][]plan.Operation{forward, backward} {
		out, err := plan.Check(p, ops)
		if err != nil {
			t.Fatalf("the plan %v is refused: %v", ops, err)
		}
		if len(out.Unmet) > 0 {
			t.Fatalf("the plan %v does not reach the goal: %v", ops, out.Unmet)
		}
	}
}

// brute is the rules once more, by names and maps, for comparison.
type brute struct {
	p     plan.Problem
	index map[string]int
}

type bruteState struct {
	states [4]string
	ran    [4]bool // of p.Run
}

func (b *brute) state(i int, s bruteState) protocol.State {
	st, _ := b.p.Elements[i].Protocol.State(s.states[i])
	return st
}

// holds tells whether what element i requires is offered, when those in others
// are in either of two situations.
func (b *brute) holds(i int, requires []string, in ...bruteState) bool {
	for _, bound := range b.p.Elements[i].Bindings {
		for _, s := range in {
			if slices.Contains(requires, bound.Requirement) && !slices.Contains(b.state(b.index[bound.Target], s).Offers, bound.Capability) {
				return false
			}
		}
	}
	return true
}

func (b *brute) sound(s bruteState) bool {
	for i := range b.p.Elements {
		if !b.holds(i, b.state(i, s).Requires, s) {
			return false
		}
	}
	return true
}

// step gives what comes of an operation.
func (b *brute) step(s bruteState, i int, passage protocol.Passage) (bruteState, bool) {
	requires := slices.Clone(passage.Requires)
	for _, t := range passage.Through {
		requires = append(requires, t.Requires...)
	}
	if !b.holds(i, requires, s) {
		return s, false
	}
	s.states[i] = passage.Target
	for r, op := range b.p.Run {
		if op.Component == b.p.Elements[i].Name && op.Interface+"."+op.Operation == passage.Qualified() {
			s.ran[r] = true
		}
	}
	return s, b.sound(s)
}

func (b *brute) passages(s bruteState, i int) []protocol.Passage {
	e := b.p.Elements[i]
	return e.Protocol.Passages(s.states[i], func(op string) bool { return !slices.Contains(e.Unimplemented, op) })
}

func (b *brute) done(s bruteState) bool {
	for name, want := range b.p.Goal {
		if s.states[b.index[name]] != want {
			return false
		}
	}
	return !slices.Contains(s.ran[:len(b.p.Run)], false)
}

// anyOrder tells whether operations of different elements are allowed in every
// order, and what comes of them.
func (b *brute) anyOrder(s bruteState, left map[int]protocol.Passage) (bruteState, bool) {
	end := s
	for i, passage := range left {
		next, ok := b.step(s, i, passage)
		if !ok {
			return s, false
		}
		rest := map[int]protocol.Passage{}
		for j, other := range left {
			if j != i {
				rest[j] = other
			}
		}
		if end, ok = b.anyOrder(next, rest); !ok {
			return s, false
		}
	}
	return end, true
}

// bruteForce finds the least operations and, with these, the least levels: by
// value iteration over all situations that can be reached, level by level.
func bruteForce(p plan.Problem) (operations, levels int, ok bool) {
	b := &brute{p: p, index: map[string]int{}}
	var start bruteState
	for i, e := range p.Elements {
		b.index[e.Name] = i
		start.states[i] = e.Protocol.Initial
	}
	edges := map[bruteState]map[bruteState]int{} // operations of one level
	for queue := []bruteState{start}; len(queue) > 0; queue = queue[1:] {
		s := queue[0]
		if edges[s] != nil {
			continue
		}
		edges[s] = map[bruteState]int{}
		b.sets(s, 0, map[int]protocol.Passage{}, func(next bruteState, n int) {
			if known, has := edges[s][next]; !has || n < known {
				edges[s][next] = n
			}
			queue = append(queue, next)
		})
	}
	best := -1
	cheapest := map[bruteState]int{start: 0}
	for level := 0; ; level++ {
		for s, cost := range cheapest {
			if b.done(s) && (best < 0 || cost < best) {
				best, levels = cost, level
			}
		}
		next := map[bruteState]int{}
		changed := false
		for s, cost := range cheapest {
			if known, has := next[s]; !has || cost < known {
				next[s] = cost
			}
			for to, n := range edges[s] {
				if known, has := next[to]; !has || cost+n < known {
					next[to] = cost + n
				}
			}
		}
		for s, cost := range next {
			if known, has := cheapest[s]; !has || cost < known {
				changed = true
			}
		}
		if cheapest = next; !changed {
			return best, levels, best >= 0
		}
	}
}

// sets gives each set of operations of different elements that are allowed in
// any order.
func (b *brute) sets(s bruteState, i int, chosen map[int]protocol.Passage, f func(bruteState, int)) {
	if i == len(b.p.Elements) {
		if len(chosen) == 0 {
			return
		}
		if next, ok := b.anyOrder(s, chosen); ok {
			f(next, len(chosen))
		}
		return
	}
	b.sets(s, i+1, chosen, f)
	for _, passage := range b.passages(s, i) {
		chosen[i] = passage
		b.sets(s, i+1, chosen, f)
		delete(chosen, i)
	}
}
