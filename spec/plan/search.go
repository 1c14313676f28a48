package plan

import (
	"cmp"
	"container/heap"
	"context"
	"errors"
	"fmt"
	"slices"
)

// searchNode is a situation that the search has reached, and how.
type searchNode struct {
	key     string // the situation's
	cost    int32
	rest    int32 // the bound from here
	before  int32 // -1: the start
	element int32 // whose step led here
	move    int32 // which of its useful moves
	next    int32 // greedy search: the step to try next
}

// search is A* over situations. A greedy search follows the bound only: it finds
// a plan soon, which may not be the shortest.
type search struct {
	*world
	greedy bool
	weight int32 // of the bound; 0 means 1, and above it the result may not be the shortest
	limit  int
	below  int // a plan must have fewer operations; 0: any number
	nodes  []searchNode
	known  map[string]int32 // the cheapest node of each situation
	open   frontier
	bound  bound
	at     situation // that is expanded, and one after it
	next   situation
	buffer []byte
}

// errFull says that the search reached its limit.
var errFull = errors.New("the search reached its limit")

func (s situation) key() string { return string(s.appendKey(nil)) }

func (s situation) appendKey(b []byte) []byte {
	for _, state := range s {
		b = append(b, byte(state), byte(state>>8))
	}
	return b
}

// stateIn returns the state of an element in the situation of a key.
func stateIn(key string, element int) uint16 {
	return uint16(key[2*element]) | uint16(key[2*element+1])<<8
}

// run returns the steps to the goal; ok is false when all situations were visited
// and none reaches it.
func (s *search) run(ctx context.Context) (steps []step, ok bool, err error) {
	s.known = map[string]int32{}
	s.bound = s.world.bound(s.start)
	s.at, s.next = make(situation, len(s.start)), make(situation, len(s.start))
	s.visit(s.start, searchNode{before: -1})
	for s.open.Len() > 0 {
		if ctx.Err() != nil {
			return nil, false, ended(ctx)
		}
		i := int(heap.Pop(&s.open).(candidate).index)
		v := s.nodes[i]
		if int(s.known[v.key]) != i {
			continue // a cheaper node has replaced it
		}
		for e := range s.at {
			s.at[e] = stateIn(v.key, e)
		}
		if v.rest == 0 && s.reached(s.at) {
			return s.way(i), true, nil
		}
		if len(s.nodes) >= s.limit {
			return nil, false, fmt.Errorf("%w of %d situations", errFull, s.limit)
		}
		s.expand(i)
	}
	return nil, false, nil
}

// ended returns why a context ended the search.
func ended(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("%w of time", errFull)
	}
	return ctx.Err()
}

// expand makes all steps from a node. A greedy search stops at the first step that brings the goal
// nearer, and makes the others if that fails.
func (s *search) expand(i int) {
	v := s.nodes[i]
	n := int32(0)
	for e := range s.elements {
		for number, m := range s.elements[e].useful[s.at[e]] {
			if n++; n <= v.next {
				continue
			}
			st := step{element: e, from: int(s.at[e]), move: m}
			if !s.allows(s.at, st) {
				continue
			}
			copy(s.next, s.at)
			s.next[e] = uint16(m.to)
			rest, ok := s.visit(s.next, searchNode{cost: v.cost + 1, before: int32(i), element: int32(e), move: int32(number)})
			if s.greedy && ok && rest < v.rest {
				s.nodes[i].next = n
				s.push(i)
				return
			}
		}
	}
}

// visit opens a situation unless it is known at this cost or the goal cannot be reached from it.
func (s *search) visit(at situation, v searchNode) (rest int32, ok bool) {
	s.buffer = at.appendKey(s.buffer[:0])
	known, has := s.known[string(s.buffer)]
	if has && s.nodes[known].cost <= v.cost {
		return 0, false
	}
	s.updateBound(at, &s.bound)
	operations := int32(s.bound.operations)
	if !s.bound.possible || (s.below > 0 && int(v.cost+operations) >= s.below) {
		return 0, false
	}
	if v.rest = operations; has {
		v.key = s.nodes[known].key
	} else {
		v.key = string(s.buffer)
	}
	s.nodes = append(s.nodes, v)
	s.known[v.key] = int32(len(s.nodes) - 1)
	s.push(len(s.nodes) - 1)
	return v.rest, true
}

func (s *search) push(i int) {
	v := s.nodes[i]
	c := candidate{index: int32(i), total: v.cost + max(s.weight, 1)*v.rest, rest: v.rest}
	if s.greedy {
		c.total = v.rest
	}
	heap.Push(&s.open, c)
}

func (s *search) way(i int) []step {
	var steps []step
	for s.nodes[i].before >= 0 {
		v := &s.nodes[i]
		i = int(v.before)
		from := int(stateIn(s.nodes[i].key, int(v.element)))
		steps = append(steps, step{element: int(v.element), from: from, move: s.elements[v.element].useful[from][v.move]})
	}
	slices.Reverse(steps)
	return steps
}

// candidate is a situation on the frontier.
type candidate struct{ index, total, rest int32 }

// frontier is a heap: the least total first, then the nearest to the goal, then
// the oldest.
type frontier []candidate

func (f frontier) Len() int { return len(f) }

func (f frontier) Less(i, j int) bool {
	a, b := f[i], f[j]
	return cmp.Or(cmp.Compare(a.total, b.total), cmp.Compare(a.rest, b.rest), cmp.Compare(a.index, b.index)) < 0
}

func (f frontier) Swap(i, j int) { f[i], f[j] = f[j], f[i] }

// Push implements heap.Interface.
func (f *frontier) Push(x any) { *f = append(*f, x.(candidate)) }

// Pop implements heap.Interface.
func (f *frontier) Pop() any {
	last := len(*f) - 1
	x := (*f)[last]
	*f = (*f)[:last]
	return x
}
