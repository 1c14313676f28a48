package plan

// bound is a lower bound of every plan from a situation.
type bound struct {
	possible   bool
	operations int
	levels     int   // an element makes one step a level
	offer      []set // what each element must offer at one time or another

	cost, queue []int // of each element, and elements to visit
}

// bound computes the bound of a situation.
func (w *world) bound(at situation) bound {
	b := bound{offer: make([]set, len(w.elements)), cost: make([]int, len(w.elements))}
	w.updateBound(at, &b)
	return b
}

// updateBound computes a bound in the memory of another one, since searches compute hundreds of
// thousands. It follows goals to paths, paths to their necessary requirements, and these to the
// paths of the elements that offer them.
func (w *world) updateBound(at situation, b *bound) {
	clear(b.offer)
	clear(b.cost)
	*b = bound{possible: true, offer: b.offer, cost: b.cost, queue: b.queue[:0]}
	for i := range w.elements {
		if w.elements[i].wanted {
			b.queue = append(b.queue, i)
		}
	}
	for next := 0; next < len(b.queue); next++ {
		i := b.queue[next]
		e := &w.elements[i]
		j := e.path(int(at[i]), b.offer[i])
		if !j.possible {
			b.possible = false
			return
		}
		b.operations += len(j.moves) - b.cost[i]
		b.cost[i] = len(j.moves)
		b.levels = max(b.levels, b.cost[i])
		for needs := j.needs; needs != 0; needs &= needs - 1 {
			for _, l := range e.uses[lowest(needs)] {
				if l.names == 0 {
					b.possible = false
					return
				}
				if b.offer[l.element]&l.names == 0 {
					b.offer[l.element] |= l.names
					b.queue = append(b.queue, l.element)
				}
			}
		}
	}
}

// forced reports whether every plan with as few operations as the bound has the
// same steps: then it has the fewest levels, too.
func (w *world) forced(b bound) bool {
	for i := range w.elements {
		if w.elements[i].wanted || b.offer[i] != 0 {
			if !w.elements[i].path(int(w.start[i]), b.offer[i]).unique {
				return false
			}
		}
	}
	return true
}

// relaxation holds the states that are reachable if capabilities are never withdrawn: for each
// state of each element, the earliest level in which the element can be in it, or -1.
type relaxation [][]int

func (w *world) relax() relaxation {
	r := make(relaxation, len(w.elements))
	for i := range w.elements {
		r[i] = make([]int, len(w.elements[i].states))
		for s := range r[i] {
			r[i][s] = -1
		}
		r[i][w.start[i]] = 0
	}
	dirty := make([]bool, len(w.elements)) // what may have new moves
	for i := range dirty {
		dirty[i] = true
	}
	for level, moved := 1, true; moved; level++ {
		moved = false
		next := make([]bool, len(w.elements))
		for i := range w.elements {
			if !dirty[i] {
				continue
			}
			e := &w.elements[i]
			for s := range e.states {
				if r[i][s] < 0 || r[i][s] >= level {
					continue
				}
				for _, m := range e.useful[s] {
					if r[i][m.to] >= 0 || !w.everOffered(r, i, m.needs, level) {
						continue
					}
					r[i][m.to] = level
					moved, next[i] = true, true
					e.offers[m.to].each(func(c int) {
						for _, l := range e.usedBy[c] {
							next[l.element] = true
						}
					})
				}
			}
		}
		dirty = next
	}
	return r
}

// everOffered reports whether all needs of an element are offered by states
// reached before a level.
func (w *world) everOffered(r relaxation, i int, needs set, level int) bool {
	for ; needs != 0; needs &= needs - 1 {
		for _, l := range w.elements[i].uses[lowest(needs)] {
			if !w.reachesOffer(r, l, level) {
				return false
			}
		}
	}
	return true
}

func (w *world) reachesOffer(r relaxation, l link, level int) bool {
	for s, at := range r[l.element] {
		if at >= 0 && at < level && w.elements[l.element].offers[s]&l.names != 0 {
			return true
		}
	}
	return false
}

// levels returns the earliest level in which all goals are reached, or -1 where
// one never is.
func (r relaxation) levels(w *world) int {
	last := 0
	for i := range r {
		first := -1
		for s, at := range r[i] {
			if at >= 0 && w.elements[i].goal[s] && (first < 0 || at < first) {
				first = at
			}
		}
		if first < 0 {
			return -1
		}
		last = max(last, first)
	}
	return last
}
