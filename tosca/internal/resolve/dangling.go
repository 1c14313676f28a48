package resolve

import (
	"slices"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
)

// selfOfFilter is what SELF means in the filter of a requirement: the
// relationship with the node that is to be chosen (TOSCA 2.0, 8.6).
func (s *Service) selfOfFilter(e *Edge) data.Entity {
	if !second(e.Source.Doc) {
		return data.Anything
	}
	var target *grammar.Type
	if t := s.filtered(e); t != nil {
		target = t.Type.Type
	}
	return s.anyRelationOf(e.Source.Typ.Type.Type, e.Relation, target, s.sought(e))
}

// selfOfDefined is selfOfFilter for the filter of a definition.
func (s *Service) selfOfDefined(t *grammar.Type, r *grammar.RequirementDef) data.Entity {
	made := s.flatten(t).Requirement(r.Name)
	if !second(t.Doc) || made == nil || r.Filter == nil {
		return data.Anything
	}
	return s.anyRelationOf(t, made.Relation, made.Node, s.certain(made, t.Doc))
}

// certain is the capability that a definition leads to, where the node type that
// it names tells and no type is derived from the capability's, which might have
// more; nil otherwise.
func (s *Service) certain(r *RequirementDef, doc *grammar.Document) *CapabilityDef {
	to := s.wholeType(r.Node)
	if to == nil {
		return nil
	}
	c := to.Caps[r.Named]
	if c == nil {
		c = to.capabilityOf(r.Capability)
	}
	names := doc.Scope().Names(grammar.CapabilityType)
	if c == nil || !s.Spend(len(names)) || slices.ContainsFunc(names, func(name string) bool {
		t := doc.Scope().Lookup(grammar.CapabilityType, name)
		return t != c.Typ && derives(t, c.Typ)
	}) {
		return nil
	}
	return c
}

// sought is the capability that a requirement asks for, where the type of the
// node that will have it is known; nil otherwise.
func (s *Service) sought(e *Edge) *CapabilityDef {
	t := s.filtered(e)
	if t == nil || e.Def == nil {
		return nil
	}
	scope := e.Source.Doc.Scope()
	switch want := e.Capability.Name; {
	case t.Caps[want] != nil:
		return t.Caps[want]
	case want != "":
		return t.capabilityOf(scope.Lookup(grammar.CapabilityType, want))
	case e.Def.Named != "":
		return t.Caps[e.Def.Named]
	}
	return t.capabilityOf(e.Def.Capability)
}

// checkDangling checks what a requirement says that leads to no node template
// yet: the capability that it asks for, what it takes of it, and what it assigns
// to its relationship.
func (s *Service) checkDangling(e *Edge) {
	if !second(e.Source.Doc) || e.Source.Owned() || e.Def == nil {
		return
	}
	if e.Node.Name == "" && !s.checkSought(e) {
		return
	}
	if e.capability = s.sought(e); e.capability != nil {
		s.checkAllocation(e)
	} else if e.Capability.Name == "" {
		s.checkAllocated(e)
	}
	e.Source.dangling = append(e.Source.dangling, e)
}

// checkSought checks the capability that a requirement asks any node for: a type
// of that of the definition, or the name of one that some node type has.
func (s *Service) checkSought(e *Edge) bool {
	want, scope, demanded := e.Capability.Name, e.Source.Doc.Scope(), e.Def.Capability
	if want == "" || demanded == nil || !s.inherit(demanded).Whole {
		return true
	}
	if t := scope.Lookup(grammar.CapabilityType, want); t != nil {
		if !s.inherit(t).Whole || derives(t, demanded) {
			return true
		}
		s.Errorf(e.Capability.Pos, codeReqCapability, "%s asks for a capability of type %q, which is not a %q", e.of(), want, demanded.Name)
		return false
	}
	if scope.Open() {
		return true
	}
	for _, name := range scope.Names(grammar.NodeType) {
		t := s.wholeType(scope.Lookup(grammar.NodeType, name))
		if t == nil || !s.Spend(1+len(t.Caps)) {
			return true
		}
		if c := t.Caps[want]; c != nil && (c.Typ == nil || derives(c.Typ, demanded)) {
			return true
		}
	}
	s.Unknown(e.Capability.Pos, codeReqCapability, want, scope.Names(grammar.CapabilityType),
		"%s asks for capability %q, which is neither a type nor what a node type has", e.of(), want)
	return false
}

// checkAllocated checks that what a requirement takes of any capability is a
// property of its type, or of one that is derived from that.
func (s *Service) checkAllocated(e *Edge) {
	if e.Def.Capability == nil || !s.inherit(e.Def.Capability).Whole || e.Source.Doc.Scope().Open() {
		return
	}
	scope := e.Source.Doc.Scope()
	for k := range e.Allocation.Pairs() {
		has := slices.ContainsFunc(scope.Names(grammar.CapabilityType), func(name string) bool {
			t := scope.Lookup(grammar.CapabilityType, name)
			return !s.Spend(perCandidate) || derives(t, e.Def.Capability) && s.inherit(t).Props[k.Text] != nil
		})
		if !has {
			s.Unknown(k.Pos(), codeAllocation, k.Text, suggestable(s, s.inherit(e.Def.Capability).Props), "%s: allocation of %q: %s has no such property",
				e.of(), k.Text, Quoted(e.Def.Capability))
		}
	}
}

// checkFulfilled checks that a node which a requirement names passes its filters
// and those of the definition (TOSCA 2.0, 8.6). What is known only at run time
// may.
func (s *Service) checkFulfilled(e *Edge) {
	if !second(e.Source.Doc) || e.Source.Owned() || e.Target.selected() {
		return
	}
	filters := []*grammar.NodeFilter{e.NodeFilter}
	if e.Def != nil {
		filters = append(filters, e.Def.Filters...)
	}
	for _, f := range filters {
		if f == nil || f.Validation == nil {
			continue
		}
		quiet := &data.Evaluator{Collector: &diag.Collector{}, World: s, Spend: s.Spend}
		v := quiet.Condition(f.Validation, data.Place{Of: e.of(), Doc: e.Source.Doc, Self: e})
		if v.OK && v.Later == nil && v.Node != nil && v.Node.Text == "false" {
			s.Errorf(posOf(e), codeReqKind, "%s names %q, which does not pass the node_filter %s", e.of(), e.Target.Name, data.Show(f.Validation))
		}
	}
}
