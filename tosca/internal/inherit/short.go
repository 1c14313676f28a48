package inherit

import (
	"slices"

	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
)

// ReadShort tells the values that types give to texts which they inherit from
// the short form of a definition, which is a text as well (TOSCA 1.3, 3.6.10.6):
// it is a value where it is not the name of a type, and there is something to refine.
func (ix *Index) ReadShort() {
	for _, doc := range ix.Docs {
		if doc.Embedded || doc.Scope() == nil || doc.Scope().Open() || doc.V2() {
			continue
		}
		for _, types := range doc.Types {
			for _, t := range types {
				ix.shortOf(t)
			}
		}
	}
}

func (ix *Index) shortOf(t *grammar.Type) {
	of := func(t *grammar.Type) [][]*grammar.Property { return [][]*grammar.Property{t.Properties} }
	if slices.ContainsFunc(t.Properties, isText) {
		ix.fix(t.Properties, t.Doc, Ancestors(t)[1:], of)
	}
	for _, d := range t.Capabilities {
		if !slices.ContainsFunc(d.Properties, isText) {
			continue
		}
		chain := Ancestors(t)
		for _, at := range chain {
			for _, above := range at.Capabilities {
				if above.Name == d.Name && above.Type.Name != "" {
					ix.fix(d.Properties, t.Doc, Ancestors(at.Doc.Scope().Lookup(grammar.CapabilityType, above.Type.Name)), of)
				}
			}
		}
		ix.fix(d.Properties, t.Doc, chain[1:], func(t *grammar.Type) (all [][]*grammar.Property) {
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

// fix makes values of the short forms that name no type, of those properties
// that one of some types has.
func (ix *Index) fix(props []*grammar.Property, doc *grammar.Document, types []*grammar.Type, of func(*grammar.Type) [][]*grammar.Property) {
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
						ix.Warnf(p.Short.Pos(), code.Shape, "a value in the place of a definition is of TOSCA 1.3: it is that of the property that is inherited")
					}
				}
			}
		}
	}
}

// ReadSchemas gives key and entry schemas of 2.0 the type that they leave out, where
// they refine one (TOSCA 2.0, 5.2 and 9.3), and reports those that refine none.
func (ix *Index) ReadSchemas() {
	for _, doc := range ix.Docs {
		if doc.Embedded || doc.Scope() == nil || !doc.V2() {
			continue
		}
		for _, types := range doc.Types {
			for _, t := range types {
				above := Ancestors(t)[1:]
				of := Quoted(t)
				ix.typed(t.Entry, of+": entry_schema", above, func(t *grammar.Type) *grammar.Schema { return t.Entry })
				ix.typed(t.Key, of+": key_schema", above, func(t *grammar.Type) *grammar.Schema { return t.Key })
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
		ix.typed(p.EntrySchema, of+": entry_schema", above, find(entry))
		ix.typed(p.KeySchema, of+": key_schema", above, find(func(p *grammar.Property) *grammar.Schema { return p.KeySchema }))
		if p.EntrySchema != nil {
			p.EntryType = p.EntrySchema.Type
		}
	}
}

// typed gives a schema the type of the nearest one above it.
func (ix *Index) typed(s *grammar.Schema, of string, above []*grammar.Type, schema func(*grammar.Type) *grammar.Schema) {
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
