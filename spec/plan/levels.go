package plan

import (
	"context"
	"fmt"
	"slices"
)

// levelNode is a situation after some levels.
type levelNode struct {
	at     situation
	cost   int // operations
	level  int
	before int // -1: the start
	via    []step
}

// levelSearch searches breadth first for a plan with a given number of operations and fewer
// levels. It tries all sets of steps that can run in parallel, since delaying one step may allow
// others.
type levelSearch struct {
	*world
	operations int
	below      int // levels
	limit      int
	nodes      []levelNode
	cheapest   map[string]int // operations by situation
	tried      int
	bound      bound
}

// run returns the levels of the best plan, or nil when none has fewer.
func (s *levelSearch) run(ctx context.Context) ([][]step, error) {
	s.cheapest, s.bound = map[string]int{}, s.world.bound(s.start)
	s.nodes = []levelNode{{at: slices.Clone(s.start), before: -1}}
	for i := 0; i < len(s.nodes); i++ {
		if ctx.Err() != nil {
			return nil, ended(ctx)
		}
		v := s.nodes[i]
		if s.reached(v.at) {
			return s.way(i), nil
		}
		if !s.subsets(i, s.candidates(v), nil, v.at) {
			return nil, fmt.Errorf("%w of %d sets of steps", errFull, s.limit)
		}
	}
	return nil, nil
}

// candidates returns the steps from a situation after which there may be a plan.
func (s *levelSearch) candidates(v levelNode) []step {
	var steps []step
	for e := range s.elements {
		for _, m := range s.elements[e].useful[v.at[e]] {
			st := step{element: e, from: int(v.at[e]), move: m}
			if !s.allows(v.at, st) {
				continue
			}
			next := slices.Clone(v.at)
			next[e] = uint16(m.to)
			if s.updateBound(next, &s.bound); s.bound.possible && v.cost+1+s.bound.operations <= s.operations {
				steps = append(steps, st)
			}
		}
	}
	return steps
}

// subsets visits the result of every set of the steps; false when there are too
// many.
func (s *levelSearch) subsets(i int, steps, chosen []step, at situation) bool {
	for n, st := range steps {
		if s.tried++; s.tried > s.limit {
			return false
		}
		if slices.ContainsFunc(chosen, func(o step) bool { return o.element == st.element || s.interferes(o, st) }) {
			continue
		}
		next := slices.Clone(at)
		next[st.element] = uint16(st.to)
		with := append(slices.Clone(chosen), st)
		if s.visit(i, with, next) && !s.subsets(i, steps[n+1:], with, next) {
			return false
		}
	}
	return true
}

// visit reports whether a plan with few enough operations can continue from here.
func (s *levelSearch) visit(i int, via []step, at situation) bool {
	v := s.nodes[i]
	made := levelNode{at: at, cost: v.cost + len(via), level: v.level + 1, before: i, via: via}
	b := &s.bound
	s.updateBound(at, b)
	if !b.possible || made.cost+b.operations > s.operations {
		return false
	}
	key := at.key()
	if cost, known := s.cheapest[key]; made.level+b.levels < s.below && (!known || made.cost < cost) {
		s.cheapest[key] = made.cost
		s.nodes = append(s.nodes, made)
	}
	return true
}

func (s *levelSearch) way(i int) [][]step {
	var levels [][]step
	for ; s.nodes[i].before >= 0; i = s.nodes[i].before {
		levels = append(levels, s.nodes[i].via)
	}
	slices.Reverse(levels)
	return levels
}
