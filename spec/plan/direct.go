package plan

// direct orders one path of each element by the dependencies between their steps.
type direct struct {
	*world
	ways   [][]move // by element
	first  []int    // number of an element's first step
	steps  []step
	before [][]int // the steps that a step waits for
	waits  []int   // how many those are, or are left
	after  [][]int
}

// direct returns steps that reach the goal, in an allowed order. It fails if a capability is
// offered more than once or withdrawn too early; if the steps wait for each other, cycle contains
// these steps.
func (w *world) direct() (steps, cycle []step, ok bool) {
	d := &direct{world: w, ways: make([][]move, len(w.elements)), first: make([]int, len(w.elements))}
	if !d.choose() {
		return nil, nil, false
	}
	for i, way := range d.ways {
		d.first[i] = len(d.steps)
		from := int(w.start[i])
		for _, m := range way {
			d.steps = append(d.steps, step{element: i, from: from, move: m})
			from = m.to
		}
	}
	d.before, d.after, d.waits = make([][]int, len(d.steps)), make([][]int, len(d.steps)), make([]int, len(d.steps))
	for i := range d.ways {
		for s := 1; s < len(d.ways[i]); s++ {
			d.wait(d.first[i]+s, d.first[i]+s-1)
		}
		for r, links := range w.elements[i].uses {
			for _, l := range links {
				if !d.order(i, 1<<r, l) {
					return nil, nil, false
				}
			}
		}
	}
	return d.sort()
}

// choose selects the path of each element: to its goal, through the states that offer the
// capabilities needed by other paths.
func (d *direct) choose() bool {
	n := len(d.elements)
	offer, queue, queued := make([]set, n), make([]int, 0, n), make([]bool, n)
	for i := range n {
		queue, queued[i] = append(queue, i), true
	}
	for ; len(queue) > 0; queue = queue[1:] {
		i := queue[0]
		queued[i] = false
		e := &d.elements[i]
		j := e.path(int(d.start[i]), offer[i])
		if !j.possible {
			return false
		}
		d.ways[i] = j.moves
		var needs set
		for _, m := range j.moves {
			needs |= m.needs
		}
		for ; needs != 0; needs &= needs - 1 {
			for _, l := range e.uses[lowest(needs)] {
				if l.names == 0 {
					return false
				}
				if offer[l.element]&l.names != 0 {
					continue
				}
				offer[l.element] |= l.names
				if !queued[l.element] {
					queue, queued[l.element] = append(queue, l.element), true
				}
			}
		}
	}
	return true
}

func (d *direct) wait(step, before int) {
	d.before[step] = append(d.before[step], before)
	d.after[before] = append(d.after[before], step)
	d.waits[step]++
}

// order makes the steps of element i that need r wait until it is offered, and
// the other element wait for them before it withdraws it.
func (d *direct) order(i int, r set, l link) bool {
	way, needed := d.ways[i], d.elements[i].requires[d.start[i]]&r != 0 && d.offered(d.start, l)
	atStart, first, last := needed, -1, -1
	for s, m := range way {
		if needed || m.needs&r != 0 {
			last = s
			if first < 0 {
				first = s
			}
		}
		needed = d.elements[i].requires[m.to]&r != 0
	}
	if first < 0 && !needed {
		return true
	}
	y := &d.elements[l.element]
	begin, end, offers := -1, -1, y.offers[d.start[l.element]]&l.names != 0 // the steps between which it is offered
	came := offers
	for s, m := range d.ways[l.element] {
		now := y.offers[m.to]&l.names != 0
		switch {
		case now && !offers && came:
			return false // it is offered again
		case now && !offers:
			begin, came = s, true
		case !now && offers:
			end = s
		}
		offers = now
	}
	if !came || (atStart && begin >= 0) || (needed && end >= 0) {
		return false
	}
	if begin >= 0 {
		d.wait(d.first[i]+first, d.first[l.element]+begin)
	}
	if end >= 0 {
		d.wait(d.first[l.element]+end, d.first[i]+last)
	}
	return true
}

// sort returns the steps in order, or a cycle of them.
func (d *direct) sort() (steps, cycle []step, ok bool) {
	var ready []int
	for s, n := range d.waits {
		if n == 0 {
			ready = append(ready, s)
		}
	}
	for ; len(ready) > 0; ready = ready[1:] {
		steps = append(steps, d.steps[ready[0]])
		for _, s := range d.after[ready[0]] {
			if d.waits[s]--; d.waits[s] == 0 {
				ready = append(ready, s)
			}
		}
	}
	if len(steps) == len(d.steps) {
		return steps, nil, true
	}
	return nil, d.cycle(), false
}

// cycle follows waiting steps until one repeats.
func (d *direct) cycle() []step {
	at := 0
	for d.waits[at] == 0 {
		at++
	}
	var way []step
	seen := map[int]int{}
	for {
		if from, again := seen[at]; again {
			return way[from:]
		}
		seen[at] = len(way)
		way = append(way, d.steps[at])
		for _, before := range d.before[at] {
			if d.waits[before] > 0 {
				at = before
				break
			}
		}
	}
}
