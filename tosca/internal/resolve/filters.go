package resolve

import (
	"cmp"
	"slices"
	"strings"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
)

// filtered is the type of the nodes that a requirement's filter chooses from;
// nil where it may be any.
func (s *Service) filtered(e *Edge) *NodeType {
	if t := s.byName[e.Node.Name]; t != nil {
		return t.Typ
	}
	t := e.Source.Doc.Scope().Lookup(grammar.NodeType, e.Node.Name)
	if t == nil && e.Def != nil && e.Node.Name == "" {
		t = e.Def.Node
	}
	return s.wholeType(t)
}

func (s *Service) wholeType(t *grammar.Type) *NodeType {
	if t == nil || !s.inherit(t).Whole {
		return nil
	}
	return s.flatten(t)
}

const nodeFilter = ": node_filter"

// checkFilter checks that what a filter names can be there, in nodes of a type;
// self is what SELF means in it, and of ends with its keyword.
func (s *Service) checkFilter(f *grammar.NodeFilter, t *NodeType, doc *grammar.Document, of string, self data.Entity) {
	if f == nil {
		return
	}
	if f.Validation != nil {
		s.eval.Condition(f.Validation, data.Place{Of: of, Doc: doc, Self: self})
	}
	if t == nil {
		return
	}
	some := func(has func(*NodeType) bool) bool { return s.somewhere(t, has) }
	s.checkPropertyFilters(f.Properties, t.Props, doc, of, Quoted(t.Type.Type), func(name string) bool {
		return some(func(t *NodeType) bool { return t.Props[name] != nil })
	})
	for _, c := range f.Capabilities {
		typ := doc.Scope().Lookup(grammar.CapabilityType, c.Name)
		has := func(t *NodeType) *CapabilityDef { return cmp.Or(t.Caps[c.Name], t.capabilityOf(typ)) }
		def := has(t)
		if def == nil {
			switch {
			case t.vague() || some(func(t *NodeType) bool { return has(t) != nil }):
			case strings.Contains(c.Name, ".") && !second(doc): // the type of one that the standard's own example does not define (TOSCA 1.3, 3.8.2.3.3)
				s.Warnf(c.Pos, codeFilter, "%s names capability %q, which %s does not have", of, c.Name, Quoted(t.Type.Type))
			default:
				s.Unknown(c.Pos, codeFilter, c.Name, t.capabilities(), "%s names capability %q, which %s does not have", of, c.Name, Quoted(t.Type.Type))
			}
			continue
		}
		if def.whole {
			s.checkPropertyFilters(c.Properties, def.Props, doc, of, "capability "+quote(c.Name), func(name string) bool {
				return some(func(t *NodeType) bool { d := has(t); return d != nil && d.Props[name] != nil })
			})
		}
	}
}

// somewhere tells whether one of the node types that are derived from a type
// has what a filter names: it then chooses among those.
func (s *Service) somewhere(t *NodeType, has func(*NodeType) bool) bool {
	for _, doc := range s.docs {
		for _, other := range doc.Types[grammar.NodeType] {
			if !s.Spend(perCandidate) {
				return true
			}
			if made := s.inherit(other); slices.ContainsFunc(made.Chain, t.Same) && (!made.Whole || has(s.flatten(other))) {
				return true
			}
		}
	}
	return false
}

func (s *Service) checkPropertyFilters(filters []*grammar.PropertyFilter, known map[string]*data.Definition, doc *grammar.Document, of, owner string, elsewhere func(string) bool) {
	for _, p := range filters {
		def := known[p.Name]
		if def == nil {
			if elsewhere(p.Name) {
				continue
			}
			s.Unknown(p.Pos, codeFilter, p.Name, suggestable(s, known), "%s names property %q, which %s does not have", of, p.Name, owner)
			continue
		}
		s.eval.DeclareSchema(&grammar.Schema{Type: grammar.Ref{Name: def.TypeName(), Pos: p.Pos}, Constraints: p.Constraints}, typedIn(def), data.Place{Of: of + ": " + quote(p.Name), Doc: doc})
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

// perCandidate is the work of looking at what a filter may choose.
const perCandidate = 16

// perFit is the work of comparing a node with a filter.
const perFit = 64

// fill gives requirements that are left to a filter the one node of the
// topology that fulfils it. Where there are several, the choice is left open.
func (s *Service) fill() {
	filled := false
	quiet := (&data.Evaluator{Collector: &diag.Collector{}, World: s, Spend: s.Spend}).Mute()
	for _, e := range s.filters {
		if !s.Spend(perFit * len(s.Nodes)) {
			return
		}
		var found []*Node
		for _, n := range s.Nodes {
			if n != e.Source && n.Typ != nil && n.Owned() == e.Source.Owned() && s.fits(quiet, e, n) {
				found = append(found, n)
			}
		}
		switch {
		case len(found) == 1:
			e.Target = found[0]
			if s.fulfils(e) {
				e.Source.Edges = append(e.Source.Edges, e)
				delete(e.Source.open, e.Name)
				filled = true
			}
		case len(found) > 1:
			s.leave(e, "%s is left to a node_filter that %q and %q fulfil, so the topology is incomplete", e.of(), found[0].Name, found[1].Name)
		case e.Source.Owned():
			s.leave(e, "%s is left to a node_filter that nothing in the topology fulfils, so it is incomplete", e.of())
		}
	}
	if filled {
		s.findHosts()
	}
}

func (s *Service) leave(e *Edge, format string, args ...any) {
	if e.Source.Owned() {
		s.Incomplete(e.NodeFilter.Pos, codeReqAbstract, format, args...)
		return
	}
	s.Warnf(e.NodeFilter.Pos, codeReqAbstract, format, args...)
}

// fits tells whether a node can be what a requirement's filters choose.
func (s *Service) fits(quiet *data.Evaluator, e *Edge, n *Node) bool {
	filters := []*grammar.NodeFilter{e.NodeFilter}
	named := e.Source.Doc.Scope().Lookup(grammar.NodeType, e.Node.Name)
	if named != nil && !isA(n.Typ.Chain, named) {
		return false
	}
	if e.Def != nil {
		filters = append(filters, e.Def.Filters...)
		if e.Def.Node != nil && !isA(n.Typ.Chain, e.Def.Node) {
			return false
		}
		if e.Def.Capability != nil && n.Typ.capabilityOf(e.Def.Capability) == nil {
			return false
		}
	}
	for _, f := range filters {
		if !s.passes(quiet, f, e, n) {
			return false
		}
	}
	return true
}

// passes tells whether a node fulfils a filter. What is known only at run time
// may: only what is known to break it does not.
func (s *Service) passes(quiet *data.Evaluator, f *grammar.NodeFilter, e *Edge, n *Node) bool {
	if f.Validation != nil {
		candidate := *e
		candidate.Target = n
		v := quiet.Condition(f.Validation, data.Place{Of: e.of(), Doc: e.Source.Doc, Self: &candidate})
		return v.OK && (v.Later != nil || v.Node != nil && v.Node.Text == "true")
	}
	if !keeps(quiet, f.Properties, &n.holder) {
		return false
	}
	for _, c := range f.Capabilities {
		has := n.capability(c.Name)
		if has == nil {
			def := n.Typ.capabilityOf(e.Source.Doc.Scope().Lookup(grammar.CapabilityType, c.Name))
			if def == nil {
				return false
			}
			has = n.capability(def.Name)
		}
		if !keeps(quiet, c.Properties, &has.holder) {
			return false
		}
	}
	return true
}

func keeps(quiet *data.Evaluator, filters []*grammar.PropertyFilter, h *holder) bool {
	for _, f := range filters {
		def := h.props[f.Name]
		if def == nil {
			return false
		}
		v := h.property(f.Name)
		if !v.OK || v.Later == nil && v.Node.IsNull() {
			return false
		}
		if v.Later != nil {
			continue
		}
		want := &data.Definition{Schema: &grammar.Schema{Constraints: f.Constraints}, Doc: def.Doc, Refines: def}
		if !quiet.Check(v.Node, want, h.place(h.of)) {
			return false
		}
	}
	return true
}
