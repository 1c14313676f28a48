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
	key     string // the situation's
	cost    int32
	rest    int32 // the bound from here
	before  int32 // -1: the start
	element int32 // whose step led here
	move    int32 // which of its best moves
	next    int32 // greedy search: the step to try next
}

// search is A* over situations. Where it is greedy it looks at the bound only:
// it finds a plan soon, which may not be the shortest.
type search struct {
	*world
	greedy bool
	weight int32 // of the bound, against what is behind; 0: 1, above it what is found may not be the shortest
	limit  int
	below  int // operations that a plan must have less of; 0: any
	found  []visited
	known  map[string]int32 // the cheapest way to each situation
	open   frontier
	bound  bound
	at     situation // that is looked at, and one after it
	next   situation
	buffer []byte
}

// errFull says that the search met its limit.
var errFull = errors.New("the search met its limit")

func (s situation) key() string { return string(s.appendKey(nil)) }

func (s situation) appendKey(b []byte) []byte {
	for _, state := range s {
		b = append(b, byte(state), byte(state>>8))
	}
	return b
}

// stateIn gives the state of an element in the situation of a key.
func stateIn(key string, element int) uint16 {
	return uint16(key[2*element]) | uint16(key[2*element+1])<<8
}

// run gives the steps to the goal; ok is false when all situations were looked at and
// none reaches it.
func (s *search) run(ctx context.Context) (steps []step, ok bool, err error) {
	s.known = map[string]int32{}
	s.bound = s.world.bound(s.start)
	s.at, s.next = make(situation, len(s.start)), make(situation, len(s.start))
	s.visit(s.start, visited{before: -1})
	for s.open.Len() > 0 {
		if ctx.Err() != nil {
			return nil, false, ended(ctx)
		}
		i := int(heap.Pop(&s.open).(candidate).index)
		v := s.found[i]
		if int(s.known[v.key]) != i {
			continue // there is a cheaper way
		}
		for e := range s.at {
			s.at[e] = stateIn(v.key, e)
		}
		if v.rest == 0 && s.reached(s.at) {
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

// expand makes all steps from the situation that is looked at; when greedy only up to the first
// that brings the goal nearer, and the others when that leads nowhere.
func (s *search) expand(i int) {
	v := s.found[i]
	n := int32(0)
	for e := range s.elements {
		for number, m := range s.elements[e].better[s.at[e]] {
			if n++; n <= v.next {
				continue
			}
			st := step{element: e, from: int(s.at[e]), move: m}
			if !s.allows(s.at, st) {
				continue
			}
			copy(s.next, s.at)
			s.next[e] = uint16(m.to)
			rest, ok := s.visit(s.next, visited{cost: v.cost + 1, before: int32(i), element: int32(e), move: int32(number)})
			if s.greedy && ok && rest < v.rest {
				s.found[i].next = n
				s.push(i)
				return
			}
		}
	}
}

// visit opens a situation unless it is known at this cost or leads nowhere.
func (s *search) visit(at situation, v visited) (rest int32, ok bool) {
	s.buffer = at.appendKey(s.buffer[:0])
	known, has := s.known[string(s.buffer)]
	if has && s.found[known].cost <= v.cost {
		return 0, false
	}
	s.rebound(at, &s.bound)
	operations := int32(s.bound.operations)
	if !s.bound.possible || (s.below > 0 && int(v.cost+operations) >= s.below) {
		return 0, false
	}
	if v.rest = operations; has {
		v.key = s.found[known].key
	} else {
		v.key = string(s.buffer)
	}
	s.found = append(s.found, v)
	s.known[v.key] = int32(len(s.found) - 1)
	s.push(len(s.found) - 1)
	return v.rest, true
}

func (s *search) push(i int) {
	v := s.found[i]
	c := candidate{index: int32(i), total: v.cost + max(s.weight, 1)*v.rest, rest: v.rest}
	if s.greedy {
		c.total = v.rest
	}
	heap.Push(&s.open, c)
}

func (s *search) way(i int) []step {
	var steps []step
	for s.found[i].before >= 0 {
		v := &s.found[i]
		i = int(v.before)
		from := int(stateIn(s.found[i].key, int(v.element)))
		steps = append(steps, step{element: int(v.element), from: from, move: s.elements[v.element].better[from][v.move]})
	}
	slices.Reverse(steps)
	return steps
}

// candidate is a situation on the frontier.
type candidate struct{ index, total, rest int32 }

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
