package plan

import "slices"

// maxVisits bounds how many capabilities one journey is made to offer. What is
// left out makes the bound lower, never wrong.
const maxVisits = 8

type journeyKey struct {
	from  int
	offer set
}

// journey is a shortest way of one kind from a state through states that offer
// what others need, to its goal.
type journey struct {
	possible bool
	moves    []move
	needs    set  // without one of these there is no way at all
	unique   bool // there is no other way as short
}

// journey gives the way from a state. It is found once.
func (k *kind) journey(from int, offer set) *journey {
	key := journeyKey{from, offer}
	if j := k.journeys[key]; j != nil {
		return j
	}
	j := &journey{}
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
	k.journeys[key] = j
	return j
}

// place is a state, and which capabilities were offered on the way to it.
type place struct {
	state int
	seen  int // a bit for each that is looked for
}

// trace is how a place was come to first.
type trace struct {
	before place
	via    *move
	length int
	ways   int // so many as short: 2 is many
}

// walk is a search for a journey.
type walk struct {
	*kind
	offer  []int // the capabilities that are looked for
	traces map[place]*trace
}

// look adds what a state offers to what was seen.
func (w *walk) look(state, seen int) place {
	for i, c := range w.offer {
		if w.offers[state].has(c) {
			seen |= 1 << i
		}
	}
	return place{state, seen}
}

// shortest searches breadth first for the way from a state to the goal which
// offers all of a set at one time or another, without moves that need anything
// of another set.
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

// leave makes the moves from a place, and gives those that are new.
func (w *walk) leave(at place, without set) []place {
	var found []place
	t := w.traces[at]
	for i := range w.better[at.state] {
		m := &w.better[at.state][i]
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
