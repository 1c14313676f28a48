// Package graph draws the topology of an application: as SVG, with a layout of
// its own, and as DOT and Mermaid for other programs to lay out. The same
// application gives the same bytes. It starts no goroutine.
package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
)

// Options select the content of a drawing.
type Options struct {
	Protocols bool // also draw the protocols of components
}

// Formats returns the functions that draw, by format.
func Formats() map[string]func(*spec.Application, Options) []byte {
	return map[string]func(*spec.Application, Options) []byte{"svg": SVG, "dot": DOT, "mermaid": Mermaid}
}

// Small reports whether an application is small enough to draw its protocols beside its topology.
func Small(app *spec.Application) bool { return len(app.Components) <= 4 }

// kind is the kind of node that a box represents.
type kind uint8

const (
	container kind = iota
	component
	volume
	other // a node that cannot be packaged: drawn like a component
)

func (k kind) String() string {
	return [...]string{"container", "component", "volume", "node template"}[k]
}

// relation is the relation that an edge represents.
type relation uint8

const (
	connection relation = iota
	dependency
	storage
)

func (r relation) String() string { return [...]string{"connection", "dependency", "storage"}[r] }

// box is a container, component, volume or other node template. A box contains the boxes hosted on
// it.
type box struct {
	kind     kind
	name     string
	number   int      // from 1
	lines    []string // below the name
	tip      string   // shown when the pointer is on it
	parent   *box
	children []*box
	outer    *box // the outermost known box around it; nil: parent

	shape
}

// top returns the outermost box that a box lies in. It shortens the path for the
// next call.
func (b *box) top() *box {
	for b.parent != nil {
		if b.outer == nil {
			b.outer = b.parent
		}
		if next := b.outer; next.outer != nil {
			b.outer = next.outer
		}
		b = b.outer
	}
	return b
}

// edge leads from the requiring box to the required one.
type edge struct {
	from, to *box
	relation relation
	label    string

	route
}

// topology is the content that all formats draw.
type topology struct {
	tops  []*box // containers, then volumes, each by name
	boxes []*box // all
	edges []*edge

	byName map[string]*box
}

func newTopology(app *spec.Application) *topology {
	t := &topology{byName: map[string]*box{}}
	t.place(app)
	t.connectAll(app)
	return t
}

// summary returns a sentence for screen readers.
func (t *topology) summary() string {
	var boxes [other + 1]int
	var edges [storage + 1]int
	for _, b := range t.boxes {
		boxes[b.kind]++
	}
	for _, e := range t.edges {
		edges[e.relation]++
	}
	var parts []string
	count := func(n int, one, many string) {
		switch {
		case n == 1:
			parts = append(parts, "1 "+one)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %s", n, many))
		}
	}
	for k, n := range boxes {
		count(n, kind(k).String(), kind(k).String()+"s")
	}
	count(edges[connection], "connection", "connections")
	count(edges[dependency], "dependency", "dependencies")
	count(edges[storage], "use of a volume", "uses of volumes")
	if len(parts) == 0 {
		return "There is nothing in the topology."
	}
	return "A topology: " + strings.Join(parts, ", ") + "."
}

// place makes the boxes and nests each in the one that hosts it.
func (t *topology) place(app *spec.Application) {
	for _, n := range app.Nodes {
		t.add(&box{kind: container, name: n.Name, lines: containerLines(n), tip: n.Type + "\n" + n.Image.Name})
	}
	for _, m := range app.Components {
		t.add(&box{kind: component, name: m.Name, tip: m.Type})
	}
	for _, v := range app.Volumes {
		t.add(&box{kind: volume, name: v.Name, tip: v.Type})
	}
	for _, o := range app.Others {
		t.add(&box{kind: other, name: o.Name, tip: o.Type})
	}
	for _, m := range app.Components {
		t.nest(m.Name, m.Host)
	}
	for _, o := range app.Others {
		t.nest(o.Name, o.Host)
	}
	for _, b := range t.boxes {
		if b.parent == nil {
			t.tops = append(t.tops, b)
		}
	}
}

func (t *topology) add(b *box) {
	t.byName[b.name] = b
	t.boxes = append(t.boxes, b)
	b.number = len(t.boxes)
}

func (t *topology) nest(name, on string) {
	if b, host := t.byName[name], t.byName[on]; host != nil && host.top() != b {
		b.parent = host
		host.children = append(host.children, b)
	}
}

func (t *topology) connectAll(app *spec.Application) {
	each := func(from string, connections, depends []string) {
		for _, to := range connections {
			t.connect(from, connection, to, "")
		}
		for _, to := range depends {
			t.connect(from, dependency, to, "")
		}
	}
	for _, m := range app.Components {
		each(m.Name, m.Connections, m.Depends)
	}
	for _, o := range app.Others {
		for _, r := range o.Requirements {
			if r.Target != o.Host {
				t.connect(o.Name, dependency, r.Target, r.Name)
			}
		}
	}
	for _, n := range app.Nodes {
		each(n.Name, n.Connections, n.Depends)
		for _, s := range n.Storage {
			t.connect(n.Name, storage, s.Volume, s.Location)
		}
	}
}

func (t *topology) connect(from string, r relation, to, label string) {
	if t.byName[from] != nil && t.byName[to] != nil {
		t.edges = append(t.edges, &edge{from: t.byName[from], to: t.byName[to], relation: r, label: label})
	}
}

// containerLines returns the image and the ports of a container, as they are
// written for Docker: host:container.
func containerLines(n spec.Node) []string {
	lines := []string{shorten(n.Image.Name, 44)}
	var ports []string
	for _, p := range n.Ports {
		port := fmt.Sprint(p.Container)
		if p.Host != 0 {
			port = fmt.Sprintf("%d:%d", p.Host, p.Container)
		}
		if p.Protocol != "tcp" {
			port += "/" + p.Protocol
		}
		ports = append(ports, port)
	}
	if len(ports) > 0 {
		lines = append(lines, "ports "+shorten(strings.Join(ports, ", "), 40))
	}
	return slices.DeleteFunc(lines, func(s string) bool { return s == "" })
}

// shorten cuts the middle out of a text of more than n characters.
func shorten(s string, n int) string {
	text := []rune(s)
	if len(text) <= n {
		return s
	}
	return string(text[:n/2]) + "…" + string(text[len(text)-(n-n/2-1):])
}

// sharedProtocol is a protocol with the components that have it.
type sharedProtocol struct {
	protocol.Protocol
	components []string
}

// protocols returns the different protocols of components, each once.
func protocols(app *spec.Application) []sharedProtocol {
	var all []sharedProtocol
next:
	for _, m := range app.Components {
		for i := range all {
			if all[i].Equal(m.Protocol) {
				all[i].components = append(all[i].components, m.Name)
				continue next
			}
		}
		all = append(all, sharedProtocol{m.Protocol, []string{m.Name}})
	}
	return all
}

// arrow is one or more transitions between two states.
type arrow struct {
	source, target string
	label          string
	fault          bool
}

// arrows returns the arrows of a protocol, in the order of its transitions.
func arrows(p protocol.Protocol) []arrow {
	var all []arrow
	for _, t := range p.Transitions {
		label := t.Name
		if t.Interface != protocol.Standard && t.Interface != protocol.ProgramStart.Interface {
			label = t.Operation.String()
		}
		same := slices.IndexFunc(all, func(a arrow) bool { return a.source == t.Source && a.target == t.Target })
		if same >= 0 {
			all[same].label += ", " + label
			continue
		}
		all = append(all, arrow{source: t.Source, target: t.Target, label: label})
	}
	for _, f := range p.FaultHandlers {
		all = append(all, arrow{f.Source, f.Target, "fault", true})
	}
	return all
}
