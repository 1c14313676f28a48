package plan_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/toskose/toskose/spec/plan"
	"github.com/toskose/toskose/spec/protocol"
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
			op := protocol.Operation{Interface: "i", Name: fmt.Sprintf("o%d", t)}
			from, to := r.IntN(states), r.IntN(states)
			switch { // a way forward and, perhaps, back
			case t < states-1:
				from, to = t, t+1
			case t < 2*states-2 && r.IntN(2) == 0:
				from, to = t-states+2, t-states+1
			}
			e.Protocol.Transitions = append(e.Protocol.Transitions, protocol.Transition{
				Source: fmt.Sprint(from), Target: fmt.Sprint(to), Operation: op, Requires: some(words, 0.25),
			})
			if r.IntN(6) == 0 {
				e.Unimplemented = append(e.Unimplemented, op)
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
			p.Run = append(p.Run, plan.Operation{Component: name, Operation: t.Operation})
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
		operations, levels, solvable := newOracle(p).best()
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
				if unproven++; !strings.Contains(hasty.Summary(), "the search reached its limit of 6 ") {
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
