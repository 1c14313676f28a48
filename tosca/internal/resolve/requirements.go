package resolve

import (
	"slices"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
)

// linkNodes makes the edges of all nodes.
func (s *Service) linkNodes() {
	for _, n := range s.Nodes {
		if n.Typ == nil || !s.Spend(len(n.Typ.Reqs)) {
			continue
		}
		if len(n.Requirements) > 0 {
			n.Edges = make([]*Edge, 0, len(n.Requirements))
		}
		for _, r := range n.Requirements {
			if e := s.link(n, r); e != nil {
				n.Edges = append(n.Edges, e)
			}
		}
		s.checkOccurrences(n)
	}
}

// link makes one edge; nil where it leads nowhere yet or something is wrong
// with it, which is reported.
func (s *Service) link(n *Node, r *grammar.Requirement) *Edge {
	def := n.Typ.Requirement(r.Name)
	e := &Edge{Requirement: r, Def: def, Source: n}
	if def == nil && (r.Relationship.Name == "" || !n.Owned()) {
		if s.excuses(e) {
			return nil
		}
		var names []string
		if s.Suggesting() {
			for _, d := range n.Typ.Reqs {
				names = append(names, d.Name)
			}
		}
		s.Unknown(r.Pos, codeReqUnknown, r.Name, names, "%s is not one of %s, and names no relationship", e.of(), Quoted(n.Typ.Type.Type))
		return nil
	}
	if !s.relate(e) {
		return nil
	}
	s.checkKeywords(e)
	if !s.keepsName(e) {
		return nil
	}
	if e.Target = s.target(e); e.Target == nil {
		s.checkDangling(e)
		if n.open == nil {
			n.open = map[string]bool{}
		}
		n.open[r.Name] = true
		return nil
	}
	if !s.fulfils(e) {
		return nil
	}
	return e
}

// checkKeywords checks what most requirements do not say.
func (s *Service) checkKeywords(e *Edge) {
	r, n := e.Requirement, e.Source
	for _, d := range r.Directives {
		s.checkScope(d, e.of())
	}
	if r.Count != nil {
		s.checkCount(r.Count, s.placeOf(e, ": count"))
	}
	if r.Index != nil {
		s.checkCount(r.Index, s.placeOf(e, ": the index of its node"))
	}
	if r.Optional != nil {
		s.checkOptional(r.Optional, s.placeOf(e, ": optional"))
	}
	if r.NodeFilter != nil {
		s.checkFilter(r.NodeFilter, s.filtered(e), n.Doc, e.of()+nodeFilter, s.selfOfFilter(e))
	}
}

// placeOf is the place of what a requirement says before it is known where it
// leads: SELF is its relationship (TOSCA 2.0, 10.3).
func (s *Service) placeOf(e *Edge, what string) data.Place {
	p := e.Source.Place(e.of() + what)
	if second(e.Source.Doc) {
		p.Self = s.selfOfFilter(e)
	}
	return p
}

// keepsName checks that a requirement whose definition names a capability of a
// node type, and not its type, asks for none other (TOSCA 2.0, 8.5.2).
func (s *Service) keepsName(e *Edge) bool {
	if e.Def == nil || e.Def.Named == "" || e.Capability.Name == "" || e.Capability.Name == e.Def.Named || !second(e.Source.Doc) {
		return true
	}
	s.Errorf(e.Capability.Pos, codeReqCapability, "%s asks for capability %q; its definition names %q, which cannot be changed", e.of(), e.Capability.Name, e.Def.Named)
	return false
}

// target finds the node that a requirement names; nil where it is left open,
// which is incomplete for a node that is owned, or where there is none.
func (s *Service) target(e *Edge) *Node {
	n, r := e.Source, e.Requirement
	name := r.Node.Name
	switch t := s.byName[name]; {
	case name == "" && r.NodeFilter != nil:
		s.filters = append(s.filters, e) // when there are all nodes
	case name == "" && n.Owned():
		s.Incomplete(r.Pos, codeReqAbstract, "%s names no node", e.of())
	case name == "":
	case t == n && n.Owned():
		s.Errorf(r.Node.Pos, codeReqSelf, "%s names the %s itself", e.of(), n.called())
	case t != nil && r.NodeFilter != nil && !second(n.Doc) && !n.Owned():
		s.Errorf(r.NodeFilter.Pos, codeFilter, "%s has a node_filter and names %q: a filter chooses among the nodes of a type (TOSCA 1.3, 3.8.2.2)", e.of(), name)
		return t
	case t != nil:
		return t
	case r.Index != nil && !n.Doc.Scope().Open():
		s.Unknown(r.Node.Pos, codeReqTarget, name, s.templateNames(anyNode), "%s names one of the nodes made from %q, which is no node template", e.of(), name)
	case n.Doc.Scope().Lookup(grammar.NodeType, name) != nil:
		s.checkTargetType(e, n.Doc.Scope().Lookup(grammar.NodeType, name))
		switch {
		case r.NodeFilter != nil:
			s.filters = append(s.filters, e)
		case n.Owned():
			s.Incomplete(r.Node.Pos, codeReqAbstract, "%s names the type %q instead of a node template, so the topology is incomplete", e.of(), name)
		}
	case n.Doc.Scope().Open():
		s.Perhaps(r.Node.Pos, codeReqTarget, name, s.templateNames(anyNode), "%s names %q, which is not in the topology: it may be a type in a file that is not at hand", e.of(), name)
	default:
		fitting := s.templateNames(func(t *Node) bool { return t != n && t.Owned() == n.Owned() })
		s.Unknown(r.Node.Pos, codeReqTarget, name, fitting, "%s names %q, which is not in the topology", e.of(), name)
	}
	return nil
}

// checkTargetType checks a type that a requirement names in the place of a node.
func (s *Service) checkTargetType(e *Edge, t *grammar.Type) {
	if e.Def != nil && e.Def.Node != nil && s.inherit(t).Whole && !derives(t, e.Def.Node) {
		s.Errorf(e.Node.Pos, codeReqKind, "%s names type %q, which is not a %q", e.of(), t.Name, e.Def.Node.Name)
		return
	}
	if (e.Capability.Name != "" || second(e.Source.Doc)) && s.inherit(t).Whole {
		s.findCapability(e, s.flatten(t), t.Name) // the type has to have it (TOSCA 2.0, 8.5.2)
	}
}

// fulfils checks the target against the definition.
func (s *Service) fulfils(e *Edge) bool {
	t := e.Target
	if t.Typ == nil {
		return false // said so
	}
	switch {
	case e.Def == nil || e.Def.Node == nil || isA(t.Typ.Chain, e.Def.Node):
	case e.advised():
		s.Warnf(e.Node.Pos, codeReqKind, "%s names %q of type %q, and is meant for a %q", e.of(), t.Name, t.Type.Name, e.Def.Node.Name)
	default:
		s.Errorf(e.Node.Pos, codeReqKind, "%s names %q of type %q, which is not a %q", e.of(), t.Name, t.Type.Name, e.Def.Node.Name)
		return false
	}
	c, ok := s.findCapability(e, t.Typ, t.Name)
	if !ok {
		return false
	}
	e.capability = c
	if c != nil {
		s.checkCapability(e)
		s.checkAllocation(e)
	}
	s.checkRelationTargets(e)
	s.checkFulfilled(e)
	return true
}

// advised tells whether the node type that the definition asks for is advice: a
// normative type says it, a SoftwareComponent is hosted on a Compute, and section
// 7.2 of TOSCA 1.3 hosts it on another SoftwareComponent. The capability counts.
func (e *Edge) advised() bool {
	return e.Def.doc.Embedded && !e.Source.Owned() && e.Target.Typ.capabilityOf(e.Def.Capability) != nil
}

// findCapability finds which capability of a type a requirement means: the one
// that it names, or the first of the type that it asks for. It is nil where
// any will do, and ok is false where there is none, which is reported.
func (s *Service) findCapability(e *Edge, t *NodeType, target string) (c *CapabilityDef, ok bool) {
	scope := e.Source.Doc.Scope()
	var demanded *grammar.Type
	named := ""
	if e.Def != nil {
		demanded, named = e.Def.Capability, e.Def.Named
	}
	if want := e.Capability.Name; want != "" {
		asked := scope.Lookup(grammar.CapabilityType, want)
		if c = t.Caps[want]; c == nil {
			c = t.capabilityOf(asked)
		}
		if c == nil {
			if asked == nil && scope.Open() {
				return nil, true
			}
			s.Unknown(e.Capability.Pos, codeReqCapability, want, t.capabilities(),
				"%s asks %q for capability %q, which it does not have", e.of(), target, want)
			return nil, false
		}
		if demanded != nil && c.Typ != nil && c.whole && !derives(c.Typ, demanded) {
			s.Errorf(e.Capability.Pos, codeReqCapability, "%s asks %q for capability %q of type %q, which is not a %q",
				e.of(), target, want, c.Typ.Name, demanded.Name)
			return nil, false
		}
		return c, true
	}
	switch {
	case demanded != nil:
		c = t.capabilityOf(demanded)
	case named != "":
		c = t.Caps[named]
	default:
		return nil, true
	}
	if c == nil && !t.vague() && (demanded == nil || s.inherit(demanded).Whole) {
		if e.Def.doc.Embedded && !s.offered(demanded, e.Source.Doc) {
			return nil, true
		}
		want := named
		if demanded != nil {
			want = demanded.Name
		}
		s.Errorf(posOf(e), codeReqCapability, "%s needs capability %q, and %q has none", e.of(), want, target)
		return nil, false
	}
	return c, true
}

// offered tells whether any node type that a document knows has a capability.
// The normative types ask for one, tosca.capabilities.Storage, that none has
// (TOSCA 1.3, 5.9.13).
func (s *Service) offered(c *grammar.Type, doc *grammar.Document) (known bool) {
	if known, ok := s.offers[c]; ok {
		return known
	}
	defer func() { s.offers[c] = known }()
	for _, name := range doc.Scope().Names(grammar.NodeType) {
		t := s.wholeType(doc.Scope().Lookup(grammar.NodeType, name))
		if t != nil && (!s.Spend(1+len(t.Caps)) || t.capabilityOf(c) != nil) {
			return true
		}
	}
	return false
}

func posOf(e *Edge) diag.Position {
	if e.Node.Name != "" {
		return e.Node.Pos
	}
	return e.Pos
}

// capabilityOf gives the capability of a type; where several are, the first by
// name.
func (t *NodeType) capabilityOf(typ *grammar.Type) *CapabilityDef {
	if typ == nil {
		return nil
	}
	for _, name := range t.capabilities() {
		if c := t.Caps[name]; isA(c.chain, typ) {
			return c
		}
	}
	return nil
}

// vague tells whether a capability's type is not known, so that it may be any.
func (t *NodeType) vague() bool {
	for _, c := range t.Caps {
		if c.Typ == nil || !c.whole {
			return true
		}
	}
	return false
}

// checkCapability checks the ends of an edge against what the capability
// allows. What the normative types say there is advice: the standard's own
// examples break it.
func (s *Service) checkCapability(e *Edge) {
	c := e.capability
	if c.doc.Embedded {
		return
	}
	sources, relations := c.allowed()
	if !s.allows(c.doc, grammar.NodeType, sources, e.Source.Typ.Chain) {
		s.Errorf(posOf(e), codeReqSource, "%s leads to capability %q of %q, which is not for nodes of type %q", e.of(), c.Name, e.Target.Name, e.Source.Type.Name)
	}
	if e.Relation != nil && !s.allows(c.doc, grammar.RelationshipType, relations, Ancestors(e.Relation)) {
		s.Errorf(posOf(e), codeReqSource, "%s leads to capability %q of %q, which is not for relationships of type %q", e.of(), c.Name, e.Target.Name, e.Relation.Name)
	}
	if c.Max <= 0 || second(c.doc) {
		return
	}
	if c.incoming == nil {
		c.incoming = map[*Node]int{}
	}
	if c.incoming[e.Target]++; c.incoming[e.Target] == c.Max+1 {
		s.Errorf(posOf(e), codeReqMany, "%s: capability %q of %q is there for at most %d requirements", e.of(), c.Name, e.Target.Name, c.Max)
	}
}

// allowed gives the types that a capability is for: by its definition, or else
// by its type.
func (c *CapabilityDef) allowed() (sources, relations []grammar.Ref) {
	sources, relations = c.Sources, c.Relations
	for _, t := range Ancestors(c.Typ) {
		if t.Doc.Embedded {
			break
		}
		if len(sources) == 0 {
			sources = t.Sources
		}
		if len(relations) == 0 {
			relations = t.Relations
		}
	}
	return sources, relations
}

// allows tells whether a chain of types has one of a list, which may be empty.
// A type that is not known may be any.
func (s *Service) allows(doc *grammar.Document, kind grammar.Kind, list []grammar.Ref, chain []*grammar.Type) bool {
	if len(list) == 0 || !s.Spend(len(list)) {
		return true
	}
	for _, ref := range list {
		t := doc.Scope().Lookup(kind, ref.Name)
		if t == nil && !isOther(doc, ref.Name) || t != nil && slices.ContainsFunc(chain, t.Same) {
			return true
		}
	}
	return false
}

// isOther tells whether a name is that of a node or group type: a list of the
// targets of policies has both.
func isOther(doc *grammar.Document, name string) bool {
	return doc.Scope().Lookup(grammar.NodeType, name) != nil || doc.Scope().Lookup(grammar.GroupType, name) != nil
}

// checkAllocation checks what a requirement takes of its target's capability
// (TOSCA 2.0, 8.5.5).
func (s *Service) checkAllocation(e *Edge) {
	known := e.capability.Props
	for k, v := range e.Allocation.Pairs() {
		of := e.of() + ": allocation of " + quote(k.Text)
		def := known[k.Text]
		if def == nil {
			if e.capability.whole {
				s.Unknown(k.Pos(), codeAllocation, k.Text, suggestable(s, known), "%s: capability %q has no such property", of, e.capability.Name)
			}
			continue
		}
		switch s.eval.Plain(def) {
		case "", "integer", "float", "scalar", "scalar-unit", "scalar-unit.size", "scalar-unit.time", "scalar-unit.frequency", "scalar-unit.bitrate":
		default:
			s.Errorf(k.Pos(), codeAllocation, "%s: it is no number", of)
			continue
		}
		p := e.Source.Place(of)
		p.Self, p.Meant = e, def
		if made := s.eval.Eval(v, p); made.OK {
			s.eval.Check(made.Node, data.Of(def.TypeName(), def.Doc), p)
		}
	}
}
