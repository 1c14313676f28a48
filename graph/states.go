package graph

import (
	"strings"

	"github.com/toskose/toskose/spec/protocol"
)

// The measures of a state diagram.
const (
	stateHeight = 26.0
	stateGap    = 34.0 // at least, between neighbouring states
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
	above, below side
	w, h         float64
}

func newDiagram(p sharedProtocol) *diagram {
	d := &diagram{
		heading: shorten("protocol of "+strings.Join(p.components, ", "), 70),
		initial: p.Initial, at: map[string]int{}, states: rowOf(p.Protocol),
	}
	for i, s := range d.states {
		d.at[s.Name] = i
	}
	for _, s := range arrows(p.Protocol) {
		b := &arc{arrow: s, from: d.at[s.source], to: d.at[s.target], room: width(s.label, labelSize, false) + 2*aroundLabel}
		if b.from > b.to || b.loop() && b.fault { // one loop at each side of a state
			d.below.arcs = append(d.below.arcs, b)
		} else {
			d.above.arcs = append(d.above.arcs, b)
		}
	}
	d.row()
	d.h = headingRoom + d.above.height() + stateHeight + d.below.height() + panelPad
	return d
}

// rowOf returns the states in breadth-first order from the initial state, followed by the
// unreachable ones.
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

// row places the states, with space for the labels between neighbours.
func (d *diagram) row() {
	sides := []*side{&d.above, &d.below}
	d.above.stack()
	d.below.stack()
	right := panelPad - stateGap // of what is before
	for i, state := range d.states {
		w := max(width(state.Name, nameSize, false)+2*panelPad, d.above.needs(i), d.below.needs(i))
		centre := right + stateGap + w/2
		place := func() {
			for _, s := range sides {
				s.spread(i, centre, w)
			}
		}
		place()
		centre += max(d.above.lacks(i), d.below.lacks(i))
		place()
		for _, s := range sides {
			s.name(i)
		}
		d.left, d.width = append(d.left, centre-w/2), append(d.width, w)
		right = centre + w/2
	}
	d.w = max(right+panelPad, width(d.heading, 12, true)+2*panelPad)
	for _, s := range sides {
		s.stackLoops()
		for _, b := range s.arcs {
			d.w = max(d.w, b.label+b.room/2+panelPad)
		}
	}
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
	for _, b := range d.above.arcs {
		s.arc(b, x, head, -1)
	}
	for _, b := range d.below.arcs {
		s.arc(b, x, foot, 1)
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

// head returns the upper edge of the states in a diagram at height y.
func (d *diagram) head(y float64) float64 { return y + headingRoom + d.above.height() }

func (s *svgWriter) arc(b *arc, x, y, up float64) {
	class, marker := "edge", "connection"
	if b.fault {
		class, marker = "edge fault", "fault"
	}
	path, label := b.line(x, y, up)
	s.line(`<path d="%s" class="%s" marker-end="url(#%s)"/>`, path, class, marker)
	s.text(label.X, label.Y, "line label", label.Anchor, label.Text)
}
