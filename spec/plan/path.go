package plan

import "slices"

// maxVisits bounds how many capabilities one path has to offer. What is left out
// makes the bound lower, never wrong.
const maxVisits = 8

type pathKey struct {
	from  int
	offer set
}

// path is a shortest path of a kind from a state to its goal, through states that offer
// capabilities needed by other elements.
type path struct {
	possible bool
	moves    []move
	needs    set  // without one of these there is no path at all
	unique   bool // no other path is as short
}

// path returns the path from a state. It is computed once.
func (k *kind) path(from int, offer set) *path {
	key := pathKey{from, offer}
	if j := k.paths[key]; j != nil {
		return j
	}
	j := &path{}
	j.moves, j.possible, j.unique = k.shortest(from, offer, 0)
	var used set
	for _, m := range j.moves {
		used |= m.needs
	}
	used.each(func(r int) {
		if _, possible, _ := k.shortest(from, offer, 1<<r); !possible {
			j.needs |= 1 << r
		}
	})
	k.paths[key] = j
	return j
}

// place is a state, and which capabilities were offered on the way to it.
type place struct {
	state int
	seen  int // a bit for each that is looked for
}

// trace is how a place was reached first.
type trace struct {
	before place
	via    *move
	length int
	ways   int // how many are as short; 2 means several
}

// walk is a search for a path.
type walk struct {
	*kind
	offer  []int // the capabilities that are looked for
	traces map[place]*trace
}

// look returns the place of a state, with the state's capabilities added to those seen.
func (w *walk) look(state, seen int) place {
	for i, c := range w.offer {
		if w.offers[state].has(c) {
			seen |= 1 << i
		}
	}
	return place{state, seen}
}

// shortest searches breadth first for a path from a state to the goal that offers
// all of a set at one time or another, without moves that need anything of
// another set.
func (k *kind) shortest(from int, offer, without set) (way []move, possible, unique bool) {
	w := &walk{kind: k}
	offer.each(func(c int) {
		if len(w.offer) < maxVisits {
			w.offer = append(w.offer, c)
		}
	})
	first := w.look(from, 0)
	w.traces = map[place]*trace{first: {ways: 1}}
	var ends []place
	for queue := []place{first}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if len(ends) > 0 && w.traces[at].length > w.traces[ends[0]].length {
			break
		}
		if at.seen == 1<<len(w.offer)-1 && k.goal[at.state] {
			ends = append(ends, at)
			continue
		}
		queue = append(queue, w.leave(at, without)...)
	}
	if len(ends) == 0 {
		return nil, false, false
	}
	for at := ends[0]; w.traces[at].via != nil; at = w.traces[at].before {
		way = append(way, *w.traces[at].via)
	}
	slices.Reverse(way)
	return way, true, len(ends) == 1 && w.traces[ends[0]].ways == 1
}

// leave makes the moves from a place and returns the new ones.
func (w *walk) leave(at place, without set) []place {
	var found []place
	t := w.traces[at]
	for i := range w.useful[at.state] {
		m := &w.useful[at.state][i]
		if m.needs&without != 0 {
			continue
		}
		next := w.look(m.to, at.seen)
		switch known := w.traces[next]; {
		case known == nil:
			w.traces[next] = &trace{before: at, via: m, length: t.length + 1, ways: t.ways}
			found = append(found, next)
		case known.length == t.length+1:
			known.ways = min(known.ways+t.ways, 2)
		}
	}
	return found
}
