package graph

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/toskose/toskose/internal/visible"
	"github.com/toskose/toskose/spec"
)

// DOT draws for Graphviz.
func DOT(app *spec.Application, opts Options) []byte {
	d := &dotWriter{}
	t := newTopology(app)
	d.line("digraph %s {", dotText(app.Name))
	d.line("  graph [rankdir=LR, compound=true, fontname=Helvetica]")
	d.line("  node [fontname=Helvetica, fontsize=12]")
	d.line("  edge [fontname=Helvetica, fontsize=10]")
	for _, b := range t.tops {
		d.box(b, 1)
	}
	for _, e := range t.edges {
		d.edge(e)
	}
	if opts.Protocols {
		for i, p := range protocols(app) {
			d.protocol(i, p)
		}
	}
	d.line("}")
	return d.Bytes()
}

type dotWriter struct{ bytes.Buffer }

func (d *dotWriter) line(format string, args ...any) { fmt.Fprintf(d, format+"\n", args...) }

var dotEscape = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", " ", "\r", " ", "\x00", "")

// dotText is a quoted string, in which DOT knows `\"` and reads a backslash as
// the beginning of an escape (DOT language, "escString").
func dotText(lines ...string) string {
	for i := range lines {
		lines[i] = visible.Lines(dotEscape.Replace(lines[i]))
	}
	return `"` + strings.Join(lines, `\n`) + `"`
}

// indent returns the indentation of a line in nested boxes, up to a limit.
func indent(depth int) string { return strings.Repeat("  ", min(depth, 32)) }

// dotID is the name of a box, with its number where the name alone may be ambiguous.
func dotID(b *box) string { return dotText(dotName(b)) }

func dotCluster(b *box) string { return dotText("cluster_" + dotName(b)) }

func dotName(b *box) string {
	if dotText(b.name) != `"`+b.name+`"` {
		return fmt.Sprintf("%s %d", b.kind, b.number)
	}
	return b.name
}

func (d *dotWriter) box(b *box, depth int) {
	pad := indent(depth)
	label := dotText(append([]string{b.name}, b.lines...)...)
	if b.kind == volume {
		d.line("%s%s [label=%s, shape=cylinder]", pad, dotID(b), label)
		return
	}
	if len(b.children) == 0 {
		shape := "box"
		if b.kind == container {
			shape = "box3d"
		}
		d.line("%s%s [label=%s, shape=%s]", pad, dotID(b), label, shape)
		return
	}
	d.line("%ssubgraph %s {", pad, dotCluster(b))
	d.line("%s  label=%s", pad, label)
	// Edges of a cluster need a node in it as their end.
	d.line("%s  %s [label=\"\", shape=point, style=invis]", pad, dotID(b))
	for _, child := range b.children {
		d.box(child, depth+1)
	}
	d.line("%s}", pad)
}

func (d *dotWriter) edge(e *edge) {
	attributes := []string{"style=" + [...]string{"solid", "dashed", "dotted"}[e.relation]}
	if e.label != "" {
		attributes = append(attributes, "label="+dotText(e.label))
	}
	if len(e.from.children) > 0 && !within(e.to, e.from) {
		attributes = append(attributes, "ltail="+dotCluster(e.from))
	}
	if len(e.to.children) > 0 && !within(e.from, e.to) {
		attributes = append(attributes, "lhead="+dotCluster(e.to))
	}
	d.line("  %s -> %s [%s]", dotID(e.from), dotID(e.to), strings.Join(attributes, ", "))
}

// within reports whether b is other or lies in it: an edge that enters a cluster
// from inside cannot be cut at its border.
func within(b, other *box) bool {
	for ; b != nil; b = b.parent {
		if b == other {
			return true
		}
	}
	return false
}

func (d *dotWriter) protocol(number int, p sharedProtocol) {
	id := func(state string) string { return dotText(fmt.Sprintf("protocol %d: %s", number, state)) }
	d.line("  subgraph %s {", dotText(fmt.Sprintf("cluster_protocol %d", number)))
	d.line("    label=%s", dotText("protocol of "+strings.Join(p.components, ", ")))
	d.line("    style=dashed")
	for _, s := range p.States {
		shape := "box, style=rounded"
		if s.Name == p.Initial {
			shape += ", peripheries=2"
		}
		d.line("    %s [label=%s, shape=%s]", id(s.Name), dotText(s.Name), shape)
	}
	for _, s := range arrows(p.Protocol) {
		style := "solid"
		if s.fault {
			style = "dashed"
		}
		d.line("    %s -> %s [label=%s, style=%s]", id(s.source), id(s.target), dotText(s.label), style)
	}
	d.line("  }")
}
