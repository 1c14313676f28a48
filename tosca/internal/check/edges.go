package check

import (
	"cmp"
	"math/big"
	"slices"

	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/inherit"
	"github.com/toskose/toskose/tosca/internal/resolve"
)

// checkUnmet checks a requirement without a target node: the requested capability, the
// allocation, and assignments to the relationship.
func checkUnmet(g *resolve.Graph, e *resolve.Edge) {
	if !e.Open || !e.Source.Doc.V2() || e.Source.Owned() || e.Def == nil || e.Node.Name == "" && !checkRequestedCapability(g, e) {
		return
	}
	if e.Provided != nil {
		checkAllocation(g, e, nil)
	}
	checkEdge(g, e)
}

// checkRequestedCapability checks the capability that a requirement requests of any
// node: a type derived from the definition's, or a name that a node type has.
func checkRequestedCapability(g *resolve.Graph, e *resolve.Edge) bool {
	want, scope, demanded := e.Capability.Name, e.Source.Doc.Scope(), e.Def.Capability
	if want == "" || demanded == nil || !g.Inherit(demanded).Complete {
		return true
	}
	if t := scope.Lookup(grammar.CapabilityType, want); t != nil {
		if !g.Inherit(t).Complete || inherit.Derives(t, demanded) {
			return true
		}
		g.Errorf(e.Capability.Pos, code.ReqCapability, "%s asks for a capability of type %q, which is not a %q", e.Of(), want, demanded.Name)
		return false
	}
	if scope.Open() {
		return true
	}
	for _, name := range scope.Names(grammar.NodeType) {
		t := g.WholeNodeType(scope.Lookup(grammar.NodeType, name))
		if t == nil || !g.Spend(1+len(t.Caps)) {
			return true
		}
		if c := t.Caps[want]; c != nil && (c.Typ == nil || inherit.Derives(c.Typ, demanded)) {
			return true
		}
	}
	g.Unknown(e.Capability.Pos, code.ReqCapability, want, scope.Names(grammar.CapabilityType),
		"%s asks for capability %q, which is neither a capability type nor a capability of a node type", e.Of(), want)
	return false
}

// checkRelationTargets checks the ends of an edge against its relationship type, unless
// that is normative.
func checkRelationTargets(g *resolve.Graph, e *resolve.Edge) {
	for _, t := range g.Chain(e.Relation) {
		if t.Doc.Embedded {
			return
		}
		if len(t.Targets) > 0 && !allowsTarget(g, t, e) {
			g.Errorf(resolve.PosOf(e), code.ReqSource, "%s: %s does not lead to a capability of %q", e.Of(), inherit.Quoted(t), e.Target.Name)
			return
		}
		if !allows(g, t.Doc, grammar.NodeType, t.TargetNodes, e.Target.Typ.Chain) {
			g.Errorf(resolve.PosOf(e), code.ReqSource, "%s: %s does not lead to nodes of type %q", e.Of(), inherit.Quoted(t), e.Target.Type.Name)
			return
		}
		if !allows(g, t.Doc, grammar.NodeType, t.Sources, e.Source.Typ.Chain) {
			g.Errorf(resolve.PosOf(e), code.ReqSource, "%s: %s does not begin at nodes of type %q", e.Of(), inherit.Quoted(t), e.Source.Type.Name)
			return
		}
	}
}

// allowsTarget reports whether the target has a valid capability for the relationship
// type. Up to 1.3 the list may also name node types.
func allowsTarget(g *resolve.Graph, t *grammar.Type, e *resolve.Edge) bool {
	if allows(g, t.Doc, grammar.NodeType, slices.DeleteFunc(slices.Clone(t.Targets), func(r grammar.Ref) bool {
		return t.Doc.Scope().Lookup(grammar.NodeType, r.Name) == nil
	}), e.Target.Typ.Chain) && slices.ContainsFunc(t.Targets, func(r grammar.Ref) bool {
		return t.Doc.Scope().Lookup(grammar.NodeType, r.Name) != nil
	}) {
		return true
	}
	if e.Provided != nil {
		return allows(g, t.Doc, grammar.CapabilityType, t.Targets, inherit.Ancestors(e.Provided.Typ))
	}
	for _, c := range e.Target.Typ.Caps {
		if allows(g, t.Doc, grammar.CapabilityType, t.Targets, inherit.Ancestors(c.Typ)) {
			return true
		}
	}
	return false
}

// checkEdges checks the requirements of nodes: occurrences, keywords, targets, and
// assignments to relationships.
func checkEdges(g *resolve.Graph) {
	incoming := ends{map[end]int{}, map[allocatedProperty]*big.Rat{}}
	for _, n := range g.Nodes {
		if n.Typ == nil || !g.Spend(len(n.Typ.Reqs)) {
			continue
		}
		checkOccurrences(g, n)
		for _, e := range n.Edges {
			checkKeywords(g, e)
			checkEnds(g, e, incoming)
			checkEdge(g, e)
		}
		for _, e := range n.Unmet {
			checkKeywords(g, e)
			checkUnmet(g, e)
		}
	}
}

// checkKeywords checks rare keywords of a requirement.
func checkKeywords(g *resolve.Graph, e *resolve.Edge) {
	r, n := e.Requirement, e.Source
	for _, d := range r.Directives {
		checkScope(g, d, e.Of())
	}
	if r.Count != nil {
		checkCount(g, r.Count, placeOf(e, ": count"))
	}
	if r.Index != nil {
		checkCount(g, r.Index, placeOf(e, ": the index of its node"))
	}
	if r.Optional != nil {
		checkOptional(g, r.Optional, placeOf(e, ": optional"))
	}
	if r.NodeFilter != nil {
		checkFilter(g, r.NodeFilter, g.FilteredType(e), n.Doc, e.Of()+nodeFilter)
	}
}

// placeOf returns the place of a keyword of a requirement. In 2.0, SELF there is the
// relationship, of which nothing is known yet (TOSCA 2.0, 10.3).
func placeOf(e *resolve.Edge, what string) data.Place {
	p := e.Source.Place(e.Of() + what)
	if e.Source.Doc.V2() {
		p.Self = data.Anything
	}
	return p
}

// checkEnds checks an edge against the limits of the capability and the relationship.
func checkEnds(g *resolve.Graph, e *resolve.Edge, incoming ends) {
	if e.Provided != nil {
		checkCapability(g, e, incoming.count)
		checkAllocation(g, e, incoming.taken)
	}
	checkRelationTargets(g, e)
}

// end is a capability of a node at which edges end.
type end struct {
	node       *resolve.Node
	capability *inherit.CapabilityDef
}

// allocatedProperty is a property of a capability, parts of which requirements allocate.
type allocatedProperty struct {
	end
	property string
}

// ends sums up the edges that end at each capability, and their allocations.
type ends struct {
	count map[end]int
	taken map[allocatedProperty]*big.Rat
}

// checkCapability checks the ends of an edge against the limits of the capability. The
// limits of normative types are recommendations, as examples in the standard exceed
// them.
func checkCapability(g *resolve.Graph, e *resolve.Edge, incoming map[end]int) {
	c := e.Provided
	if c.Doc.Embedded {
		return
	}
	sources, relations := allowed(c)
	if !allows(g, c.Doc, grammar.NodeType, sources, e.Source.Typ.Chain) {
		g.Errorf(resolve.PosOf(e), code.ReqSource, "%s leads to capability %q of %q, which is not for nodes of type %q", e.Of(), c.Name, e.Target.Name, e.Source.Type.Name)
	}
	if e.Relation != nil && !allows(g, c.Doc, grammar.RelationshipType, relations, inherit.Ancestors(e.Relation)) {
		g.Errorf(resolve.PosOf(e), code.ReqSource, "%s leads to capability %q of %q, which is not for relationships of type %q", e.Of(), c.Name, e.Target.Name, e.Relation.Name)
	}
	if c.Max <= 0 || c.Doc.V2() {
		return
	}
	at := end{e.Target, c}
	if incoming[at]++; incoming[at] == c.Max+1 {
		g.Errorf(resolve.PosOf(e), code.ReqMany, "%s: capability %q of %q allows at most %d requirements", e.Of(), c.Name, e.Target.Name, c.Max)
	}
}

// allowed returns the source types and relationship types that a capability allows: of
// its definition, or else of its type.
func allowed(c *inherit.CapabilityDef) (sources, relations []grammar.Ref) {
	sources, relations = c.Sources, c.Relations
	for _, t := range inherit.Ancestors(c.Typ) {
		if t.Doc.Embedded {
			break
		}
		if len(sources) == 0 {
			sources = t.Sources
		}
		if len(relations) == 0 {
			relations = t.Relations
		}
	}
	return sources, relations
}

// allows reports whether one of a chain of types is in a list. An empty list and unknown
// types allow everything.
func allows(g *resolve.Graph, doc *grammar.Document, kind grammar.Kind, list []grammar.Ref, chain []*grammar.Type) bool {
	if len(list) == 0 || !g.Spend(len(list)) {
		return true
	}
	for _, ref := range list {
		t := doc.Scope().Lookup(kind, ref.Name)
		if t == nil && !isOther(doc, ref.Name) || t != nil && slices.ContainsFunc(chain, t.Same) {
			return true
		}
	}
	return false
}

// isOther reports whether a node or group type has the name. The targets of policies may
// be of both kinds.
func isOther(doc *grammar.Document, name string) bool {
	return doc.Scope().Lookup(grammar.NodeType, name) != nil || doc.Scope().Lookup(grammar.GroupType, name) != nil
}

// checkAllocation checks the allocation of a requirement, and that all allocations of a
// capability do not exceed it. The sum is known only if each template makes one node
// (TOSCA 2.0, 8.5.5).
func checkAllocation(g *resolve.Graph, e *resolve.Edge, taken map[allocatedProperty]*big.Rat) {
	known := e.Provided.Props
	single := taken != nil && e.Source.Count == nil && e.Count == nil && e.Target.Count == nil && !e.Target.Selected() && e.Optional == nil
	for k, v := range e.Allocation.Pairs() {
		of := e.Of() + ": allocation of " + quote(k.Text)
		def := known[k.Text]
		if def == nil {
			if e.Provided.Complete {
				g.Unknown(k.Pos(), code.Allocation, k.Text, inherit.Candidates(g, known), "%s: capability %q has no such property", of, e.Provided.Name)
			}
			continue
		}
		switch g.Values.Plain(def) {
		case "", "integer", "float", "scalar", "scalar-unit", "scalar-unit.size", "scalar-unit.time", "scalar-unit.frequency", "scalar-unit.bitrate":
		default:
			g.Errorf(k.Pos(), code.Allocation, "%s: it is not a number", of)
			continue
		}
		p := e.Source.Place(of)
		p.Self, p.Want = e, def
		made := g.Values.Eval(v, p)
		if !made.OK || !g.Values.Check(made.Node, data.Of(def.TypeName(), def.Doc), p) || !single || made.Later != nil {
			continue
		}
		part, ok := g.Values.Worth(made.Node, def)
		c := e.Target.Capability(e.Provided.Name)
		if !ok || c == nil {
			continue
		}
		at := allocatedProperty{end{e.Target, e.Provided}, k.Text}
		if taken[at] != nil {
			part.Add(part, taken[at])
		}
		taken[at] = part
		if whole, ok := g.Values.Worth(c.Property(k.Text).Node, def); ok && part.Cmp(whole) > 0 {
			g.Errorf(v.Pos(), code.Allocation, "%s: more is allocated than capability %q of %q has", of, e.Provided.Name, e.Target.Name)
		}
	}
}

const nodeFilter = ": node_filter"

// checkFilter checks the names in a filter: nodes of type t, or of a type derived from
// it, must have such properties and capabilities.
func checkFilter(g *resolve.Graph, f *grammar.NodeFilter, t *inherit.NodeType, doc *grammar.Document, of string) {
	if f == nil || t == nil {
		return
	}
	some := func(has func(*inherit.NodeType) bool) bool { return g.AnyDerived(t, has) }
	checkPropertyFilters(g, f.Properties, t.Props, doc, of, inherit.Quoted(t.Type.Type), func(name string) bool {
		return some(func(t *inherit.NodeType) bool { return t.Props[name] != nil })
	})
	for _, c := range f.Capabilities {
		typ := doc.Scope().Lookup(grammar.CapabilityType, c.Name)
		has := func(t *inherit.NodeType) *inherit.CapabilityDef { return cmp.Or(t.Caps[c.Name], t.CapabilityOf(typ)) }
		def := has(t)
		if def == nil {
			switch {
			case t.Unresolved() || some(func(t *inherit.NodeType) bool { return has(t) != nil }):
			default:
				g.Unknown(c.Pos, code.Filter, c.Name, t.CapabilityNames(), "%s names capability %q, which %s does not have", of, c.Name, inherit.Quoted(t.Type.Type))
			}
			continue
		}
		if def.Complete {
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

// typedIn returns the document that names the definition's type.
func typedIn(def *data.Definition) *grammar.Document {
	at := def
	for at.Schema.Type.Name == "" && at.Refines != nil {
		at = at.Refines
	}
	return at.Doc
}
