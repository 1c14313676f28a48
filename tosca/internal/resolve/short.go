package resolve

import (
	"slices"

	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
)

// readShort tells the values that types give to texts which they inherit from
// the short form of a definition, which is a text as well (TOSCA 1.3, 3.6.10.6):
// it is a value where it is no name of a type, and there is something to refine.
func (s *Service) readShort() {
	for _, doc := range s.docs {
		if doc.Embedded || doc.Scope() == nil || doc.Scope().Open() || !third(doc) {
			continue
		}
		for _, types := range doc.Types {
			for _, t := range types {
				s.shortOf(t)
			}
		}
	}
}

func (s *Service) shortOf(t *grammar.Type) {
	of := func(t *grammar.Type) [][]*grammar.Property { return [][]*grammar.Property{t.Properties} }
	if slices.ContainsFunc(t.Properties, isText) {
		s.fix(t.Properties, t.Doc, Ancestors(t)[1:], of)
	}
	for _, d := range t.Capabilities {
		if !slices.ContainsFunc(d.Properties, isText) {
			continue
		}
		chain := Ancestors(t)
		for _, at := range chain {
			for _, above := range at.Capabilities {
				if above.Name == d.Name && above.Type.Name != "" {
					s.fix(d.Properties, t.Doc, Ancestors(at.Doc.Scope().Lookup(grammar.CapabilityType, above.Type.Name)), of)
				}
			}
		}
		s.fix(d.Properties, t.Doc, chain[1:], func(t *grammar.Type) (all [][]*grammar.Property) {
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
func (s *Service) fix(props []*grammar.Property, doc *grammar.Document, types []*grammar.Type, of func(*grammar.Type) [][]*grammar.Property) {
	for _, p := range props {
		name := p.Type.Name
		if !isText(p) || data.IsBuiltin(name, doc) || doc.Scope().Lookup(grammar.DataType, name) != nil {
			continue
		}
		for _, t := range types {
			for _, above := range of(t) {
				if !s.Spend(1 + len(above)) {
					return
				}
				if slices.ContainsFunc(above, func(above *grammar.Property) bool { return above.Name == p.Name }) {
					p.Type, p.Value = grammar.Ref{}, p.Short
				}
			}
		}
	}
}
