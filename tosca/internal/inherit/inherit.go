package inherit

import (
	"cmp"
	"maps"
	"slices"

	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
)

// Type is a type of any kind with all that it inherits. Its definitions link to the
// definitions that they refine.
type Type struct {
	*grammar.Type
	Chain    []*grammar.Type // itself, its parent, and so on
	Complete bool            // all ancestors are known and readable
	Props    map[string]*data.Definition
	Attrs    map[string]*data.Definition
	ifaces   []*grammar.Type // of Chain, those with interfaces, root first
	sorted   []string        // the names of Props
}

// PropertyNames returns the names of the properties, sorted.
func (t *Type) PropertyNames() []string {
	if t.sorted == nil {
		t.sorted = Keys(t.Props)
	}
	return t.sorted
}

// NodeType is a node type with all that it inherits.
type NodeType struct {
	*Type
	Reqs   []*RequirementDef // in the order written, the parents' first
	Caps   map[string]*CapabilityDef
	ByName map[string]*RequirementDef
	sorted []string // the names of Caps
}

// CapabilityNames returns the names of the capabilities, sorted.
func (t *NodeType) CapabilityNames() []string {
	if t.sorted == nil {
		t.sorted = Keys(t.Caps)
	}
	return t.sorted
}

// RequirementDef is a requirement of a node type with all that it inherits. Fields are
// nil if undefined or unknown.
type RequirementDef struct {
	*grammar.RequirementDef
	Relation, Capability, Node *grammar.Type
	Advises                    bool   // Node is a recommendation of a normative type
	CapabilityName             string // if the definition names a capability, not its type
	Filters                    []*grammar.NodeFilter
	refines                    []refinement      // of its relationship, root first
	Doc                        *grammar.Document // of the last refinement
}

// refinement is a refinement of a requirement's relationship (TOSCA 2.0, 8.4).
type refinement struct {
	*grammar.RequirementDef
	doc *grammar.Document
}

// CapabilityDef is a capability of a node type with all that it inherits from its own
// type.
type CapabilityDef struct {
	*grammar.CapabilityDef
	Typ      *grammar.Type // nil if unknown (already reported)
	Props    map[string]*data.Definition
	Attrs    map[string]*data.Definition
	chain    []*grammar.Type // of Typ
	Complete bool            // all its members are known
	Doc      *grammar.Document
}

// Is reports whether the type, or one of its ancestors, has a name.
func (t *Type) Is(name string) bool { return ChainHas(t.Chain, name) }

// Requirement returns a requirement by its name, or nil.
func (t *NodeType) Requirement(name string) *RequirementDef { return t.ByName[name] }

// Inherit returns a type with all that it inherits, and caches it.
func (ix *Index) Inherit(t *grammar.Type) *Type {
	if t == nil {
		return nil
	}
	if made, ok := ix.types[t]; ok {
		return made
	}
	made := &Type{Type: t, Chain: Ancestors(t), Props: map[string]*data.Definition{}, Attrs: map[string]*data.Definition{}}
	ix.types[t] = made
	made.Complete = made.Chain[len(made.Chain)-1].DerivedFrom.Name == "" &&
		!slices.ContainsFunc(made.Chain, func(t *grammar.Type) bool { return t.Unread })
	for _, at := range slices.Backward(made.Chain) {
		if !ix.Spend(len(at.Properties) + len(at.Attributes)) {
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

// define adds definitions, which refine those of the same name.
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

// Flatten returns a node type with all that it inherits, and caches it.
func (ix *Index) Flatten(t *grammar.Type) *NodeType {
	if flat, ok := ix.flat[t]; ok {
		return flat
	}
	flat := &NodeType{Type: ix.Inherit(t), Caps: map[string]*CapabilityDef{}, ByName: map[string]*RequirementDef{}}
	ix.flat[t] = flat
	for _, at := range slices.Backward(flat.Chain) {
		if !ix.Spend(len(at.Requirements) + 10*len(at.Capabilities)) {
			break
		}
		for _, r := range at.Requirements {
			flat.addRequirement(r, at.Doc)
		}
		for _, d := range at.Capabilities {
			flat.Caps[d.Name] = ix.capability(flat.Caps[d.Name], d, at.Doc)
		}
	}
	return flat
}

// addRequirement adds a requirement, or refines the inherited one of the same name.
func (t *NodeType) addRequirement(r *grammar.RequirementDef, doc *grammar.Document) {
	scope := doc.Scope()
	made := RequirementDef{
		RequirementDef: r, Doc: doc,
		Relation:   scope.Lookup(grammar.RelationshipType, r.Relationship.Name),
		Capability: scope.Lookup(grammar.CapabilityType, r.Capability.Name),
		Node:       scope.Lookup(grammar.NodeType, r.Node.Name),
		Advises:    doc.Embedded,
	}
	if made.Capability == nil {
		made.CapabilityName = r.Capability.Name
	}
	if r.Filter != nil {
		made.Filters = []*grammar.NodeFilter{r.Filter}
	}
	if len(r.RelationProperties)+len(r.RelationAttributes) > 0 {
		made.refines = []refinement{{r, doc}}
	}
	old := t.Requirement(r.Name)
	if old == nil {
		t.ByName[r.Name] = &made
		t.Reqs = append(t.Reqs, &made)
		return
	}
	made.Relation = cmp.Or(made.Relation, old.Relation)
	if made.Capability == nil && made.CapabilityName == "" {
		made.Capability, made.CapabilityName = old.Capability, old.CapabilityName
	}
	if made.Node == nil {
		made.Node, made.Advises = old.Node, old.Advises
	}
	made.Filters = append(slices.Clone(old.Filters), made.Filters...)
	made.refines = append(slices.Clone(old.refines), made.refines...)
	if r.Counted.Line == 0 {
		of := *r
		of.Min, of.Max = old.Min, old.Max
		made.RequirementDef = &of
	}
	*old = made
}

// capability combines the definitions of a capability: of its type, of the parent node
// type, and its own.
func (ix *Index) capability(old *CapabilityDef, d *grammar.CapabilityDef, doc *grammar.Document) *CapabilityDef {
	made := &CapabilityDef{
		CapabilityDef: d, Doc: doc, Typ: doc.Scope().Lookup(grammar.CapabilityType, d.Type.Name),
		Props: map[string]*data.Definition{}, Attrs: map[string]*data.Definition{},
	}
	if d.Type.Name == "" && old != nil {
		made.Typ = old.Typ
	}
	if t := ix.Inherit(made.Typ); t != nil {
		made.chain, made.Complete = t.Chain, t.Complete
		for name, p := range t.Props {
			made.Props[name] = p
		}
		for name, p := range t.Attrs {
			made.Attrs[name] = p
		}
	}
	if old != nil && (d.Type.Name == "" || made.Typ == nil || old.Typ == nil || made.Typ.Same(old.Typ)) {
		redefine(made.Props, old.Props)
		redefine(made.Attrs, old.Attrs)
	}
	define(made.Props, d.Properties, doc)
	define(made.Attrs, d.Attributes, doc)
	return made
}

// redefine keeps the parent's refinements of a capability type's definitions.
func redefine(defs, old map[string]*data.Definition) {
	for name, p := range old {
		if defs[name] == nil || p.Refines != nil {
			defs[name] = p
		}
	}
}

// Refine returns the properties and attributes of a relationship type, refined by the
// requirement. Unknown ones are reported where they are written.
func (d *RequirementDef) Refine(t *Type) (props, attrs map[string]*data.Definition) {
	if len(d.refines) == 0 {
		return t.Props, t.Attrs
	}
	props, attrs = maps.Clone(t.Props), maps.Clone(t.Attrs)
	for _, r := range d.refines {
		define(props, refinementsOf(t.Props, r.RelationProperties), r.doc)
		define(attrs, refinementsOf(t.Attrs, r.RelationAttributes), r.doc)
	}
	return props, attrs
}

// refinementsOf returns the definitions that refine one of defs.
func refinementsOf(defs map[string]*data.Definition, more []*grammar.Property) []*grammar.Property {
	return slices.DeleteFunc(slices.Clone(more), func(p *grammar.Property) bool { return defs[p.Name] == nil })
}

// CapabilityOf returns the capability of a type, the first by name.
func (t *NodeType) CapabilityOf(typ *grammar.Type) *CapabilityDef {
	if typ == nil {
		return nil
	}
	for _, name := range t.CapabilityNames() {
		if c := t.Caps[name]; IsA(c.chain, typ) {
			return c
		}
	}
	return nil
}

// Unresolved reports whether a capability has an unknown type, and so may be of any type.
func (t *NodeType) Unresolved() bool {
	for _, c := range t.Caps {
		if c.Typ == nil || !c.Complete {
			return true
		}
	}
	return false
}
