package graph

// attach assigns ports to every edge, sorted by the positions of the targets.
func (p *piece) attach() {
	ranks := p.ranks()
	lanes := map[*box]int{}
	for _, e := range p.edges {
		from, to := e.from, e.to
		if e.loop {
			e.attachLoop(ranks)
			e.lanePosition = lanes[from.top()]
			lanes[from.top()]++
			continue
		}
		if e.reversed {
			from, to = to, from
		}
		second, beforeLast := p.cells[to.top()], p.cells[from.top()]
		secondBox, beforeBox := to, from
		if len(e.steps) > 0 {
			second, beforeLast, secondBox, beforeBox = e.steps[0], e.steps[len(e.steps)-1], nil, nil
		}
		e.tail = &port{edge: e, key: position(second, secondBox, ranks)}
		e.head = &port{edge: e, key: position(beforeLast, beforeBox, ranks)}
		from.right, to.left = append(from.right, e.tail), append(to.left, e.head)
	}
}

// attachLoop assigns both ports of an edge within one box to its right side: edges leading up go
// above all others, edges leading down below.
func (e *edge) attachLoop(ranks map[*box]float64) {
	const beyond = 1e6
	e.tail, e.head = &port{edge: e}, &port{edge: e}
	distance := ranks[e.to] - ranks[e.from]
	if distance < 0 {
		e.tail.key, e.head.key = -beyond-distance, beyond+distance
	} else {
		e.tail.key, e.head.key = beyond-distance, -beyond+distance
	}
	e.from.right, e.to.right = append(e.from.right, e.tail), append(e.to.right, e.head)
}

// alignment straightens a line: the point here of a cell should be as high as the point there of
// another.
type alignment struct {
	other       *cell
	here, there float64
}

// place computes the coordinates of all cells: across by columns, and down so that
// lines are as level as the order allows.
func (p *piece) place() {
	p.stack()
	lefts, rights := p.alignments()
	for round := range 12 {
		for i := range p.columns {
			if round%2 == 0 {
				p.settleColumn(p.columns[i], lefts)
			} else {
				p.settleColumn(p.columns[len(p.columns)-1-i], rights)
			}
		}
	}
	both := map[*cell][]alignment{}
	for _, column := range p.columns {
		for _, c := range column {
			both[c] = append(append(both[c], lefts[c]...), rights[c]...)
		}
	}
	for range 2 {
		for _, column := range p.columns {
			p.settleColumn(column, both)
		}
	}
	highest, lowest := 0.0, 0.0
	for i, column := range p.columns {
		for j, c := range column {
			if i+j == 0 || c.y < highest {
				highest = c.y
			}
		}
	}
	for _, column := range p.columns {
		for _, c := range column {
			c.y -= highest
			lowest = max(lowest, c.y+c.h)
		}
	}
	p.h = lowest
}

// stack places the columns and gives the cells an initial height.
func (p *piece) stack() {
	x, labels := 0.0, p.labelRooms()
	for i, column := range p.columns {
		w, y := 0.0, 0.0
		for _, c := range column {
			if c.top != nil {
				c.h = c.top.h
				w = max(w, c.top.w)
			}
		}
		for j, c := range column {
			if j > 0 {
				y += gapBetween(column[j-1], c)
			}
			c.x, c.y = x, y
			y += c.h
		}
		for _, c := range column { // boxes of one kind in a column are equally wide
			if c.top != nil && c.top.kind == container {
				c.top.widen(w)
			}
		}
		p.lefts, p.rights = append(p.lefts, x), append(p.rights, x+w)
		p.w = x + w
		x += w + max(columnGap+min(60, 4*float64(len(column))), labels[i]+labelBow)
	}
}

// labelRooms returns, by column, the space for labels between it and the next column: labels are
// placed before arrowheads, which may be at either side.
func (p *piece) labelRooms() map[int]float64 {
	onwards, back := map[int]float64{}, map[int]float64{}
	for _, e := range p.edges {
		left, right := e.ends()
		if e.loop {
			continue
		}
		if e.reversed {
			at := p.cells[left].column
			back[at] = max(back[at], e.labelRoom())
		} else {
			at := p.cells[right].column - 1
			onwards[at] = max(onwards[at], e.labelRoom())
		}
	}
	for at, room := range back {
		onwards[at] += room
	}
	return onwards
}

const (
	labelArrow = 24.0 // from a label to the arrow's target
	labelBow   = 50.0 // for the rest of the line
)

// labelRoom is how much of a line is level for the sake of its label.
func (e *edge) labelRoom() float64 {
	if e.label == "" || e.loop {
		return 0
	}
	return width(labelText(e), lineSize, false) + labelArrow + 6
}

func labelText(e *edge) string { return shorten(e.label, 28) }

func (b *box) widen(w float64) {
	more := w - b.w
	b.w = w
	for _, child := range b.children {
		child.widen(child.w + more)
	}
}

func gapBetween(a, b *cell) float64 {
	if a.top == nil || b.top == nil {
		return lane / 2
	}
	return apart
}

// alignments returns the alignments of each cell with the cells to its left and right.
func (p *piece) alignments() (lefts, rights map[*cell][]alignment) {
	lefts, rights = map[*cell][]alignment{}, map[*cell][]alignment{}
	join := func(a *cell, atA float64, b *cell, atB float64) {
		rights[a] = append(rights[a], alignment{b, atA, atB})
		lefts[b] = append(lefts[b], alignment{a, atB, atA})
	}
	for _, e := range p.edges {
		if e.loop {
			continue
		}
		from, to := e.from, e.to
		if e.reversed {
			from, to = to, from
		}
		at, height := p.cells[from.top()], from.offset()+e.tail.y
		for _, c := range e.steps {
			join(at, height, c, lane/2)
			at, height = c, lane/2
		}
		join(at, height, p.cells[to.top()], to.offset()+e.head.y)
	}
	return lefts, rights
}

// settleColumn moves the cells of a column to where they are aligned best, as far
// as their order and the gaps between them allow: the least sum of squares, by
// pooling neighbours that would otherwise pass each other.
func (p *piece) settleColumn(column []*cell, alignments map[*cell][]alignment) {
	type pool struct {
		first, cells int
		sum, weight  float64
	}
	var pools []pool
	offsets := make([]float64, len(column))
	for i, c := range column {
		if i > 0 {
			offsets[i] = offsets[i-1] + column[i-1].h + gapBetween(column[i-1], c)
		}
		want, weight := c.y, 0.01
		if of := alignments[c]; len(of) > 0 {
			want, weight = 0, float64(len(of))
			for _, w := range of {
				want += (w.other.y + w.there - w.here) / float64(len(of))
			}
			if c.top == nil {
				weight *= 3 // bends in long lines are the most visible
			}
		}
		pools = append(pools, pool{i, 1, (want - offsets[i]) * weight, weight})
		for n := len(pools); n > 1 && pools[n-2].sum/pools[n-2].weight > pools[n-1].sum/pools[n-1].weight; n = len(pools) {
			a, b := pools[n-2], pools[n-1]
			pools = append(pools[:n-2], pool{a.first, a.cells + b.cells, a.sum + b.sum, a.weight + b.weight})
		}
	}
	for _, q := range pools {
		for i := q.first; i < q.first+q.cells; i++ {
			column[i].y = q.sum/q.weight + offsets[i]
		}
	}
}
