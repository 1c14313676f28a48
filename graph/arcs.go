package graph

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// The measures of arrows in a state diagram.
const (
	firstReach  = 16.0 // of the lowest line, from the states
	levelHeight = 22.0 // from one line to the next, with a label between
	arcCorner   = 8.0
	endGap      = 10.0 // between neighbouring ends at a state
	outermost   = 13.0 // of the ends, from the middle of a state
	stateRound  = 10.0 // width of the rounded corners of a state, where no arc ends
	aroundLabel = 4.0  // around a label
	labelSize   = 11.0
)

// side is the area above or below the states of a diagram.
type side struct{ arcs []*arc }

// arc is an arrow between two states: up from one, along a line, down to the other.
type arc struct {
	arrow
	from, to   int
	level      int     // 0 is nearest to the states
	room       float64 // of its label
	start, end float64 // horizontal positions of its ends
	label      float64 // the middle of its label
}

// span returns the states that an arc covers, the left one first.
func (b *arc) span() (first, last int) { return min(b.from, b.to), max(b.from, b.to) }

func (b *arc) loop() bool { return b.from == b.to }

// ends returns the positions of an arc's ends, the left one first.
func (b *arc) ends() (left, right *float64) {
	if b.from > b.to {
		return &b.end, &b.start
	}
	return &b.start, &b.end
}

func (s *side) height() float64 {
	levels := -1
	for _, b := range s.arcs {
		levels = max(levels, b.level)
	}
	if levels < 0 {
		return 0
	}
	return levelHeight*float64(levels+1) + 8
}

// stack gives each arc between two states the lowest level on which it covers no other,
// short ones first.
func (s *side) stack() {
	sorted := slices.Clone(s.arcs)
	slices.SortStableFunc(sorted, func(a, b *arc) int {
		a1, a2 := a.span()
		b1, b2 := b.span()
		return cmp.Or(cmp.Compare(a2-a1, b2-b1), cmp.Compare(a1, b1))
	})
	var placed []*arc
	for _, b := range sorted {
		if b.loop() {
			continue
		}
		for slices.ContainsFunc(placed, func(o *arc) bool { return o.level == b.level && b.covers(o) }) {
			b.level++
		}
		placed = append(placed, b)
	}
}

func (b *arc) covers(o *arc) bool {
	b1, b2 := b.span()
	o1, o2 := o.span()
	return b1 < o2 && o1 < b2
}

// stackLoops places each loop above all arcs that overlap it or its label, wide loops above narrow
// ones.
func (s *side) stackLoops() {
	var placed, loops []*arc
	for _, b := range s.arcs {
		if b.loop() {
			loops = append(loops, b)
		} else {
			placed = append(placed, b)
		}
	}
	slices.SortStableFunc(loops, func(a, b *arc) int { return cmp.Compare(a.room, b.room) })
	for _, b := range loops {
		for _, o := range placed {
			left, right := o.ends()
			half := 0.0
			if o.loop() {
				half = o.room / 2
			}
			if *left-half < b.label+b.room/2 && b.label-b.room/2 < *right+half {
				b.level = max(b.level, o.level+1)
			}
		}
		placed = append(placed, b)
	}
}

// at returns the ends of arcs at a state from left to right: first the arcs to the left, then both
// ends of a loop, then the arcs to the right. Among arcs in the same direction, lower arcs end
// farther out, so that arcs do not cross.
func (s *side) at(state int) (lefts, loop, rights []*float64) {
	sorted := slices.Clone(s.arcs)
	slices.SortStableFunc(sorted, func(a, b *arc) int { return cmp.Compare(a.level, b.level) })
	for _, b := range sorted {
		first, last := b.span()
		left, right := b.ends()
		switch {
		case b.loop() && first == state:
			loop = append(loop, left, right)
		case first == state:
			rights = append(rights, left)
		case last == state:
			lefts = append(lefts, right)
		}
	}
	slices.Reverse(rights)
	return lefts, loop, rights
}

// needs returns the minimum width of a state for its arcs.
func (s *side) needs(state int) float64 {
	lefts, loop, rights := s.at(state)
	return 2*stateRound + endGap*float64(len(lefts)+len(loop)+len(rights)-1)
}

// spread places the ends at a state.
func (s *side) spread(state int, centre, width float64) {
	lefts, loop, rights := s.at(state)
	between := endGap * float64(len(lefts)+len(loop)+len(rights)-1)
	out := max(min(outermost, width/2-stateRound), between/2)
	for i, x := range lefts {
		*x = centre - out + endGap*float64(i)
	}
	for i, x := range loop {
		*x = centre + endGap*(float64(len(lefts)-len(rights))/2+float64(i)-0.5)
	}
	for i, x := range rights {
		*x = centre + out - endGap*float64(len(rights)-1-i)
	}
	for _, b := range s.arcs {
		if b.loop() && b.from == state {
			b.label = (b.start + b.end) / 2
		}
	}
}

// stretch is a part of a line that nothing crosses.
type stretch struct{ from, to float64 }

// free returns the stretches of an arc's line that no higher arc and no loop crosses.
func (s *side) free(b *arc) (all []stretch) {
	first, last := b.span()
	left, right := b.ends()
	from := *left
	for i := first + 1; i < last; i++ {
		low, high := math.Inf(1), math.Inf(-1)
		for _, o := range s.arcs {
			if !o.loop() && o.level <= b.level {
				continue
			}
			if o.from == i {
				low, high = min(low, o.start), max(high, o.start)
			}
			if o.to == i {
				low, high = min(low, o.end), max(high, o.end)
			}
		}
		if low <= high {
			all = append(all, stretch{from, low})
			from = high
		}
	}
	return append(all, stretch{from, *right})
}

// lacks returns how far to the right a state must move to make room for the labels of the arcs
// that end at it. A loop's label is not placed over another loop.
func (s *side) lacks(state int) (most float64) {
	for _, b := range s.arcs {
		first, last := b.span()
		switch {
		case last != state:
		case first < last:
			all := s.free(b)
			end := all[len(all)-1]
			if !slices.ContainsFunc(all, func(f stretch) bool { return f.to-f.from >= b.room }) {
				most = max(most, b.room-(end.to-end.from))
			}
		default:
			most = max(most, b.room/2+panelPad-b.label)
			for _, o := range s.arcs {
				if o.loop() && o.from < state {
					most = max(most, o.label+min(o.room, b.room)/2+endGap-b.label)
				}
			}
		}
	}
	return most
}

// name places the labels of the arcs that are last at a state, as near to their middle as may be.
func (s *side) name(state int) {
	for _, b := range s.arcs {
		if _, last := b.span(); last != state || b.loop() {
			continue
		}
		middle := (b.start + b.end) / 2
		b.label = math.Inf(1)
		for _, f := range s.free(b) {
			at := max(f.from+b.room/2, min(f.to-b.room/2, middle))
			if f.to-f.from >= b.room-1e-6 && math.Abs(at-middle) < math.Abs(b.label-middle) {
				b.label = at
			}
		}
	}
}

// line returns the path of an arrow above (up is -1) or below (1) the states, and its
// label, which is beyond its line.
func (b *arc) line(x, y, up float64) (path string, label Label) {
	from, to := x+b.start, x+b.end
	top := y + up*(firstReach+levelHeight*float64(b.level))
	corner := min(arcCorner, math.Abs(to-from)/2)
	along := math.Copysign(corner, to-from)
	path = fmt.Sprintf("M%s,%s V%s Q%s,%s %s,%s H%s Q%s,%s %s,%s V%s", number(from), number(y), number(top-up*corner),
		number(from), number(top), number(from+along), number(top), number(to-along),
		number(to), number(top), number(to), number(top-up*corner), number(y))
	at := top - aroundLabel
	if up > 0 {
		at = top + aroundLabel + labelSize*0.8
	}
	return path, Label{Text: b.arrow.label, X: x + b.label, Y: at, Anchor: "middle"}
}
