package graph

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/toskose/toskose/spec"
)

// style is plain: shades that stay apart in print, and dashes that tell the
// relations apart without colour.
const style = `
    text { font-family: Helvetica, Arial, "Liberation Sans", sans-serif; font-size: 13px; fill: #1d2733 }
    .line { font-size: 10.5px; fill: #566473 }
    .name { font-weight: bold }
    .container { fill: #edf2f7; stroke: #5b7083; stroke-width: 1.2 }
    .component { fill: #ffffff; stroke: #5b7083 }
    .volume { fill: #f6f1e3; stroke: #8b7443; stroke-width: 1.2 }
    .edge { fill: none; stroke: #2f4a66; stroke-width: 1.3 }
    .dependency { stroke: #7a4a78; stroke-dasharray: 6 4 }
    .storage { stroke: #8b7443; stroke-dasharray: 1.5 3.5; stroke-linecap: round; stroke-width: 1.8 }
    .fault { stroke: #a8402f; stroke-dasharray: 6 4 }
    .panel { fill: none; stroke: #c3ccd5 }
    .state { fill: #ffffff; stroke: #5b7083 }
    .initial { stroke-width: 2.4 }
    .label { paint-order: stroke; stroke: #ffffff; stroke-width: 3px; stroke-linejoin: round }
`

// SVG draws a picture that needs no other file.
func SVG(app *spec.Application, opts Options) []byte {
	t := newTopology(app)
	s := &svgWriter{}
	w, h := t.layout()
	s.topology(t)
	if len(t.edges) > 0 {
		w = max(w, s.legend(t, h+30))
		h += 40
	}
	if opts.Protocols && len(app.Components) > 0 {
		pw, ph := s.protocols(protocols(app), h+24, max(w, 760))
		w, h = max(w, pw), ph
	}
	if len(t.tops) == 0 {
		s.text(0, 14, "line", "start", "There is nothing in the topology.")
		w, h = 240, 24
	}
	w, h = w+2*margin, h+2*margin

	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%s" height="%s" viewBox="0 0 %s %s" role="img" aria-labelledby="title desc">`+"\n",
		number(w), number(h), number(w), number(h))
	fmt.Fprintf(&b, "  <title id=\"title\">%s</title>\n  <desc id=\"desc\">%s</desc>\n", escape(strings.TrimSpace(app.Name+" "+app.Version)), escape(t.summary()))
	fmt.Fprintf(&b, "  <style>%s  </style>\n  <defs>\n", style)
	for _, m := range []struct{ name, colour string }{
		{"connection", "#2f4a66"}, {"dependency", "#7a4a78"}, {"storage", "#8b7443"}, {"fault", "#a8402f"},
	} {
		fmt.Fprintf(&b, `    <marker id="%s" viewBox="0 0 10 10" refX="9.5" refY="5" markerUnits="userSpaceOnUse" markerWidth="9" markerHeight="9" orient="auto"><path d="M0,1 L10,5 L0,9 Z" fill="%s"/></marker>`+"\n", m.name, m.colour)
	}
	fmt.Fprintf(&b, "  </defs>\n  <rect width=\"%s\" height=\"%s\" fill=\"#ffffff\"/>\n  <g transform=\"translate(%s,%s)\">\n", number(w), number(h), number(margin), number(margin))
	b.Write(s.Bytes())
	b.WriteString("  </g>\n</svg>\n")
	return b.Bytes()
}

type svgWriter struct{ bytes.Buffer }

func (s *svgWriter) line(format string, args ...any) { fmt.Fprintf(s, "    "+format+"\n", args...) }

// number formats a coordinate with at most one decimal.
func number(f float64) string {
	text := strings.TrimSuffix(strconv.FormatFloat(f, 'f', 1, 64), ".0")
	if text == "-0" {
		return "0"
	}
	return text
}

func (s *svgWriter) text(x, y float64, class, anchor, text string) {
	s.line(`<text x="%s" y="%s" class="%s" text-anchor="%s">%s</text>`, number(x), number(y), class, anchor, escape(text))
}

func (s *svgWriter) topology(t *topology) {
	for _, b := range t.tops {
		s.box(b)
	}
	for _, e := range t.edges {
		s.edge(e)
	}
	for _, e := range t.edges { // above all lines
		s.label(e)
	}
}

func (s *svgWriter) box(b *box) {
	s.line(`<g><title>%s</title>`, escape(strings.TrimSpace(b.kind.String()+" "+b.name+"\n"+b.tip)))
	switch b.kind {
	case volume:
		s.cylinder(b)
	case container:
		s.rect(b.x, b.y, b.w, b.h, 5, "container")
	case component, other:
		s.rect(b.x, b.y, b.w, b.h, 3, "component")
	}
	x, anchor := b.x+b.w/2, "middle"
	if len(b.children) > 0 {
		x, anchor = b.x+padding, "start"
	}
	class := "component-name"
	if b.kind == container {
		class = "name"
	}
	y := b.y + (b.band-nameSize-14*float64(len(b.lines)))/2 + nameSize - 1.5
	if b.kind == volume {
		y += 4
	}
	s.text(x, y, class, anchor, b.name)
	for i, l := range b.lines {
		s.text(x, y+14*float64(i+1)+1, "line", anchor, l)
	}
	for _, child := range b.children {
		s.box(child)
	}
	s.line("</g>")
}

func (s *svgWriter) rect(x, y, w, h, radius float64, class string) {
	s.line(`<rect x="%s" y="%s" width="%s" height="%s" rx="%s" class="%s"/>`, number(x), number(y), number(w), number(h), number(radius), class)
}

func (s *svgWriter) cylinder(b *box) {
	const rim = 6
	left, right, top, low, half := number(b.x), number(b.x+b.w), number(b.y+rim), number(b.y+b.h-rim), number(b.w/2)
	s.line(`<path d="M%s,%s A%s,%d 0 0 1 %s,%s V%s A%s,%d 0 0 1 %s,%s Z" class="volume"/>`,
		left, top, half, rim, right, top, low, half, rim, left, low)
	s.line(`<path d="M%s,%s A%s,%d 0 0 0 %s,%s" class="volume"/>`, left, top, half, rim, right, top)
}

// edge draws an edge, with its arrowhead at the required box.
func (s *svgWriter) edge(e *edge) {
	class, marker := "edge", e.relation.String()
	if e.relation != connection {
		class += " " + e.relation.String()
	}
	tip := fmt.Sprintf("%s: %s to %s", e.relation, e.from.name, e.to.name)
	s.line(`<path d="%s" class="%s" marker-end="url(#%s)"><title>%s</title></path>`, e.path(), class, marker, escape(tip))
}

// path returns an edge's line, from the requiring box to the required one.
func (e *edge) path() string {
	points := e.points()
	if e.reversed {
		slices.Reverse(points)
	}
	return curve(points, e)
}

func (s *svgWriter) label(e *edge) {
	if e.label != "" {
		x, y, anchor := e.labelAt()
		s.text(x, y, "line label", anchor, labelText(e))
	}
}

// labelAt returns the position of an edge's label: on its line, before its arrowhead and outside
// the boxes around the target.
func (e *edge) labelAt() (x, y float64, anchor string) {
	points := e.points()
	last, before := points[len(points)-1], points[len(points)-2]
	if e.reversed {
		last, before = points[0], points[1]
	}
	top := e.to.top()
	x, y, anchor = top.x-labelArrow, last.y, "end"
	if e.loop {
		x, y = top.x+top.w-8, (last.y+before.y)/2
	} else if before.x > last.x {
		x, anchor = top.x+top.w+labelArrow, "start"
	}
	return x, y + 3.5, anchor
}

type point struct{ x, y float64 }

// points returns the corners of an edge from left to right; for a loop, its two ends.
func (e *edge) points() []point {
	from, to := e.from, e.to
	if e.reversed {
		from, to = to, from
	}
	start := point{from.x + from.w, from.y + e.tail.y}
	if e.loop {
		return []point{start, {to.x + to.w, to.y + e.head.y}}
	}
	points := []point{start, {e.piece.rights[e.piece.cells[from.top()].column], start.y}}
	for _, c := range e.steps {
		points = append(points, point{e.piece.lefts[c.column], c.y + lane/2}, point{e.piece.rights[c.column], c.y + lane/2})
	}
	end := point{to.x, to.y + e.head.y}
	level := point{e.piece.lefts[e.piece.cells[to.top()].column], end.y}
	if e.reversed { // its label lies on a level piece of it
		points[1].x += e.labelRoom()
	} else {
		level.x -= e.labelRoom()
	}
	return append(points, level, end)
}

// curve draws level lines through columns and arcs between them.
func curve(points []point, e *edge) string {
	var b strings.Builder
	fmt.Fprintf(&b, "M%s,%s", number(points[0].x), number(points[0].y))
	if e.loop {
		a, z := points[0], points[1]
		if within(e.from, e.to) { // into the header of what it lies in, not out of it
			z.x = a.x
		}
		if within(e.to, e.from) {
			a.x = z.x
			b.Reset()
			fmt.Fprintf(&b, "M%s,%s", number(a.x), number(a.y))
		}
		out := max(a.x, z.x) + 22 + 12*float64(e.lanePosition%5)
		fmt.Fprintf(&b, " C%s,%s %s,%s %s,%s", number(out), number(a.y), number(out), number(z.y), number(z.x), number(z.y))
		return b.String()
	}
	for i := 1; i < len(points); i++ {
		a, z := points[i-1], points[i]
		if i%2 == 1 || number(a.y) == number(z.y) {
			fmt.Fprintf(&b, " L%s,%s", number(z.x), number(z.y))
			continue
		}
		middle := number((a.x + z.x) / 2)
		fmt.Fprintf(&b, " C%s,%s %s,%s %s,%s", middle, number(a.y), middle, number(z.y), number(z.x), number(z.y))
	}
	return b.String()
}

// legend explains the relations in the picture and returns its width.
func (s *svgWriter) legend(t *topology, y float64) float64 {
	there := map[relation]bool{}
	for _, e := range t.edges {
		there[e.relation] = true
	}
	x := 0.0
	for _, r := range []relation{connection, dependency, storage} {
		if !there[r] {
			continue
		}
		class := "edge"
		if r != connection {
			class += " " + r.String()
		}
		s.line(`<path d="M%s,%s H%s" class="%s" marker-end="url(#%s)"/>`, number(x), number(y), number(x+34), class, r)
		s.text(x+41, y+3.5, "line", "start", r.String())
		x += 41 + width(r.String(), lineSize, false) + 24
	}
	return x
}
