package graph

import (
	"cmp"
	"slices"
)

// maxLanes bounds the lanes of a piece: where edges pass through more columns
// than that in all, they are drawn straight across.
const maxLanes = 20_000

// layers assigns a column to each outermost box, so that edges are short and lead to the right,
// except in cycles.
func (p *piece) layers() map[*box]int {
	next := map[*box][]*edge{}
	for _, e := range p.edges {
		if !e.loop {
			next[e.from.top()] = append(next[e.from.top()], e)
		}
	}
	sorted := p.breakCycles(next)
	column := map[*box]int{}
	before, after := map[*box][]*box{}, map[*box][]*box{}
	for _, e := range p.edges {
		if !e.loop {
			a, b := e.ends()
			before[b], after[a] = append(before[b], a), append(after[a], b)
		}
	}
	for _, b := range sorted {
		for _, a := range before[b] {
			column[b] = max(column[b], column[a]+1)
		}
	}
	for _, a := range slices.Backward(sorted) { // no incoming edge: as near as possible to its targets
		if len(before[a]) > 0 || len(after[a]) == 0 {
			continue
		}
		nearest := column[after[a][0]]
		for _, b := range after[a] {
			nearest = min(nearest, column[b])
		}
		column[a] = nearest - 1
	}
	return column
}

// ends returns the outermost boxes of an edge, the left one first.
func (e *edge) ends() (left, right *box) {
	if e.reversed {
		return e.to.top(), e.from.top()
	}
	return e.from.top(), e.to.top()
}

// breakCycles reverses edges until the graph is acyclic, and returns the boxes in topological
// order.
func (p *piece) breakCycles(next map[*box][]*edge) []*box {
	const open, done = 1, 2
	state := map[*box]int{}
	var order []*box
	var visit func(b *box)
	visit = func(b *box) {
		state[b] = open
		for _, e := range next[b] {
			switch to := e.to.top(); state[to] {
			case 0:
				visit(to)
			case open:
				e.reversed = true
			}
		}
		state[b] = done
		order = append(order, b)
	}
	into := map[*box]int{}
	for _, edges := range next {
		for _, e := range edges {
			into[e.to.top()]++
		}
	}
	for _, wanted := range []bool{true, false} { // start at boxes without incoming edges, so that few edges are reversed
		for _, b := range p.tops {
			if state[b] == 0 && (into[b] == 0) == wanted {
				visit(b)
			}
		}
	}
	slices.Reverse(order)
	return order
}

// makeColumns makes the cells of all columns, with lanes for edges that pass
// through columns.
func (p *piece) makeColumns(column map[*box]int) {
	last, lanes := 0, 0
	for _, b := range p.tops {
		last = max(last, column[b])
	}
	p.columns = make([][]*cell, last+1)
	add := func(c *cell) *cell {
		c.order = len(p.columns[c.column])
		p.columns[c.column] = append(p.columns[c.column], c)
		return c
	}
	for _, b := range p.tops {
		p.cells[b] = add(&cell{top: b, column: column[b]})
	}
	for _, e := range p.edges {
		if e.loop {
			continue
		}
		a, b := e.ends()
		lanes += column[b] - column[a] - 1
		for at := column[a] + 1; at < column[b] && lanes <= maxLanes; at++ {
			e.steps = append(e.steps, add(&cell{lane: e, column: at, h: lane}))
		}
	}
}

// link is a piece of an edge between two neighbouring columns.
type link struct {
	left, right       *cell
	leftBox, rightBox *box // innermost; nil in a lane
}

func (p *piece) links() []link {
	var all []link
	for _, e := range p.edges {
		if e.loop {
			continue
		}
		from, to := e.from, e.to
		if e.reversed {
			from, to = to, from
		}
		at := link{left: p.cells[from.top()], leftBox: from}
		for _, c := range e.steps {
			at.right = c
			all = append(all, at)
			at = link{left: c}
		}
		at.right, at.rightBox = p.cells[to.top()], to
		all = append(all, at)
	}
	return all
}

// order sorts the cells of the columns, and the components within their hosts,
// so that few lines cross: each moves to the middle of its neighbours, back and
// forth, and the best order seen is kept.
func (p *piece) order() {
	links := p.links()
	if len(links) == 0 {
		return
	}
	rounds := 24
	if len(links) > 2000 {
		rounds = 4
	}
	best, kept := p.crossings(links), p.remember()
	for round := range rounds {
		p.sweep(links, round%2 == 0)
		if n := p.crossings(links); n < best {
			best, kept = n, p.remember()
		}
		if best == 0 {
			break
		}
	}
	kept()
}

// position is where a line meets a cell, counted in cells.
func position(c *cell, b *box, ranks map[*box]float64) float64 {
	if b == nil {
		return float64(c.order)
	}
	return float64(c.order) + ranks[b] - 0.5
}

// ranks returns the position of each box within its outermost one, from 0 to 1.
func (p *piece) ranks() map[*box]float64 {
	ranks := map[*box]float64{}
	for _, top := range p.tops {
		var flat []*box
		var walk func(b *box)
		walk = func(b *box) {
			flat = append(flat, b)
			for _, child := range b.children {
				walk(child)
			}
		}
		walk(top)
		for i, b := range flat {
			ranks[b] = float64(i+1) / float64(len(flat)+1)
		}
	}
	return ranks
}

// sweep sorts every column by the one before it, or by the one after it, and
// children by both.
func (p *piece) sweep(links []link, forward bool) {
	ranks := p.ranks()
	sum, count := map[*cell]float64{}, map[*cell]float64{}
	childSum, childCount := map[*box]float64{}, map[*box]float64{}
	by := map[int][]link{}
	for _, l := range links {
		by[l.left.column] = append(by[l.left.column], l)
		pull(childSum, childCount, l.leftBox, position(l.right, l.rightBox, ranks))
		pull(childSum, childCount, l.rightBox, position(l.left, l.leftBox, ranks))
	}
	for _, b := range p.tops {
		b.sortChildren(childSum, childCount)
	}
	ranks = p.ranks()
	for i := range p.columns {
		at, gap := i, i-1
		if !forward {
			at = len(p.columns) - 1 - i
			gap = at
		}
		for _, l := range by[gap] {
			if forward {
				sum[l.right] += position(l.left, l.leftBox, ranks)
				count[l.right]++
			} else {
				sum[l.left] += position(l.right, l.rightBox, ranks)
				count[l.left]++
			}
		}
		center := func(c *cell) float64 {
			if count[c] == 0 {
				return float64(c.order)
			}
			return sum[c] / count[c]
		}
		slices.SortStableFunc(p.columns[at], func(a, b *cell) int { return cmp.Compare(center(a), center(b)) })
		for order, c := range p.columns[at] {
			c.order = order
		}
	}
}

// pull counts a neighbour's position for a box and all boxes around it.
func pull(sum, count map[*box]float64, b *box, to float64) {
	for ; b != nil; b = b.parent {
		sum[b] += to
		count[b]++
	}
}

func (b *box) sortChildren(sum, count map[*box]float64) {
	middle := 0.0
	if count[b] > 0 {
		middle = sum[b] / count[b]
	}
	center := func(child *box) float64 {
		if count[child] == 0 {
			return middle
		}
		return sum[child] / count[child]
	}
	slices.SortStableFunc(b.children, func(x, y *box) int { return cmp.Compare(center(x), center(y)) })
	for _, child := range b.children {
		child.sortChildren(sum, count)
	}
}

// remember returns a function that restores the current order.
func (p *piece) remember() func() {
	columns := make([][]*cell, len(p.columns))
	for i := range columns {
		columns[i] = slices.Clone(p.columns[i])
	}
	children := map[*box][]*box{}
	var walk func(b *box)
	walk = func(b *box) {
		children[b] = slices.Clone(b.children)
		for _, child := range b.children {
			walk(child)
		}
	}
	for _, b := range p.tops {
		walk(b)
	}
	return func() {
		p.columns = columns
		for _, column := range columns {
			for i, c := range column {
				c.order = i
			}
		}
		for b, order := range children {
			b.children = order
		}
	}
}

// crossings counts the pairs of lines between neighbouring columns that cross:
// the inversions of their right ends when sorted by their left ends.
func (p *piece) crossings(links []link) int {
	ranks := p.ranks()
	type ends struct{ left, right float64 }
	by := make([][]ends, len(p.columns))
	for _, l := range links {
		by[l.left.column] = append(by[l.left.column], ends{position(l.left, l.leftBox, ranks), position(l.right, l.rightBox, ranks)})
	}
	total := 0
	for _, lines := range by {
		slices.SortFunc(lines, func(a, b ends) int { return cmp.Or(cmp.Compare(a.left, b.left), cmp.Compare(a.right, b.right)) })
		rights := make([]float64, len(lines))
		for i, l := range lines {
			rights[i] = l.right
		}
		total += inversions(rights)
	}
	return total
}

// inversions counts the pairs that are out of order, by merge sort.
func inversions(list []float64) int {
	if len(list) < 2 {
		return 0
	}
	a, b := slices.Clone(list[:len(list)/2]), slices.Clone(list[len(list)/2:])
	n := inversions(a) + inversions(b)
	for i := range list {
		if len(b) == 0 || (len(a) > 0 && a[0] <= b[0]) {
			list[i], a = a[0], a[1:]
		} else {
			list[i], b = b[0], b[1:]
			n += len(a)
		}
	}
	return n
}
