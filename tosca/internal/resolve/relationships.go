package resolve

import (
	"maps"
	"slices"

	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/source"
)

// Edge is a requirement that leads to another node. It is the relationship
// between the two as well.
type Edge struct {
	*grammar.Requirement
	Def        *RequirementDef // nil: the type does not define it
	Source     *Node
	Target     *Node
	Relation   *grammar.Type  // of its relationship; nil: none is named, or it is unknown
	Properties *source.Node   // of its relationship, as assigned
	capability *CapabilityDef // of Target; nil: any
	inline     *grammar.RelationshipTemplate
	template   *relation // nil: it has none
	held       *holder
}

// relation is a relationship template.
type relation struct {
	*grammar.RelationshipTemplate
	holder
	typ *grammar.Type // nil: unknown, and said so
}

// of names the requirement in a message.
func (e *Edge) of() string { return e.Source.Of() + ": requirement " + quote(e.Name) }

// Describe, Lead, Get and Names make a relationship a data.Entity.
func (e *Edge) Describe() (data.EntityKind, string) {
	return data.RelationshipEntity, "the relationship of " + quote(e.Source.Name) + " by " + quote(e.Name)
}

// Lead gives what a step of a path leads to.
func (e *Edge) Lead(step data.Step) (data.Entity, data.Answer) {
	switch step.Kind {
	case data.ToSource:
		return e.Source, data.Found
	case data.ToTarget:
		if e.Target != nil {
			return e.Target, data.Found
		}
	case data.ToCapability:
		if e.Target != nil && e.capability != nil {
			if c := e.Target.capability(e.capability.Name); c != nil {
				return c, data.Found
			}
		}
	default:
	}
	return nil, data.Open
}

// Get gives what the relationship has of a name.
func (e *Edge) Get(m data.Member, name ...string) (data.Value, data.Answer) {
	if h := e.holds(); h != nil && (m == data.Property || m == data.Attribute) {
		return h.get(m, name[0])
	}
	return data.Value{}, data.Open
}

// Names lists what the relationship has, for messages.
func (e *Edge) Names(m data.Member, _ ...string) []string {
	if h := e.holds(); h != nil {
		return h.names(m)
	}
	return nil
}

// holds makes the properties of the relationship; nil where its type is not
// known.
func (e *Edge) holds() *holder {
	if e.held != nil || e.Relation == nil {
		return e.held
	}
	s := e.Source.holder.s
	t := s.inherit(e.Relation)
	e.held = &holder{
		s: s, self: e, of: e.of() + ": the relationship", doc: e.Source.Doc, pos: e.Pos,
		props: t.Props, sorted: t.properties(), attrs: t.Attrs, whole: t.Whole, needed: e.Source.Owned(), assigned: e.Properties,
	}
	if e.Def != nil && e.template == nil { // a template has to have all that its type requires
		e.held.props, e.held.attrs = e.Def.refine(t)
	}
	if e.inline != nil {
		e.held.attributes = e.inline.Attributes
	}
	return e.held
}

// refine gives what a type of relationships defines, with what the requirement
// refines of it; what the type does not have is reported where it is written.
func (d *RequirementDef) refine(t *Type) (props, attrs map[string]*data.Definition) {
	if len(d.refines) == 0 {
		return t.Props, t.Attrs
	}
	props, attrs = maps.Clone(t.Props), maps.Clone(t.Attrs)
	for _, r := range d.refines {
		define(props, ofThese(t.Props, r.RelationProperties), r.doc)
		define(attrs, ofThese(t.Attrs, r.RelationAttributes), r.doc)
	}
	return props, attrs
}

// ofThese are the definitions that refine one of those.
func ofThese(defs map[string]*data.Definition, more []*grammar.Property) []*grammar.Property {
	return slices.DeleteFunc(slices.Clone(more), func(p *grammar.Property) bool { return defs[p.Name] == nil })
}

func (r *relation) Describe() (data.EntityKind, string) {
	return data.RelationshipEntity, "relationship template " + quote(r.Name)
}

// Lead is open: which nodes a template is between is said by those that use it.
func (r *relation) Lead(data.Step) (data.Entity, data.Answer) { return nil, data.Open }

func (r *relation) Get(m data.Member, name ...string) (data.Value, data.Answer) {
	if r.typ == nil || m != data.Property && m != data.Attribute {
		return data.Value{}, data.Open
	}
	return r.get(m, name[0])
}

func (r *relation) Names(m data.Member, _ ...string) []string { return r.names(m) }

// makeRelations makes the relationship templates.
func (s *Service) makeRelations() {
	s.relations = map[string]*relation{}
	for _, name := range Keys(s.Topo.Relationships) {
		t := s.Topo.Relationships[name]
		of := "relationship template " + quote(name)
		r := &relation{RelationshipTemplate: s.copiedRelation(t, of)}
		r.holder = holder{s: s, self: r, of: of, doc: s.Doc, pos: t.Pos, assigned: r.Properties, attributes: r.Attributes}
		if r.typ = s.known(s.Doc, grammar.RelationshipType, r.Type, of); r.typ != nil {
			made := s.inherit(r.typ)
			r.props, r.attrs, r.whole = made.Props, made.Attrs, made.Whole
		}
		s.relations[name] = r
	}
}

// copiedRelation makes a template that copies another one.
func (s *Service) copiedRelation(t *grammar.RelationshipTemplate, of string) *grammar.RelationshipTemplate {
	if t.Copy.Name == "" {
		return t
	}
	from := s.Topo.Relationships[t.Copy.Name]
	switch {
	case from == nil:
		s.Unknown(t.Copy.Pos, codeCopy, t.Copy.Name, suggestable(s, s.Topo.Relationships), "%s copies %q, which is not in the topology", of, t.Copy.Name)
		return t
	case from.Copy.Name != "":
		s.Errorf(t.Copy.Pos, codeCopy, "%s copies %q, which is itself a copy", of, t.Copy.Name)
		return t
	}
	made := *t
	if t.Type.Name == "" {
		made.Type = from.Type
	}
	made.Properties, made.Attributes = overlay(from.Properties, t.Properties), overlay(from.Attributes, t.Attributes)
	made.Interfaces = append(slices.Clone(from.Interfaces), t.Interfaces...)
	return &made
}

// checkRelations evaluates and checks what relationship templates assign.
func (s *Service) checkRelations() {
	for _, name := range Keys(s.relations) {
		r := s.relations[name]
		if r.typ == nil {
			continue
		}
		r.check(Quoted(r.typ))
		faces := s.relationInterfaces(r.typ, nil, r.doc)
		s.checkInterfaces(r.Interfaces, s.assignTo(faces, r.Interfaces, r.doc, r.of), &r.holder)
	}
}

// relate finds the type of an edge's relationship and the properties that are
// assigned to it: of a template, in place, or the definition's.
func (s *Service) relate(e *Edge) bool {
	r := e.Requirement
	e.inline, e.Properties = r.Inline, r.Properties
	if e.inline != nil && e.Properties == nil {
		e.Properties = e.inline.Properties
	}
	if e.Def != nil {
		e.Relation = e.Def.Relation
	}
	ref := r.Relationship
	if ref.Name == "" && e.inline != nil {
		ref = e.inline.Type
	}
	if ref.Name == "" {
		return true
	}
	scope := e.Source.Doc.Scope()
	t := s.relations[ref.Name]
	if t != nil && second(e.Source.Doc) && (e.inline != nil || scope.Lookup(grammar.RelationshipType, ref.Name) != nil) {
		t = nil // since 2.0 a type comes first, and only the short form may name a template (TOSCA 2.0, 8.5.2)
	}
	if t != nil {
		e.Relation, e.template = t.typ, t
		e.Properties = overlay(t.Properties, e.Properties)
		return t.typ != nil && s.refinesRelation(e, ref) // unknown, and said where the template is
	}
	if e.Relation = scope.Lookup(grammar.RelationshipType, ref.Name); e.Relation != nil {
		return s.refinesRelation(e, ref)
	}
	var candidates []string
	if s.Suggesting() {
		candidates = append(scope.Names(grammar.RelationshipType), Keys(s.relations)...)
	}
	if scope.Open() {
		s.Perhaps(ref.Pos, codeReqRelation, ref.Name, candidates, "%s has relationship %q, which may be in a file that is not at hand", e.of(), ref.Name)
		return true
	}
	s.Unknown(ref.Pos, codeReqRelation, ref.Name, candidates,
		"%s has relationship %q, which is neither a template nor a type", e.of(), ref.Name)
	return false
}

// refinesRelation checks a relationship against that of the definition.
func (s *Service) refinesRelation(e *Edge, ref grammar.Ref) bool {
	if e.Source.Owned() || e.Def == nil || e.Def.Relation == nil || !s.inherit(e.Relation).Whole || derives(e.Relation, e.Def.Relation) {
		return true
	}
	s.Errorf(ref.Pos, codeReqRefined, "%s has a relationship of type %q, which is not a %q", e.of(), e.Relation.Name, e.Def.Relation.Name)
	return false
}

// checkRelationTargets checks the ends of an edge against what its
// relationship's type allows, if that is not a normative one.
func (s *Service) checkRelationTargets(e *Edge) {
	for _, t := range s.Chain(e.Relation) {
		if t.Doc.Embedded {
			return
		}
		if len(t.Targets) > 0 && !s.allowsTarget(t, e) {
			s.Errorf(posOf(e), codeReqSource, "%s: %s leads to none of what %q has", e.of(), Quoted(t), e.Target.Name)
			return
		}
		if !s.allows(t.Doc, grammar.NodeType, t.TargetNodes, e.Target.Typ.Chain) {
			s.Errorf(posOf(e), codeReqSource, "%s: %s does not lead to nodes of type %q", e.of(), Quoted(t), e.Target.Type.Name)
			return
		}
		if !s.allows(t.Doc, grammar.NodeType, t.Sources, e.Source.Typ.Chain) {
			s.Errorf(posOf(e), codeReqSource, "%s: %s does not begin at nodes of type %q", e.of(), Quoted(t), e.Source.Type.Name)
			return
		}
	}
}

// allowsTarget tells whether the target has a capability that the relationship
// may lead to; up to 1.3 types of nodes are written there as well.
func (s *Service) allowsTarget(t *grammar.Type, e *Edge) bool {
	if s.allows(t.Doc, grammar.NodeType, slices.DeleteFunc(slices.Clone(t.Targets), func(r grammar.Ref) bool {
		return t.Doc.Scope().Lookup(grammar.NodeType, r.Name) == nil
	}), e.Target.Typ.Chain) && slices.ContainsFunc(t.Targets, func(r grammar.Ref) bool {
		return t.Doc.Scope().Lookup(grammar.NodeType, r.Name) != nil
	}) {
		return true
	}
	if e.capability != nil {
		return s.allows(t.Doc, grammar.CapabilityType, t.Targets, Ancestors(e.capability.Typ))
	}
	for _, c := range e.Target.Typ.Caps {
		if s.allows(t.Doc, grammar.CapabilityType, t.Targets, Ancestors(c.Typ)) {
			return true
		}
	}
	return false
}

// checkEdges evaluates and checks what is assigned to relationships.
func (s *Service) checkEdges() {
	for _, n := range s.Nodes {
		for _, e := range append(slices.Clip(n.Edges), n.dangling...) {
			if e.Properties == nil && e.inline == nil && n.Owned() {
				continue
			}
			h := e.holds()
			if h == nil {
				continue
			}
			h.check("")
			for _, name := range h.propertyNames() {
				v := h.property(name)
				if v.OK && v.Node.IsNull() && h.props[name].Required && !n.Owned() && !h.writtenNull(name) && !h.unread() {
					s.lacks(e, h, name)
				}
			}
			if e.inline != nil && len(e.inline.Interfaces) > 0 {
				faces := s.relationInterfaces(e.Relation, e.Def, n.Doc)
				s.checkInterfaces(e.inline.Interfaces, s.assignTo(faces, e.inline.Interfaces, n.Doc, h.of), h)
			}
		}
	}
}

// lacks reports a relationship without a value that its type requires. The 1.x
// standard's own examples leave out those of normative types, as long as they say
// nothing of the relationship.
func (s *Service) lacks(e *Edge, h *holder, name string) {
	report := s.Errorf
	if !second(e.Source.Doc) && h.props[name].Doc.Embedded && e.Properties == nil {
		report = s.Warnf
	}
	at := e.Pos
	if e.inline != nil {
		at = e.inline.Pos
	}
	report(at, codePropMissing, "%s lacks property %q, which %s requires", h.of, name, Quoted(e.Relation))
}

// isHost tells whether an edge leads to a host: by its relationship, or else by
// the capability that it asks for.
func (e *Edge) isHost() bool {
	s := e.Source.holder.s
	if e.Relation != nil {
		return ChainHas(s.Chain(e.Relation), "tosca.relationships.HostedOn")
	}
	return e.Def != nil && ChainHas(s.Chain(e.Def.Capability), "tosca.capabilities.Container")
}

// findHosts finds what each node is hosted on, and cuts what is hosted on
// itself.
func (s *Service) findHosts() {
	for _, n := range s.Nodes {
		n.Hosts, n.Host, n.walked = nil, nil, unwalked
		for _, e := range n.Edges {
			if e.isHost() {
				n.Hosts = append(n.Hosts, e)
			}
		}
		if len(n.Hosts) > 0 {
			n.Host = n.Hosts[0].Target
		}
	}
	for _, n := range s.Nodes {
		s.cutCycle(n)
	}
}

// cutCycle follows the hosts of a node, once for all that are on the way, and
// cuts a cycle where it closes.
func (s *Service) cutCycle(n *Node) {
	var way []*Node
	at := n
	for ; at != nil && at.walked == unwalked; at = at.Host {
		at.walked = walking
		way = append(way, at)
	}
	if at != nil && at.walked == walking {
		for _, m := range way[slices.Index(way, at):] {
			s.Errorf(m.Pos, codeReqCycle, "%s is hosted on itself, through %s", m.Of(), m.Host.Of())
		}
		way[len(way)-1].Host = nil
	}
	for _, m := range way {
		m.walked = walkedOver
	}
}
