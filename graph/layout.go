package graph

import (
	"cmp"
	"slices"
	"strings"
)

// The measures of the picture, in pixels.
const (
	padding   = 14.0 // within a container or host
	between   = 12.0 // components of one host
	apart     = 26.0 // boxes of one column
	lane      = 12.0 // a line that passes through a column
	columnGap = 84.0
	pieceGap  = 40.0
	margin    = 18.0
	portGap   = 11.0 // lines that meet one side of a box
	labelGap  = 15.0 // the same for lines with labels
	nameSize  = 13.0
	lineSize  = 10.5
	widePage  = 900.0 // pieces are put side by side up to this
)

// shape is the position and size of a box, absolute once it is placed. Lines meet the box within
// the band at its top, which covers all of a box without children.
type shape struct {
	x, y, w, h  float64
	band        float64
	room        Room // for the content that programs draw in it
	left, right []*port
	loops       int     // edges between boxes within it
	called      float64 // how wide their widest label is
}

// port is the point where an edge meets a side of a box.
type port struct {
	edge *edge
	key  float64 // ports are in this order, from the top
	y    float64 // below the box's top
}

// route is how an edge is drawn: from port to port, in the direction of the
// columns, or as a loop within one box.
type route struct {
	piece        *piece
	reversed     bool // against the columns
	loop         bool
	tail, head   *port   // at the left and at the right end; of a loop, at from and to
	steps        []*cell // the lanes that it takes through columns
	lanePosition int     // of a loop
}

// cell is one place in a column: a box, or a lane of an edge.
type cell struct {
	top     *box // nil: a lane
	lane    *edge
	column  int
	order   int
	x, y, h float64
}

// piece is a connected part of the topology.
type piece struct {
	tops    []*box
	edges   []*edge // between tops
	columns [][]*cell
	cells   map[*box]*cell
	lefts   []float64 // of columns
	rights  []float64
	w, h    float64
}

// layout places all boxes and returns the size of the picture.
func (t *topology) layout() (w, h float64) {
	for _, e := range t.edges {
		if e.loop = e.from.top() == e.to.top(); e.loop {
			top := e.from.top()
			top.loops++
			top.called = max(top.called, width(labelText(e), lineSize, false))
		}
	}
	pieces := t.pieces()
	widest := widePage
	for _, p := range pieces {
		p.arrange()
		widest = max(widest, p.w)
	}
	slices.SortStableFunc(pieces, func(a, b *piece) int {
		return cmp.Or(cmp.Compare(len(b.tops), len(a.tops)), strings.Compare(a.tops[0].name, b.tops[0].name))
	})
	x, y, row := 0.0, 0.0, 0.0
	for _, p := range pieces {
		if x > 0 && x+p.w > widest {
			x, y, row = 0, y+row+pieceGap, 0
		}
		p.move(x, y)
		x += p.w
		row = max(row, p.h)
		w, h = max(w, x), max(h, y+row)
		x += pieceGap
	}
	return w, h
}

// pieces splits the topology into its connected parts.
func (t *topology) pieces() []*piece {
	joined := map[*box]*box{}
	root := func(b *box) *box {
		for joined[b] != nil {
			next := joined[b]
			if further := joined[next]; further != nil { // a shorter way for the next one
				joined[b], next = further, further
			}
			b = next
		}
		return b
	}
	for _, e := range t.edges {
		if a, b := root(e.from.top()), root(e.to.top()); a != b {
			joined[b] = a
		}
	}
	of := map[*box]*piece{}
	var all []*piece
	for _, b := range t.tops {
		p := of[root(b)]
		if p == nil {
			p = &piece{cells: map[*box]*cell{}}
			of[root(b)] = p
			all = append(all, p)
		}
		p.tops = append(p.tops, b)
	}
	for _, e := range t.edges {
		p := of[root(e.from.top())]
		e.piece = p
		p.edges = append(p.edges, e)
	}
	return all
}

// arrange lays out one piece: columns, the order in them, sizes, places.
func (p *piece) arrange() {
	p.makeColumns(p.layers())
	p.order()
	p.attach()
	for _, b := range p.tops {
		b.measure()
	}
	p.place()
}

// measure computes the size of a box and the places of its children in it.
func (b *box) measure() {
	w := width(b.name, nameSize, b.kind == container)
	for _, l := range b.lines {
		w = max(w, width(l, lineSize, false))
	}
	b.w = max(w+2*padding, b.room.Width)
	b.band = max(12+nameSize+float64(len(b.lines))*14+b.room.Height, portRoom(b.left), portRoom(b.right))
	if b.kind == volume {
		b.band = max(44, b.band)
	}
	b.h = b.band
	inner := 0.0
	for _, child := range b.children {
		child.measure()
		inner = max(inner, child.w)
	}
	right := padding
	if b.parent == nil && b.loops > 0 {
		right += 16 + 10*float64(min(b.loops, 5)) + b.called
	}
	b.w = max(b.w, inner+padding+right)
	for i, child := range b.children {
		if i > 0 {
			b.h += between
		} else {
			b.h += 5
		}
		child.x, child.y, child.w = padding, b.h, b.w-padding-right // relative, until placed
		b.h += child.h
	}
	if len(b.children) > 0 {
		if b.parent == nil {
			b.stretch(right)
		}
		b.h += padding
	}
	if len(b.children) == 0 && b.kind == container {
		b.h = max(b.h, 46)
		b.band = b.h
	}
	spread(b.left, b.band)
	spread(b.right, b.band)
}

// portRoom returns how high a side must be for the lines that meet it.
func portRoom(ports []*port) float64 {
	gap := portGap
	for _, p := range ports {
		if p.edge.label != "" {
			gap = labelGap
		}
	}
	return gap * float64(len(ports)+1)
}

// stretch makes the children of one host equally wide, recursively.
func (b *box) stretch(right float64) {
	for _, child := range b.children {
		child.w = b.w - padding - right
		if len(child.children) > 0 {
			child.stretch(padding)
		}
	}
}

// spread distributes ports evenly over a side.
func spread(ports []*port, height float64) {
	slices.SortStableFunc(ports, func(a, b *port) int { return cmp.Compare(a.key, b.key) })
	for i, p := range ports {
		p.y = height * float64(i+1) / float64(len(ports)+1)
	}
}

// offset returns the distance of a box's top from the top of its outermost box, before it is
// placed.
func (b *box) offset() float64 {
	y := 0.0
	for ; b.parent != nil; b = b.parent {
		y += b.y
	}
	return y
}

// settle makes relative places absolute.
func (b *box) settle(x, y float64) {
	b.x, b.y = x, y
	for _, child := range b.children {
		child.settle(x+child.x, y+child.y)
	}
}

// move shifts a piece.
func (p *piece) move(dx, dy float64) {
	for i := range p.lefts {
		p.lefts[i] += dx
		p.rights[i] += dx
	}
	for _, column := range p.columns {
		for _, c := range column {
			c.x, c.y = c.x+dx, c.y+dy
			if c.top != nil {
				c.top.settle(c.x, c.y)
			}
		}
	}
}
