package graph

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/toskose/toskose/tosca/protocol"
)

// The measures of a state diagram.
const (
	stateHeight = 26.0
	stateGap    = 34.0 // at least, between neighbouring states
	arcHeight   = 22.0 // a level of arrows above or below the states
	panelPad    = 16.0
	headingRoom = 30.0
)

// diagram is a state diagram: the states in a row, arrows to the right above
// them, arrows to the left below.
type diagram struct {
	heading      string
	initial      string
	states       []protocol.State
	at           map[string]int
	left, width  []float64
	above, below []*arc
	w, h         float64
	levels       int // above
}

// arc is an arrow between two states.
type arc struct {
	arrow
	from, to int
	level    int // 0 is nearest to the states
}

// span returns the states that an arc covers, the left one first.
func (b *arc) span() (first, last int) { return min(b.from, b.to), max(b.from, b.to) }

func newDiagram(p sharedProtocol) *diagram {
	d := &diagram{
		heading: shorten("protocol of "+strings.Join(p.components, ", "), 70),
		initial: p.Initial, at: map[string]int{}, states: rowOf(p.Protocol),
	}
	for i, s := range d.states {
		d.at[s.Name] = i
	}
	for _, s := range arrows(p.Protocol) {
		b := &arc{arrow: s, from: d.at[s.source], to: d.at[s.target]}
		if b.from > b.to {
			d.below = append(d.below, b)
		} else {
			d.above = append(d.above, b)
		}
	}
	d.levels = stackArcs(d.above)
	low := stackArcs(d.below)
	d.row()
	d.h = headingRoom + arcHeight*float64(d.levels) + stateHeight + arcHeight*float64(low) + panelPad
	return d
}

// rowOf returns the states in the order in which transitions reach them first,
// the initial one first, those that none reaches last.
func rowOf(p protocol.Protocol) []protocol.State {
	var row []protocol.State
	seen := map[string]bool{}
	add := func(name string) {
		if s, ok := p.State(name); ok && !seen[name] {
			seen[name] = true
			row = append(row, s)
		}
	}
	add(p.Initial)
	for i := 0; i < len(row); i++ {
		for _, t := range p.Transitions {
			if t.Source == row[i].Name {
				add(t.Target)
			}
		}
	}
	for _, s := range p.States {
		add(s.Name)
	}
	return row
}

// stackArcs assigns each arc the lowest level on which it covers no other, short
// ones first and loops last, and returns the number of levels.
func stackArcs(arcs []*arc) int {
	sorted := slices.Clone(arcs)
	slices.SortStableFunc(sorted, func(a, b *arc) int {
		a1, a2 := a.span()
		b1, b2 := b.span()
		loopLast := cmp.Compare(min(1, b2-b1), min(1, a2-a1))
		return cmp.Or(loopLast, cmp.Compare(a2-a1, b2-b1), cmp.Compare(a1, b1))
	})
	levels := 0
	var placed []*arc
	for _, b := range sorted {
		for slices.ContainsFunc(placed, func(o *arc) bool { return o.level == b.level && b.covers(o) }) {
			b.level++
		}
		placed = append(placed, b)
		levels = max(levels, b.level+1)
	}
	return levels
}

func (b *arc) covers(o *arc) bool {
	b1, b2 := b.span()
	o1, o2 := o.span()
	if b1 == b2 || o1 == o2 { // a loop is written over its state and its neighbours
		return b1 <= o2+1 && o1 <= b2+1
	}
	return b1 < o2 && o1 < b2
}

// row places the states, with room between neighbours for what is written
// between them.
func (d *diagram) row() {
	n := len(d.states)
	d.left, d.width = make([]float64, n), make([]float64, n)
	centre := make([]float64, n)
	for i, s := range d.states {
		d.width[i] = width(s.Name, nameSize, false) + 2*panelPad
		if i == 0 {
			centre[i] = panelPad + d.width[i]/2
		} else {
			centre[i] = centre[i-1] + d.width[i-1]/2 + stateGap + d.width[i]/2
		}
		for _, b := range slices.Concat(d.above, d.below) {
			label := width(b.label, lineSize, false) + 22
			switch first, last := b.span(); {
			case last != i:
			case first < last:
				centre[i] = max(centre[i], centre[first]+label)
			default: // a loop: its label stands over its state
				centre[i] = max(centre[i], label/2+panelPad)
			}
		}
		d.left[i] = centre[i] - d.width[i]/2
		d.w = max(d.w, centre[i]+d.width[i]/2+panelPad)
	}
	for _, b := range d.above {
		if b.from == b.to {
			d.w = max(d.w, centre[b.from]+width(b.label, lineSize, false)/2+panelPad)
		}
	}
	d.w = max(d.w, width(d.heading, 12, true)+2*panelPad)
}

// protocols draws a panel for each protocol, side by side from a height down, and
// returns their width and lower edge.
func (s *svgWriter) protocols(all []sharedProtocol, top, page float64) (w, h float64) {
	x, y, row := 0.0, top, 0.0
	for _, p := range all {
		d := newDiagram(p)
		if x > 0 && x+d.w > page {
			x, y, row = 0, y+row+16, 0
		}
		s.diagram(d, x, y)
		w, row = max(w, x+d.w), max(row, d.h)
		x += d.w + 16
	}
	return w, y + row
}

func (s *svgWriter) diagram(d *diagram, x, y float64) {
	s.rect(x, y, d.w, d.h, 4, "panel")
	s.text(x+panelPad, y+19, "line name", "start", d.heading)
	head := d.head(y)
	foot := head + stateHeight
	for _, b := range d.above {
		s.arc(d, b, x, head, -1)
	}
	for _, b := range d.below {
		s.arc(d, b, x, foot, 1)
	}
	for i, state := range d.states {
		class := "state"
		if state.Name == d.initial {
			class += " initial"
		}
		s.line("<g><title>%s</title>", escape(says(state)))
		s.rect(x+d.left[i], head, d.width[i], stateHeight, stateHeight/2, class)
		s.text(x+d.left[i]+d.width[i]/2, head+stateHeight/2+4.5, "state-name", "middle", state.Name)
		s.line("</g>")
	}
}

func says(s protocol.State) string {
	text := "state " + s.Name
	if len(s.Requires) > 0 {
		text += "\nrequires " + strings.Join(s.Requires, ", ")
	}
	if len(s.Offers) > 0 {
		text += "\noffers " + strings.Join(s.Offers, ", ")
	}
	return text
}

// head is the upper edge of the states in a diagram that begins at a height.
func (d *diagram) head(y float64) float64 { return y + headingRoom + arcHeight*float64(d.levels) }

func (s *svgWriter) arc(d *diagram, b *arc, x, y, up float64) {
	class, marker := "edge", "connection"
	if b.fault {
		class, marker = "edge fault", "fault"
	}
	path, label := d.line(b, x, y, up)
	s.line(`<path d="%s" class="%s" marker-end="url(#%s)"/>`, path, class, marker)
	s.text(label.X, label.Y, "line label", label.Anchor, label.Text)
}

// line returns the path of an arrow above (up is -1) or below (1) the states, and its
// label, which is at its farthest point.
func (d *diagram) line(b *arc, x, y, up float64) (path string, label Label) {
	spread := 13 - 8*float64(min(b.level, 2)) // the shortest arrows leave and arrive outermost
	from, to := x+d.left[b.from]+d.width[b.from]/2, x+d.left[b.to]+d.width[b.to]/2
	out := 0.0
	if b.from == b.to {
		from, to, out = from-4, to+4, 14
	} else {
		from, to = from-up*spread, to+up*spread
	}
	reach := up * (arcHeight*float64(b.level+1) - 9) // of the arc's farthest point
	control := y + reach*4/3
	path = fmt.Sprintf("M%s,%s C%s,%s %s,%s %s,%s", number(from), number(y),
		number(from-out), number(control), number(to+out), number(control), number(to), number(y))
	at := y + reach - 2.5
	if up > 0 {
		at = y + reach + 9
	}
	return path, Label{Text: b.label, X: (from + to) / 2, Y: at, Anchor: "middle"}
}
