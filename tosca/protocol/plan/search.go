package plan

import (
	"cmp"
	"container/heap"
	"context"
	"errors"
	"fmt"
	"slices"
)

// visited is a situation that the search has come to, and how.
type visited struct {
	at     situation
	cost   int
	rest   int // the bound from here
	before int // -1: the start
	via    step
	next   int // greedy search: the step to try next
}

// search is A* over situations. Where it is greedy it looks at the bound only:
// it finds a plan soon, which may not be the shortest.
type search struct {
	*world
	greedy bool
	limit  int
	below  int // operations that a plan must have less of; 0: any
	found  []visited
	known  map[string]int // the cheapest way to each situation
	open   frontier
}

// errFull says that the search met its limit.
var errFull = errors.New("the search met its limit")

func (s situation) key() string {
	b := make([]byte, 0, 2*len(s))
	for _, state := range s {
		b = append(b, byte(state), byte(state>>8))
	}
	return string(b)
}

// run gives the steps to the goal; ok is false when all situations were looked at and
// none reaches it.
func (s *search) run(ctx context.Context) (steps []step, ok bool, err error) {
	s.known = map[string]int{}
	s.visit(slices.Clone(s.start), visited{before: -1})
	for s.open.Len() > 0 {
		if ctx.Err() != nil {
			return nil, false, ended(ctx)
		}
		i := heap.Pop(&s.open).(candidate).index
		v := s.found[i]
		if s.known[v.at.key()] != i {
			continue // there is a cheaper way
		}
		if v.rest == 0 && s.reached(v.at) {
			return s.way(i), true, nil
		}
		if len(s.found) >= s.limit {
			return nil, false, fmt.Errorf("%w of %d situations", errFull, s.limit)
		}
		s.expand(i)
	}
	return nil, false, nil
}

// ended says why a context ended the search.
func ended(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("%w of time", errFull)
	}
	return ctx.Err()
}

// expand makes all steps from a situation; when greedy only up to the first
// that brings the goal nearer, and the others when that leads nowhere.
func (s *search) expand(i int) {
	v := s.found[i]
	n := 0
	for e := range s.elements {
		for _, m := range s.elements[e].better[v.at[e]] {
			if n++; n <= v.next {
				continue
			}
			st := step{element: e, from: int(v.at[e]), move: m}
			if !s.allows(v.at, st) {
				continue
			}
			at := slices.Clone(v.at)
			at[e] = uint16(m.to)
			rest, ok := s.visit(at, visited{cost: v.cost + 1, before: i, via: st})
			if s.greedy && ok && rest < v.rest {
				s.found[i].next = n
				s.push(i)
				return
			}
		}
	}
}

// visit opens a situation unless it is known at this cost or leads nowhere.
func (s *search) visit(at situation, v visited) (rest int, ok bool) {
	key := at.key()
	if known, has := s.known[key]; has && s.found[known].cost <= v.cost {
		return 0, false
	}
	b := s.bound(at)
	if !b.possible || (s.below > 0 && v.cost+b.operations >= s.below) {
		return 0, false
	}
	v.at, v.rest = at, b.operations
	s.found = append(s.found, v)
	s.known[key] = len(s.found) - 1
	s.push(len(s.found) - 1)
	return v.rest, true
}

func (s *search) push(i int) {
	v := s.found[i]
	c := candidate{index: i, total: v.cost + v.rest, rest: v.rest}
	if s.greedy {
		c.total = v.rest
	}
	heap.Push(&s.open, c)
}

func (s *search) way(i int) []step {
	var steps []step
	for ; s.found[i].before >= 0; i = s.found[i].before {
		steps = append(steps, s.found[i].via)
	}
	slices.Reverse(steps)
	return steps
}

// candidate is a situation on the frontier.
type candidate struct{ index, total, rest int }

// frontier is a heap: the least total first, then what is nearest to the goal,
// then what was found first.
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
