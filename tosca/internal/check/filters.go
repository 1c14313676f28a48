package check

import (
	"cmp"

	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/inherit"
	"github.com/toskose/toskose/tosca/internal/resolve"
)

const nodeFilter = ": node_filter"

// checkFilter checks that what a filter names can be there, in nodes of a type;
// self is what SELF means in it, and of ends with its keyword.
func checkFilter(g *resolve.Graph, f *grammar.NodeFilter, t *inherit.NodeType, doc *grammar.Document, of string, self data.Entity) {
	if f == nil {
		return
	}
	if f.Validation != nil {
		g.Values.Condition(f.Validation, data.Place{Of: of, Doc: doc, Self: self})
	}
	if t == nil {
		return
	}
	some := func(has func(*inherit.NodeType) bool) bool { return g.Somewhere(t, has) }
	checkPropertyFilters(g, f.Properties, t.Props, doc, of, inherit.Quoted(t.Type.Type), func(name string) bool {
		return some(func(t *inherit.NodeType) bool { return t.Props[name] != nil })
	})
	for _, c := range f.Capabilities {
		typ := doc.Scope().Lookup(grammar.CapabilityType, c.Name)
		has := func(t *inherit.NodeType) *inherit.CapabilityDef { return cmp.Or(t.Caps[c.Name], t.CapabilityOf(typ)) }
		def := has(t)
		if def == nil {
			switch {
			case t.Vague() || some(func(t *inherit.NodeType) bool { return has(t) != nil }):
			default:
				g.Unknown(c.Pos, code.Filter, c.Name, t.CapabilityNames(), "%s names capability %q, which %s does not have", of, c.Name, inherit.Quoted(t.Type.Type))
			}
			continue
		}
		if def.Whole {
			checkPropertyFilters(g, c.Properties, def.Props, doc, of, "capability "+quote(c.Name), func(name string) bool {
				return some(func(t *inherit.NodeType) bool { d := has(t); return d != nil && d.Props[name] != nil })
			})
		}
	}
}

func checkPropertyFilters(g *resolve.Graph, filters []*grammar.PropertyFilter, known map[string]*data.Definition, doc *grammar.Document, of, owner string, elsewhere func(string) bool) {
	for _, p := range filters {
		def := known[p.Name]
		if def == nil {
			if elsewhere(p.Name) {
				continue
			}
			g.Unknown(p.Pos, code.Filter, p.Name, inherit.Candidates(g, known), "%s names property %q, which %s does not have", of, p.Name, owner)
			continue
		}
		g.Values.DeclareSchema(&grammar.Schema{Type: grammar.Ref{Name: def.TypeName(), Pos: p.Pos}, Constraints: p.Constraints}, typedIn(def), data.Place{Of: of + ": " + quote(p.Name), Doc: doc})
	}
}

// typedIn is the document in which a definition's type is named.
func typedIn(def *data.Definition) *grammar.Document {
	at := def
	for at.Schema.Type.Name == "" && at.Refines != nil {
		at = at.Refines
	}
	return at.Doc
}
