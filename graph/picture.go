package graph

import (
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
)

// Room is the space that a program needs in a component's box: the minimum width, also of a
// container, and the height below the name.
type Room struct{ Width, Height float64 }

// Picture is a topology that is laid out, for programs that draw it themselves. Lengths
// are pixels.
type Picture struct {
	Width   float64 `json:"width"`
	Height  float64 `json:"height"`
	Summary string  `json:"summary"` // text alternative for screen readers
	Boxes   []Box   `json:"boxes"`   // each after the one that it lies in
	Edges   []Edge  `json:"edges"`
}

// Box is a container, component or volume.
type Box struct {
	Kind  string   `json:"kind"`
	Name  string   `json:"name"`
	In    string   `json:"in,omitempty"` // the box that it lies in
	Lines []string `json:"lines,omitempty"`
	X     float64  `json:"x"`
	Y     float64  `json:"y"`
	W     float64  `json:"w"`
	H     float64  `json:"h"`
	Band  float64  `json:"band"` // the height of its header, above the boxes in it
}

// Edge leads from the requiring box to the required one.
type Edge struct {
	From     string `json:"from"`
	To       string `json:"to"`
	Relation string `json:"relation"`
	Path     string `json:"path"` // as in SVG
	Label    *Label `json:"label,omitempty"`
}

// Label is a text on a line.
type Label struct {
	Text   string  `json:"text"`
	X      float64 `json:"x"`
	Y      float64 `json:"y"`
	Anchor string  `json:"anchor"` // as in SVG
}

// Lay lays a topology out.
func Lay(app *spec.Application, room Room) Picture {
	t := newTopology(app)
	for _, b := range t.boxes {
		switch b.kind {
		case component:
			b.room = room
		case container:
			b.room.Width = room.Width
		case volume, other:
		}
	}
	w, h := t.layout()
	p := Picture{Width: w, Height: h, Summary: t.summary(), Boxes: []Box{}, Edges: []Edge{}}
	for _, b := range t.tops {
		p.add(b)
	}
	for _, e := range t.edges {
		made := Edge{From: e.from.name, To: e.to.name, Relation: e.relation.String(), Path: e.path()}
		if e.label != "" {
			x, y, anchor := e.labelAt()
			made.Label = &Label{Text: labelText(e), X: x, Y: y, Anchor: anchor}
		}
		p.Edges = append(p.Edges, made)
	}
	return p
}

func (p *Picture) add(b *box) {
	made := Box{Kind: b.kind.String(), Name: b.name, Lines: b.lines, X: b.x, Y: b.y, W: b.w, H: b.h, Band: b.band}
	if b.parent != nil {
		made.In = b.parent.name
	}
	p.Boxes = append(p.Boxes, made)
	for _, child := range b.children {
		p.add(child)
	}
}

// Diagram is a state diagram that is laid out: the states in a row, arrows to the
// right above them, arrows to the left below.
type Diagram struct {
	Width  float64        `json:"width"`
	Height float64        `json:"height"`
	States []DiagramState `json:"states"`
	Arrows []Arrow        `json:"arrows"`
}

// DiagramState is a state in a diagram.
type DiagramState struct {
	protocol.State
	Initial bool    `json:"initial,omitempty"`
	X       float64 `json:"x"`
	Y       float64 `json:"y"`
	W       float64 `json:"w"`
	H       float64 `json:"h"`
}

// Arrow leads from one state to another.
type Arrow struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Fault bool   `json:"fault,omitempty"` // the fault handler: the transition when processes exit unexpectedly
	Path  string `json:"path"`
	Label Label  `json:"label"`
}

// States lays the states of a protocol out.
func States(p protocol.Protocol) Diagram {
	d := newDiagram(sharedProtocol{Protocol: p})
	const heading = headingRoom - panelPad // is not drawn
	head := d.head(-heading)
	made := Diagram{Width: d.w, Height: d.h - heading, States: []DiagramState{}, Arrows: []Arrow{}}
	for i, s := range d.states {
		made.States = append(made.States, DiagramState{s, s.Name == d.initial, d.left[i], head, d.width[i], stateHeight})
	}
	draw := func(b *arc, y, up float64) {
		path, label := b.line(0, y, up)
		made.Arrows = append(made.Arrows, Arrow{From: b.source, To: b.target, Fault: b.fault, Path: path, Label: label})
	}
	for _, b := range d.above.arcs {
		draw(b, head, -1)
	}
	for _, b := range d.below.arcs {
		draw(b, head+stateHeight, 1)
	}
	return made
}
