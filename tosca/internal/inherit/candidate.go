package inherit

import (
	"slices"

	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
)

// anyOfType stands for any node or relationship of a type. Its values are known at run
// time only, so only definitions are known.
type anyOfType struct {
	s    *Index
	kind data.EntityKind
	of   string
	typ  *Type
}

// AnyNodeOf stands for any node of a type.
func (ix *Index) AnyNodeOf(t *grammar.Type) data.Entity {
	if t == nil || !ix.Inherit(t).Complete {
		return data.Anything
	}
	return &anyOfType{s: ix, kind: data.NodeEntity, of: "a node of " + Quoted(t), typ: ix.Inherit(t)}
}

// SelfOfType returns the meaning of SELF in a type. For capability types the standard
// does not say whether that is the node or the capability.
func (ix *Index) SelfOfType(t *grammar.Type) data.Entity {
	switch {
	case !t.Doc.V2():
		return data.Anything
	case t.Kind == grammar.NodeType:
		return ix.AnyNodeOf(t)
	case t.Kind == grammar.RelationshipType && ix.Inherit(t).Complete:
		return &anyOfType{s: ix, kind: data.RelationshipEntity, of: "a relationship of " + Quoted(t), typ: ix.Inherit(t)}
	}
	return data.Anything
}

func (c *anyOfType) Describe() (data.EntityKind, string) { return c.kind, c.of }

// Follow follows a step of a path.
func (c *anyOfType) Follow(step data.Step) (data.Entity, data.Answer) {
	if c.kind != data.NodeEntity {
		return nil, data.Open
	}
	flat := c.s.Flatten(c.typ.Type)
	switch step.Kind {
	case data.ToCapability:
		switch def := flat.Caps[step.Name]; {
		case def == nil:
			return nil, data.Missing
		case def.Complete:
			return capabilityOfAny{def}, data.Found
		}
	case data.ToRelationship:
		if flat.Requirement(step.Name) == nil {
			return nil, data.Missing
		}
	default:
	}
	return nil, data.Open
}

// Get returns the definition of a property or attribute.
func (c *anyOfType) Get(m data.Member, name ...string) (data.Value, data.Answer) {
	if m != data.Property && m != data.Attribute {
		return data.Value{}, data.Open
	}
	def := c.typ.Props[name[0]]
	if def == nil && m == data.Attribute {
		def = c.typ.Attrs[name[0]]
	}
	if def == nil && (m == data.Property || name[0] != "tosca_name") {
		return data.Value{}, data.Missing
	}
	return data.Value{Def: def}, data.Open
}

// Names lists properties and attributes, for messages.
func (c *anyOfType) Names(m data.Member, _ ...string) []string {
	return MemberNames(m, c.typ.PropertyNames(), c.typ.Attrs)
}

// capabilityOfAny stands for a capability of any node of a type.
type capabilityOfAny struct{ def *CapabilityDef }

func (c capabilityOfAny) Describe() (data.EntityKind, string) {
	return data.CapabilityEntity, "capability " + quote(c.def.Name)
}

func (c capabilityOfAny) Follow(data.Step) (data.Entity, data.Answer) { return nil, data.Open }

func (c capabilityOfAny) Get(m data.Member, name ...string) (data.Value, data.Answer) {
	def := c.def.Props[name[0]]
	if def == nil && m == data.Attribute {
		def = c.def.Attrs[name[0]]
	}
	if def == nil {
		return data.Value{}, data.Missing
	}
	return data.Value{Def: def}, data.Open
}

func (c capabilityOfAny) Names(m data.Member, _ ...string) []string {
	return MemberNames(m, Keys(c.def.Props), c.def.Attrs)
}

// ReadShort resolves an ambiguity of 1.3: a string in the place of a property definition
// is either the name of its type or the value of an inherited property (TOSCA 1.3,
// 3.6.10.6). It is a value if no such type exists and the property is inherited.
func (ix *Index) ReadShort() {
	for _, doc := range ix.Docs {
		if doc.Embedded || doc.Scope() == nil || doc.Scope().Open() || doc.V2() {
			continue
		}
		for _, types := range doc.Types {
			for _, t := range types {
				ix.readShortForms(t)
			}
		}
	}
}

func (ix *Index) readShortForms(t *grammar.Type) {
	of := func(t *grammar.Type) [][]*grammar.Property { return [][]*grammar.Property{t.Properties} }
	if slices.ContainsFunc(t.Properties, isText) {
		ix.resolveShortForms(t.Properties, t.Doc, Ancestors(t)[1:], of)
	}
	for _, d := range t.Capabilities {
		if !slices.ContainsFunc(d.Properties, isText) {
			continue
		}
		chain := Ancestors(t)
		for _, at := range chain {
			for _, above := range at.Capabilities {
				if above.Name == d.Name && above.Type.Name != "" {
					ix.resolveShortForms(d.Properties, t.Doc, Ancestors(at.Doc.Scope().Lookup(grammar.CapabilityType, above.Type.Name)), of)
				}
			}
		}
		ix.resolveShortForms(d.Properties, t.Doc, chain[1:], func(t *grammar.Type) (all [][]*grammar.Property) {
			for _, above := range t.Capabilities {
				if above.Name == d.Name {
					all = append(all, above.Properties)
				}
			}
			return all
		})
	}
}

func isText(p *grammar.Property) bool { return p.Short != nil && p.Type.Name != "" }

// resolveShortForms turns short forms that name no type into values, for properties that
// one of some types defines.
func (ix *Index) resolveShortForms(props []*grammar.Property, doc *grammar.Document, types []*grammar.Type, of func(*grammar.Type) [][]*grammar.Property) {
	for _, p := range props {
		name := p.Type.Name
		if !isText(p) || data.IsBuiltin(name, doc) || doc.Scope().Lookup(grammar.DataType, name) != nil {
			continue
		}
		for _, t := range types {
			for _, above := range of(t) {
				if !ix.Spend(1 + len(above)) {
					return
				}
				if slices.ContainsFunc(above, func(above *grammar.Property) bool { return above.Name == p.Name }) {
					p.Type, p.Value = grammar.Ref{}, p.Short
					if !doc.V13() {
						ix.Warnf(p.Short.Pos(), code.Shape, "a value in place of a definition needs TOSCA 1.3: it is read as the value of the inherited property")
					}
				}
			}
		}
	}
}

// ReadSchemas completes key and entry schemas of 2.0 without a type with that of the
// schema that they refine (TOSCA 2.0, 5.2 and 9.3). It reports schemas that refine none.
func (ix *Index) ReadSchemas() {
	for _, doc := range ix.Docs {
		if doc.Embedded || doc.Scope() == nil || !doc.V2() {
			continue
		}
		for _, types := range doc.Types {
			for _, t := range types {
				above := Ancestors(t)[1:]
				of := Quoted(t)
				ix.inheritType(t.Entry, of+": entry_schema", above, func(t *grammar.Type) *grammar.Schema { return t.Entry })
				ix.inheritType(t.Key, of+": key_schema", above, func(t *grammar.Type) *grammar.Schema { return t.Key })
				ix.typedAll(t.Properties, of, above, func(t *grammar.Type) []*grammar.Property { return t.Properties })
				ix.typedAll(t.Attributes, of, above, func(t *grammar.Type) []*grammar.Property { return t.Attributes })
				for _, d := range t.Capabilities {
					typ := doc.Scope().Lookup(grammar.CapabilityType, d.Type.Name)
					ix.typedAll(d.Properties, of+": capability "+quote(d.Name), Ancestors(typ), func(t *grammar.Type) []*grammar.Property { return t.Properties })
				}
			}
		}
	}
}

func (ix *Index) typedAll(props []*grammar.Property, of string, above []*grammar.Type, list func(*grammar.Type) []*grammar.Property) {
	for _, p := range props {
		find := func(schema func(*grammar.Property) *grammar.Schema) func(*grammar.Type) *grammar.Schema {
			return func(t *grammar.Type) *grammar.Schema {
				for _, other := range list(t) {
					if other.Name == p.Name {
						return schema(other)
					}
				}
				return nil
			}
		}
		of := of + ": " + quote(p.Name)
		entry := func(p *grammar.Property) *grammar.Schema { return p.EntrySchema }
		ix.inheritType(p.EntrySchema, of+": entry_schema", above, find(entry))
		ix.inheritType(p.KeySchema, of+": key_schema", above, find(func(p *grammar.Property) *grammar.Schema { return p.KeySchema }))
		if p.EntrySchema != nil {
			p.EntryType = p.EntrySchema.Type
		}
	}
}

// inheritType gives a schema the type of the nearest schema that it refines.
func (ix *Index) inheritType(s *grammar.Schema, of string, above []*grammar.Type, schema func(*grammar.Type) *grammar.Schema) {
	if s == nil || !s.Untyped || !ix.Spend(1+len(above)) {
		return
	}
	for _, t := range above {
		if from := schema(t); from != nil && from.Type.Name != "" {
			s.Type = grammar.Ref{Name: from.Type.Name, Pos: s.Pos}
			return
		}
	}
	ix.Errorf(s.Pos, code.Untyped, "%s has no type", of)
}
