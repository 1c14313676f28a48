package check

import (
	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/inherit"
	"github.com/toskose/toskose/tosca/internal/resolve"
)

// checkRelations evaluates and checks what relationship templates assign.
func checkRelations(g *resolve.Graph) {
	for _, name := range inherit.Keys(g.Relations) {
		r := g.Relations[name]
		if r.Typ == nil {
			continue
		}
		checkValues(&r.Holder, inherit.Quoted(r.Typ))
		faces := g.RelationInterfaces(r.Typ, nil)
		checkInterfaces(g, r.Interfaces, checkAssigned(g, faces, r.Interfaces, r.Doc, r.Of), &r.Holder)
	}
}

// checkEdge evaluates and checks what is assigned to a relationship.
func checkEdge(g *resolve.Graph, e *resolve.Edge) {
	n := e.Source
	if e.Properties == nil && e.Inline == nil && n.Owned() {
		return
	}
	h := e.Holds()
	if h == nil {
		return
	}
	checkValues(h, "")
	for _, name := range h.PropertyNames() {
		v := h.Property(name)
		if v.OK && v.Node.IsNull() && h.Props[name].Required && !n.Owned() && !writtenNull(h, name) && !isUnread(h) {
			lacks(g, e, h, name)
		}
	}
	if e.Inline != nil && len(e.Inline.Interfaces) > 0 {
		faces := g.RelationInterfaces(e.Relation, e.Def)
		checkInterfaces(g, e.Inline.Interfaces, checkAssigned(g, faces, e.Inline.Interfaces, n.Doc, h.Of), h)
	}
}

// lacks reports a relationship without a value that its type requires. The 1.x
// standard's own examples leave out those of normative types, as long as they say
// nothing of the relationship.
func lacks(g *resolve.Graph, e *resolve.Edge, h *resolve.Holder, name string) {
	report := g.Errorf
	if !e.Source.Doc.V2() && h.Props[name].Doc.Embedded && e.Properties == nil {
		report = g.Warnf
	}
	at := e.Pos
	if e.Inline != nil {
		at = e.Inline.Pos
	}
	report(at, code.PropMissing, "%s lacks property %q, which %s requires", h.Of, name, inherit.Quoted(e.Relation))
}
