package resolve

import (
	"cmp"
	"slices"

	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
)

// Type is a type of any kind with what it inherits. Where it refines what it
// inherits, its definitions lead on to the parents'.
type Type struct {
	*grammar.Type
	Chain  []*grammar.Type // itself, its parent, …, the one that is derived from nothing
	Whole  bool            // all of its ancestors are known, and could be read
	Props  map[string]*data.Definition
	Attrs  map[string]*data.Definition
	ifaces []*grammar.Type // of Chain, those that have interfaces, eldest first
	sorted []string        // the names of Props
}

// properties gives the names of the properties, sorted.
func (t *Type) properties() []string {
	if t.sorted == nil {
		t.sorted = Keys(t.Props)
	}
	return t.sorted
}

// Chain gives a type with its ancestors, as Ancestors does, once; none for nil.
func (s *Service) Chain(t *grammar.Type) []*grammar.Type {
	if t == nil {
		return nil
	}
	return s.inherit(t).Chain
}

// NodeType is a node type with all that it inherits.
type NodeType struct {
	*Type
	Reqs   []*RequirementDef // in the order written, the parents' first
	Caps   map[string]*CapabilityDef
	byName map[string]*RequirementDef
	sorted []string // the names of Caps
}

// capabilities gives the names of the capabilities, sorted.
func (t *NodeType) capabilities() []string {
	if t.sorted == nil {
		t.sorted = Keys(t.Caps)
	}
	return t.sorted
}

// RequirementDef is a requirement of a node type with what it inherits; it has
// nil for what is not said, or unknown.
type RequirementDef struct {
	*grammar.RequirementDef
	Relation, Capability, Node *grammar.Type
	Named                      string // the capability, where its name is written and not its type
	Filters                    []*grammar.NodeFilter
	refines                    []refinement      // of its relationship, the eldest first
	doc                        *grammar.Document // where it is written last
}

// refinement is what a requirement's definition says of the relationship that it
// makes (TOSCA 2.0, 8.4).
type refinement struct {
	*grammar.RequirementDef
	doc *grammar.Document
}

// CapabilityDef is a capability of a node type with what its own type gives it.
type CapabilityDef struct {
	*grammar.CapabilityDef
	Typ   *grammar.Type // nil: unknown, and said so
	Props map[string]*data.Definition
	Attrs map[string]*data.Definition
	chain []*grammar.Type // of Typ
	whole bool            // all that it could have is known
	doc   *grammar.Document

	incoming map[*Node]int // edges that lead to it, where there may be only so many
}

// Is tells whether the type is, or derives from, the one named.
func (t *Type) Is(name string) bool { return ChainHas(t.Chain, name) }

// Requirement finds a requirement of the type by its name; nil if there is none.
func (t *NodeType) Requirement(name string) *RequirementDef { return t.byName[name] }

// inherit puts together what a type and its ancestors define, once.
func (s *Service) inherit(t *grammar.Type) *Type {
	if t == nil {
		return nil
	}
	if made, ok := s.types[t]; ok {
		return made
	}
	made := &Type{Type: t, Chain: Ancestors(t), Props: map[string]*data.Definition{}, Attrs: map[string]*data.Definition{}}
	s.types[t] = made
	made.Whole = made.Chain[len(made.Chain)-1].DerivedFrom.Name == "" &&
		!slices.ContainsFunc(made.Chain, func(t *grammar.Type) bool { return t.Unread })
	for _, at := range slices.Backward(made.Chain) {
		if !s.Spend(len(at.Properties) + len(at.Attributes)) {
			break
		}
		define(made.Props, at.Properties, at.Doc)
		define(made.Attrs, at.Attributes, at.Doc)
		if len(at.Interfaces) > 0 {
			made.ifaces = append(made.ifaces, at)
		}
	}
	return made
}

// define adds definitions to those below them, which they refine.
func define(defs map[string]*data.Definition, more []*grammar.Property, doc *grammar.Document) {
	for _, p := range more {
		made := data.From(p, doc)
		if old := defs[p.Name]; old != nil {
			made.Refines = old
			if p.RequiredPos.Line == 0 {
				made.Required = old.Required
			}
		}
		defs[p.Name] = made
	}
}

// flatten makes a node type with all that it inherits, once.
func (s *Service) flatten(t *grammar.Type) *NodeType {
	if flat, ok := s.flat[t]; ok {
		return flat
	}
	flat := &NodeType{Type: s.inherit(t), Caps: map[string]*CapabilityDef{}, byName: map[string]*RequirementDef{}}
	s.flat[t] = flat
	for _, at := range slices.Backward(flat.Chain) {
		if !s.Spend(len(at.Requirements) + 10*len(at.Capabilities)) {
			break
		}
		for _, r := range at.Requirements {
			flat.require(r, at.Doc)
		}
		for _, d := range at.Capabilities {
			flat.Caps[d.Name] = s.capability(flat.Caps[d.Name], d, at.Doc)
		}
	}
	return flat
}

// require adds a requirement; one of the same name refines the parent's, and
// what it leaves out stays.
func (t *NodeType) require(r *grammar.RequirementDef, doc *grammar.Document) {
	scope := doc.Scope()
	made := RequirementDef{
		RequirementDef: r, doc: doc,
		Relation:   scope.Lookup(grammar.RelationshipType, r.Relationship.Name),
		Capability: scope.Lookup(grammar.CapabilityType, r.Capability.Name),
		Node:       scope.Lookup(grammar.NodeType, r.Node.Name),
	}
	if made.Capability == nil {
		made.Named = r.Capability.Name
	}
	if r.Filter != nil {
		made.Filters = []*grammar.NodeFilter{r.Filter}
	}
	if len(r.RelationProperties)+len(r.RelationAttributes) > 0 {
		made.refines = []refinement{{r, doc}}
	}
	old := t.Requirement(r.Name)
	if old == nil {
		t.byName[r.Name] = &made
		t.Reqs = append(t.Reqs, &made)
		return
	}
	made.Relation = cmp.Or(made.Relation, old.Relation)
	if made.Capability == nil && made.Named == "" {
		made.Capability, made.Named = old.Capability, old.Named
	}
	made.Node = cmp.Or(made.Node, old.Node)
	made.Filters = append(slices.Clone(old.Filters), made.Filters...)
	made.refines = append(slices.Clone(old.refines), made.refines...)
	if r.Counted.Line == 0 {
		of := *r
		of.Min, of.Max = old.Min, old.Max
		made.RequirementDef = &of
	}
	*old = made
}

// capability puts a capability together: what its type gives it, what the
// parent's definition of the same name says, and its own.
func (s *Service) capability(old *CapabilityDef, d *grammar.CapabilityDef, doc *grammar.Document) *CapabilityDef {
	made := &CapabilityDef{
		CapabilityDef: d, doc: doc, Typ: doc.Scope().Lookup(grammar.CapabilityType, d.Type.Name),
		Props: map[string]*data.Definition{}, Attrs: map[string]*data.Definition{},
	}
	if d.Type.Name == "" && old != nil {
		made.Typ = old.Typ
	}
	if t := s.inherit(made.Typ); t != nil {
		made.chain, made.whole = t.Chain, t.Whole
		for name, p := range t.Props {
			made.Props[name] = p
		}
		for name, p := range t.Attrs {
			made.Attrs[name] = p
		}
	}
	if old != nil {
		redefine(made.Props, old.Props)
		redefine(made.Attrs, old.Attrs)
	}
	define(made.Props, d.Properties, doc)
	define(made.Attrs, d.Attributes, doc)
	return made
}

// redefine keeps what a definition of the parent added to that of the
// capability's type.
func redefine(defs, old map[string]*data.Definition) {
	for name, p := range old {
		if defs[name] == nil || p.Refines != nil {
			defs[name] = p
		}
	}
}
