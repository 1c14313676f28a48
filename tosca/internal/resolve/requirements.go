package resolve

import (
	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/inherit"
)

// linker makes the edges between nodes.
type linker struct {
	*Graph
	filters []*Edge                // requirements with a filter and no target
	offers  map[*grammar.Type]bool // by capability type: whether a node type has it
}

// relate sets the relationship type of an edge and its assigned properties: of a
// template, inline, or of the definition.
func (l *linker) relate(e *Edge) bool {
	r := e.Requirement
	e.Properties = r.Properties
	if e.Inline != nil && e.Properties == nil {
		e.Properties = e.Inline.Properties
	}
	if e.Def != nil {
		e.Relation = e.Def.Relation
	}
	ref := r.Relationship
	if ref.Name == "" && e.Inline != nil {
		ref = e.Inline.Type
	}
	if ref.Name == "" {
		return true
	}
	scope := e.Source.Doc.Scope()
	t := l.Relations[ref.Name]
	if t != nil && e.Source.Doc.V2() && (e.Inline != nil || scope.Lookup(grammar.RelationshipType, ref.Name) != nil) {
		t = nil // since 2.0 a type wins, and only the short form may name a template (TOSCA 2.0, 8.5.2)
	}
	if t != nil {
		e.Relation, e.template = t.Typ, t
		e.Properties = overlay(t.Properties, e.Properties)
		return t.Typ != nil && l.refinesRelation(e, ref) // if unknown, reported at the template
	}
	if e.Relation = scope.Lookup(grammar.RelationshipType, ref.Name); e.Relation != nil {
		return l.refinesRelation(e, ref)
	}
	var candidates []string
	if l.Suggesting() {
		candidates = append(scope.Names(grammar.RelationshipType), inherit.Keys(l.Relations)...)
	}
	if scope.Open() {
		l.Perhaps(ref.Pos, code.ReqRelation, ref.Name, candidates, "%s has relationship %q, which may be in a missing file", e.Of(), ref.Name)
		return true
	}
	l.Unknown(ref.Pos, code.ReqRelation, ref.Name, candidates,
		"%s has relationship %q, which is neither a template nor a type", e.Of(), ref.Name)
	return false
}

// refinesRelation checks a relationship type against the definition.
func (l *linker) refinesRelation(e *Edge, ref grammar.Ref) bool {
	if e.Source.Owned() || e.Def == nil || e.Def.Relation == nil || !l.Inherit(e.Relation).Complete || inherit.Derives(e.Relation, e.Def.Relation) {
		return true
	}
	l.Errorf(ref.Pos, code.ReqRefined, "%s has a relationship of type %q, which is not a %q", e.Of(), e.Relation.Name, e.Def.Relation.Name)
	return false
}

// linkNodes makes the edges of all nodes.
func (l *linker) linkNodes() {
	for _, n := range l.Nodes {
		if n.Typ == nil || !l.Spend(len(n.Typ.Reqs)) {
			continue
		}
		if len(n.Requirements) > 0 {
			n.Edges = make([]*Edge, 0, len(n.Requirements))
		}
		for _, r := range n.Requirements {
			if e := l.link(n, r); e != nil {
				n.Edges = append(n.Edges, e)
			}
		}
	}
}

// link makes one edge. It returns nil if there is no target or an error, which is
// reported.
func (l *linker) link(n *Node, r *grammar.Requirement) *Edge {
	def := n.Typ.Requirement(r.Name)
	e := &Edge{Requirement: r, Def: def, Source: n}
	named := r.Relationship.Name != "" || r.Inline != nil && r.Inline.Type.Name != ""
	if def == nil && (!named || !n.Owned()) {
		var names []string
		if l.Suggesting() {
			for _, d := range n.Typ.Reqs {
				names = append(names, d.Name)
			}
		}
		why := ""
		if !named {
			why = ", and names no relationship"
		}
		l.Unknown(r.Pos, code.ReqUnknown, r.Name, names, "%s is not one of %s%s", e.Of(), inherit.Quoted(n.Typ.Type.Type), why)
		return nil
	}
	if !l.relate(e) {
		return nil
	}
	if !l.resolveTarget(e) {
		n.Unmet = append(n.Unmet, e)
		return nil
	}
	return e
}

// resolveTarget sets the target of an edge. It returns false if there is none.
func (l *linker) resolveTarget(e *Edge) bool {
	if !l.checkCapabilityName(e) {
		return false
	}
	if e.Target = l.target(e); e.Target != nil {
		return l.checkTarget(e)
	}
	e.Open = true
	if e.Source.Doc.V2() && !e.Source.Owned() && e.Def != nil {
		e.Provided = l.RequestedCapability(e)
	}
	return false
}

// checkCapabilityName checks that a requirement requests no other capability than its
// definition names (TOSCA 2.0, 8.5.2).
func (l *linker) checkCapabilityName(e *Edge) bool {
	if e.Def == nil || e.Def.CapabilityName == "" || e.Capability.Name == "" || e.Capability.Name == e.Def.CapabilityName || !e.Source.Doc.V2() {
		return true
	}
	l.Errorf(e.Capability.Pos, code.ReqCapability, "%s asks for capability %q; its definition names %q, which cannot be changed", e.Of(), e.Capability.Name, e.Def.CapabilityName)
	return false
}

// target returns the node that a requirement names. It returns nil if that is open,
// which is an error for an owned node, or if the node is unknown.
func (l *linker) target(e *Edge) *Node {
	n, r := e.Source, e.Requirement
	name := r.Node.Name
	switch t := l.ByName[name]; {
	case name == "" && r.NodeFilter != nil && n.Owned():
		l.filters = append(l.filters, e) // applied when all nodes are linked
	case name == "" && n.Owned():
		l.Incomplete(r.Pos, code.ReqAbstract, "%s names no node", e.Of())
	case name == "":
	case t == n && n.Owned():
		l.Errorf(r.Node.Pos, code.ReqSelf, "%s names the %s itself", e.Of(), n.called())
	case t != nil && r.NodeFilter != nil && !n.Doc.V2() && !n.Owned():
		l.Errorf(r.NodeFilter.Pos, code.Filter, "%s has a node_filter and names %q: a filter chooses among the nodes of a type (TOSCA 1.3, 3.8.2.2)", e.Of(), name)
		return t
	case t != nil:
		return t
	case r.Index != nil && !n.Doc.Scope().Open():
		l.Unknown(r.Node.Pos, code.ReqTarget, name, l.TemplateNames(AnyNode), "%s names one of the nodes made from %q, which is not a node template", e.Of(), name)
	case n.Doc.Scope().Lookup(grammar.NodeType, name) != nil:
		l.checkTargetType(e, n.Doc.Scope().Lookup(grammar.NodeType, name))
		switch {
		case r.NodeFilter != nil && n.Owned():
			l.filters = append(l.filters, e)
		case n.Owned():
			l.Incomplete(r.Node.Pos, code.ReqAbstract, "%s names the type %q instead of a node template, so the topology is incomplete", e.Of(), name)
		}
	case n.Doc.Scope().Open():
		l.Perhaps(r.Node.Pos, code.ReqTarget, name, l.TemplateNames(AnyNode), "%s names %q, which is not in the topology: it may be a type in a missing file", e.Of(), name)
	default:
		fitting := l.TemplateNames(func(t *Node) bool { return t != n && t.Owned() == n.Owned() })
		l.Unknown(r.Node.Pos, code.ReqTarget, name, fitting, "%s names %q, which is not in the topology", e.Of(), name)
	}
	return nil
}

// checkTargetType checks a type that a requirement names in place of a node.
func (l *linker) checkTargetType(e *Edge, t *grammar.Type) {
	if e.Def != nil && e.Def.Node != nil && l.Inherit(t).Complete && !inherit.Derives(t, e.Def.Node) {
		l.Errorf(e.Node.Pos, code.ReqKind, "%s names type %q, which is not a %q", e.Of(), t.Name, e.Def.Node.Name)
		return
	}
	if (e.Capability.Name != "" || e.Source.Doc.V2()) && l.Inherit(t).Complete {
		l.findCapability(e, l.Flatten(t), t.Name) // the type must have it (TOSCA 2.0, 8.5.2)
	}
}

// checkTarget checks the target against the definition.
func (l *linker) checkTarget(e *Edge) bool {
	t := e.Target
	if t.Typ == nil {
		return false // already reported
	}
	switch {
	case e.Def == nil || e.Def.Node == nil || inherit.IsA(t.Typ.Chain, e.Def.Node):
	case e.advised():
		l.Warnf(e.Node.Pos, code.ReqKind, "%s names %q of type %q, and is meant for a %q", e.Of(), t.Name, t.Type.Name, e.Def.Node.Name)
	default:
		l.Errorf(e.Node.Pos, code.ReqKind, "%s names %q of type %q, which is not a %q", e.Of(), t.Name, t.Type.Name, e.Def.Node.Name)
		return false
	}
	c, ok := l.findCapability(e, t.Typ, t.Name)
	if !ok {
		return false
	}
	e.Provided = c
	return true
}

// findCapability returns the capability of a type that a requirement requests: by name,
// or else the first of the requested type. It returns nil if any will do. If there is
// none, it reports that and returns false.
func (l *linker) findCapability(e *Edge, t *inherit.NodeType, target string) (c *inherit.CapabilityDef, ok bool) {
	scope := e.Source.Doc.Scope()
	var demanded *grammar.Type
	name := ""
	if e.Def != nil {
		demanded, name = e.Def.Capability, e.Def.CapabilityName
	}
	if want := e.Capability.Name; want != "" {
		asked := scope.Lookup(grammar.CapabilityType, want)
		if c = t.Caps[want]; c == nil {
			c = t.CapabilityOf(asked)
		}
		if c == nil {
			if asked == nil && scope.Open() {
				return nil, true
			}
			l.Unknown(e.Capability.Pos, code.ReqCapability, want, t.CapabilityNames(),
				"%s asks %q for capability %q, which it does not have", e.Of(), target, want)
			return nil, false
		}
		if demanded != nil && c.Typ != nil && c.Complete && !inherit.Derives(c.Typ, demanded) {
			l.Errorf(e.Capability.Pos, code.ReqCapability, "%s asks %q for capability %q of type %q, which is not a %q",
				e.Of(), target, want, c.Typ.Name, demanded.Name)
			return nil, false
		}
		return c, true
	}
	switch {
	case demanded != nil:
		c = t.CapabilityOf(demanded)
	case name != "":
		c = t.Caps[name]
	default:
		return nil, true
	}
	if c == nil && !t.Unresolved() && (demanded == nil || l.Inherit(demanded).Complete) {
		if e.Def.Doc.Embedded && !l.offered(demanded, e.Source.Doc) {
			return nil, true
		}
		want := name
		if demanded != nil {
			want = demanded.Name
		}
		l.Errorf(PosOf(e), code.ReqCapability, "%s needs capability %q, and %q has none", e.Of(), want, target)
		return nil, false
	}
	return c, true
}

// offered reports whether any known node type has a capability. The normative types
// request tosca.capabilities.Storage, which no type has (TOSCA 1.3, 5.9.13).
func (l *linker) offered(c *grammar.Type, doc *grammar.Document) (known bool) {
	if known, ok := l.offers[c]; ok {
		return known
	}
	defer func() { l.offers[c] = known }()
	for _, name := range doc.Scope().Names(grammar.NodeType) {
		t := l.WholeNodeType(doc.Scope().Lookup(grammar.NodeType, name))
		if t != nil && (!l.Spend(1+len(t.Caps)) || t.CapabilityOf(c) != nil) {
			return true
		}
	}
	return false
}

func PosOf(e *Edge) diag.Position {
	if e.Node.Name != "" {
		return e.Node.Pos
	}
	return e.Pos
}
