package resolve

import (
	"cmp"
	"slices"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
)

// checkRequirementDef checks a requirement where a node type defines it.
func (s *Service) checkRequirementDef(t *grammar.Type, r *grammar.RequirementDef, of string) {
	rel := s.known(t.Doc, grammar.RelationshipType, r.Relationship, of)
	node := s.known(t.Doc, grammar.NodeType, r.Node, of)
	s.checkRequiredCapability(t, r, node, of)
	if rel != nil && len(r.Interfaces) > 0 {
		s.checkInterfaceDefs(t, nil, of)
		faces := s.typeInterfaces(s.inherit(rel))
		for _, i := range r.Interfaces {
			if find(faces, i.Name, t.Doc) == nil && i.Type.Name == "" && s.inherit(rel).Whole {
				s.Unknown(i.Pos, codeIfaceUnknown, i.Name, suggestable(s, faces), "%s: %s has no interface %q", of, Quoted(rel), i.Name)
			}
			s.known(t.Doc, grammar.InterfaceType, i.Type, of)
		}
	}
	s.checkFilter(r.Filter, s.wholeType(node), t.Doc, of+nodeFilter, s.selfOfDefined(t, r))
	if !s.inherit(t).Whole {
		s.checkRefinedRelation(t, rel, r, of)
		return
	}
	made := s.flatten(t).Requirement(r.Name)
	if made == nil {
		return // too much work, and said so
	}
	s.checkRefinedRelation(t, cmp.Or(rel, made.Relation), r, of)
	if made.Capability == nil && made.Named == "" && t.DerivedFrom.Name != "" && r.Capability.Name == "" { // else the grammar says so
		s.Errorf(r.Pos, codeReqDefined, "%s names no capability", of)
	}
	if !second(t.Doc) {
		return
	}
	if made.Relation == nil && r.Relationship.Name == "" && t.DerivedFrom.Name != "" {
		s.Errorf(r.Pos, codeReqDefined, "%s names no relationship", of)
	}
	s.checkFitting(t, made, cmp.Or(r.Relationship.Pos, r.Pos), of)
	to := s.wholeType(made.Node)
	if to == nil || made.Capability == nil || !s.inherit(made.Capability).Whole || to.vague() || r.Capability.Name == "" && r.Node.Name == "" {
		return
	}
	if to.capabilityOf(made.Capability) == nil {
		s.Errorf(cmp.Or(r.Node.Pos, r.Pos), codeReqDefined, "%s: %s has no capability of type %q", of, Quoted(made.Node), made.Capability.Name)
	}
}

// checkRequiredCapability: a requirement asks for a type of capability, or for
// one of the node type that it names.
func (s *Service) checkRequiredCapability(t *grammar.Type, r *grammar.RequirementDef, node *grammar.Type, of string) {
	name := r.Capability.Name
	if name == "" {
		return
	}
	typ := t.Doc.Scope().Lookup(grammar.CapabilityType, name)
	if made := s.wholeType(node); made != nil {
		switch {
		case made.Caps[name] != nil:
			return
		case typ == nil:
			s.Unknown(r.Capability.Pos, codeTypeUnknown, name, append(t.Doc.Scope().Names(grammar.CapabilityType), made.capabilities()...),
				"%s: unknown capability type %q", of, name)
			return
		}
	}
	s.known(t.Doc, grammar.CapabilityType, r.Capability, of)
}

// checkCapabilityDef checks a capability where a node type defines it: it is for
// nodes of types that its own type is for (TOSCA 1.0, 3.6.1.3; 2.0, 8.2), and
// since 2.0 it has the properties of its type and no others.
func (s *Service) checkCapabilityDef(t *grammar.Type, d *grammar.CapabilityDef, of string) {
	s.known(t.Doc, grammar.CapabilityType, d.Type, of)
	s.allKnown(t.Doc, d.Sources, of, grammar.NodeType)
	s.allKnown(t.Doc, d.Relations, of, grammar.RelationshipType)
	typ := s.flatten(t).Caps[d.Name]
	if typ == nil || typ.Typ == nil || !typ.whole {
		return
	}
	made := s.inherit(typ.Typ)
	r := &refiner{Service: s, t: t, strict: true}
	r.within(d.Sources, made.list(func(t *grammar.Type) []grammar.Ref { return t.Sources }), []grammar.Kind{grammar.NodeType}, of)
	if !second(t.Doc) {
		return
	}
	s.allRefined(d.Properties, made.Props, of, "property", typ.Typ)
	s.allRefined(d.Attributes, made.Attrs, of, "attribute", typ.Typ)
	if parent := s.wholeType(t.Doc.Scope().Lookup(t.Kind, t.DerivedFrom.Name)); parent == nil || parent.Caps[d.Name] == nil {
		r.properties(d.Properties, made.Props, of, "property") // else checked against the parent's
		r.properties(d.Attributes, made.Attrs, of, "attribute")
	}
	r.within(d.Relations, made.list(func(t *grammar.Type) []grammar.Ref { return t.Relations }), []grammar.Kind{grammar.RelationshipType}, of)
}

// checkRefinedRelation checks what a requirement refines of the relationship that
// it makes: it has the properties of its type and no others (TOSCA 2.0, 8.4), as
// they were refined by the parent of the node type.
func (s *Service) checkRefinedRelation(t, rel *grammar.Type, d *grammar.RequirementDef, of string) {
	if !second(t.Doc) || rel == nil || !s.inherit(rel).Whole {
		return
	}
	of += ": relationship"
	made := s.inherit(rel)
	props, attrs := made.Props, made.Attrs
	if parent := s.wholeType(t.Doc.Scope().Lookup(t.Kind, t.DerivedFrom.Name)); parent != nil && parent.Requirement(d.Name) != nil {
		props, attrs = parent.Requirement(d.Name).refine(made)
	}
	s.allRefined(d.RelationProperties, props, of, "property", rel)
	s.allRefined(d.RelationAttributes, attrs, of, "attribute", rel)
	r := &refiner{Service: s, t: t, strict: true}
	r.properties(d.RelationProperties, props, of, "property")
	r.properties(d.RelationAttributes, attrs, of, "attribute")
	for _, p := range d.RelationProperties {
		def := data.From(p, t.Doc)
		if def.Refines = props[p.Name]; def.Refines != nil {
			s.eval.Declare(def, data.Place{Of: of + ": " + quote(p.Name)})
		}
	}
	faces := s.typeInterfaces(made)
	for _, i := range d.Interfaces {
		face := find(faces, i.Name, t.Doc)
		if face == nil || face.vague {
			continue
		}
		for _, o := range slices.Concat(i.Operations, i.Notifications) {
			if face.Operations[o.Name] == nil {
				s.Unknown(o.Pos, codeOpUnknown, o.Name, suggestable(s, face.Operations), "%s: interface %q has no operation %q", of, i.Name, o.Name)
			}
		}
	}
}

// allRefined checks that definitions refine what is there already.
func (s *Service) allRefined(props []*grammar.Property, defs map[string]*data.Definition, of, what string, typ *grammar.Type) {
	for _, p := range props {
		s.onlyRefined(p, defs, of, what, typ)
	}
}

func (s *Service) onlyRefined(p *grammar.Property, defs map[string]*data.Definition, of, what string, typ *grammar.Type) {
	if defs[p.Name] == nil {
		s.Unknown(p.Pos, codePropUnknown, p.Name, suggestable(s, defs), "%s: %s has no %s %q", of, Quoted(typ), what, p.Name)
	}
}

// checkFitting warns of a requirement that what its types allow can never
// fulfil: the ends may be of these or of derived types. The standard forbids it
// only where a node template has it.
func (s *Service) checkFitting(t *grammar.Type, r *RequirementDef, at diag.Position, of string) {
	for _, rel := range Ancestors(r.Relation) {
		if rel.Doc.Embedded || !s.overlap(rel.Doc, grammar.CapabilityType, rel.Targets, r.Capability) {
			s.unfit(rel, at, of, r.Capability)
			return
		}
		if !s.overlap(rel.Doc, grammar.NodeType, rel.TargetNodes, r.Node) {
			s.unfit(rel, at, of, r.Node)
			return
		}
		if !s.overlap(rel.Doc, grammar.NodeType, rel.Sources, t) {
			s.unfit(rel, at, of, t)
			return
		}
	}
	for _, c := range Ancestors(r.Capability) {
		if c.Doc.Embedded || !s.overlap(c.Doc, grammar.RelationshipType, c.Relations, r.Relation) {
			s.unfit(c, at, of, r.Relation)
			return
		}
		if !s.overlap(c.Doc, grammar.NodeType, c.Sources, t) {
			s.unfit(c, at, of, t)
			return
		}
	}
}

func (s *Service) unfit(by *grammar.Type, at diag.Position, of string, t *grammar.Type) {
	if !by.Doc.Embedded {
		s.Warnf(at, codeReqSource, "%s: %s is not for %s, so no node can fulfil it", of, Quoted(by), Quoted(t))
	}
}

// overlap tells whether something can be of a type and of one of a list, which
// may be empty. What is not known may be anything.
func (s *Service) overlap(doc *grammar.Document, kind grammar.Kind, list []grammar.Ref, t *grammar.Type) bool {
	if t == nil || len(list) == 0 || !s.Spend(perCandidate*len(list)) || !s.inherit(t).Whole {
		return true
	}
	for _, ref := range list {
		other := doc.Scope().Lookup(kind, ref.Name)
		if other == nil || !s.inherit(other).Whole || derives(t, other) || derives(other, t) {
			return true
		}
	}
	return false
}
