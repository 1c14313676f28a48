package graph

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/toskose/toskose/internal/visible"
	"github.com/toskose/toskose/spec"
)

// Mermaid draws a flowchart for Mermaid, as many pages render it.
func Mermaid(app *spec.Application, opts Options) []byte {
	m := &mermaidWriter{ids: map[*box]string{}}
	t := newTopology(app)
	m.line("flowchart LR")
	if len(t.tops) == 0 {
		m.line("  %%%% there is nothing in the topology")
	}
	for i, b := range t.boxes { // names may be keywords of Mermaid, such as "end"
		m.ids[b] = fmt.Sprintf("%s%d", strings.ReplaceAll(b.kind.String(), " ", ""), i+1)
	}
	for _, b := range t.tops {
		m.box(b, 1)
	}
	for _, e := range t.edges {
		m.edge(e)
	}
	if opts.Protocols {
		for i, p := range protocols(app) {
			m.protocol(i+1, p)
		}
	}
	return m.Bytes()
}

type mermaidWriter struct {
	bytes.Buffer
	ids map[*box]string
}

func (m *mermaidWriter) line(format string, args ...any) { fmt.Fprintf(m, format+"\n", args...) }

// mermaidText is a quoted text with special characters written as entities:
// `#35;` is "#".
func mermaidText(lines ...string) string {
	var b strings.Builder
	for i, line := range lines {
		if i > 0 {
			b.WriteString("<br/>")
		}
		for _, r := range visible.Lines(line) {
			switch {
			case strings.ContainsRune("\"#&<>`\\;|{}[]", r):
				fmt.Fprintf(&b, "#%d;", r)
			case r < ' ':
				b.WriteByte(' ')
			default:
				b.WriteRune(r)
			}
		}
	}
	return `"` + b.String() + `"`
}

func (m *mermaidWriter) box(b *box, depth int) {
	pad, id := indent(depth), m.ids[b]
	label := mermaidText(append([]string{b.name}, b.lines...)...)
	switch {
	case b.kind == volume:
		m.line("%s%s[(%s)]", pad, id, label)
	case len(b.children) == 0 && b.kind == container:
		m.line("%s%s[[%s]]", pad, id, label)
	case len(b.children) == 0:
		m.line("%s%s[%s]", pad, id, label)
	default:
		m.line("%ssubgraph %s[%s]", pad, id, label)
		for _, child := range b.children {
			m.box(child, depth+1)
		}
		m.line("%send", pad)
	}
}

func (m *mermaidWriter) edge(e *edge) {
	if within(e.from, e.to) || within(e.to, e.from) { // Mermaid cannot lay out an edge between a box and its container
		m.line("  %%%% %s: %s of %s", m.ids[e.from], e.relation, m.ids[e.to])
		return
	}
	arrow := [...]string{"-->", "-.->", "==>"}[e.relation]
	if e.label != "" {
		arrow += "|" + mermaidText(e.label) + "|"
	}
	m.line("  %s %s %s", m.ids[e.from], arrow, m.ids[e.to])
}

func (m *mermaidWriter) protocol(number int, p sharedProtocol) {
	ids := map[string]string{}
	m.line("  subgraph protocol%d[%s]", number, mermaidText("protocol of "+strings.Join(p.components, ", ")))
	for i, s := range p.States {
		ids[s.Name] = fmt.Sprintf("protocol%dstate%d", number, i+1)
		if s.Name == p.Initial {
			m.line("    %s(((%s)))", ids[s.Name], mermaidText(s.Name))
		} else {
			m.line("    %s([%s])", ids[s.Name], mermaidText(s.Name))
		}
	}
	for _, s := range arrows(p.Protocol) {
		arrow := "-->"
		if s.fault {
			arrow = "-.->"
		}
		m.line("    %s %s|%s| %s", ids[s.source], arrow, mermaidText(s.label), ids[s.target])
	}
	m.line("  end")
}
