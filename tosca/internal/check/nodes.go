package check

import (
	"slices"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/inherit"
	"github.com/toskose/toskose/tosca/internal/resolve"
	"github.com/toskose/toskose/tosca/internal/source"
)

// directives are the directives of node templates. Those ending in "able" are of 1.0 to
// 1.2.
var directives = []string{"create", "select", "substitute", "selectable", "substitutable"}

func checkDirectives(g *resolve.Graph, n *resolve.Node) {
	for _, d := range n.Directives {
		switch i := slices.Index(directives, d.Name); {
		case n.Doc.V2() && (i < 0 || i > 2):
			g.Unknown(d.Pos, code.Directive, d.Name, directives[:3], "%s: directive %q is not one of create, select, substitute", n.Of(), d.Name)
		case i < 0:
			g.Warnf(d.Pos, code.Directive, "%s: directive %q is not one of create, select, substitute", n.Of(), d.Name)
		}
	}
}

// checkVolume checks that a BlockStorage has a size or the id of an existing volume.
// Since 1.2 the size has a default, so this is only a warning (TOSCA 1.3, 5.9.11.4; 1.0,
// 5.8.9).
func checkVolume(g *resolve.Graph, n *resolve.Node) {
	size := n.Holder.Props["size"]
	if size == nil || !size.Doc.Embedded || !n.Properties.Get("size").IsNull() || !n.Properties.Get("volume_id").IsNull() ||
		!inherit.ChainHas(n.Typ.Chain, "tosca.nodes.Storage.BlockStorage") {
		return
	}
	report := g.Warnf
	if n.Doc.Version == "tosca_simple_yaml_1_0" || n.Doc.Version == "tosca_simple_yaml_1_1" {
		report = g.Errorf
	}
	report(n.Pos, code.PropMissing, "%s lacks property \"size\", and names no volume_id of a volume that exists", n.Of())
}

// checkRelatedValues checks rules of 1.x that relate several properties (TOSCA 1.3,
// 5.5.14, 8.5.1.1 and 8.5.2.1). ports are the default ports so far, by node.
func checkRelatedValues(g *resolve.Graph, n *resolve.Node, ports map[*resolve.Node]*resolve.Node) {
	value := func(h *resolve.Holder, name string) *source.Node {
		if def := h.Props[name]; def == nil || !def.Doc.Embedded {
			return nil
		}
		v := h.Property(name)
		if !v.OK || v.Later != nil || v.Node.IsNull() {
			return nil
		}
		return v.Node
	}
	for _, k := range n.Capabilities {
		c := n.Capability(k.Name)
		if c == nil {
			continue
		}
		least, begin, most := value(&c.Holder, "min_instances"), value(&c.Holder, "default_instances"), value(&c.Holder, "max_instances")
		if less(begin, least) || less(most, begin) {
			g.Errorf(begin.Pos(), code.PropTogether, "%s: default_instances is %s, which is not between min_instances and max_instances", c.Of, begin.Text)
		}
	}
	if id := value(&n.Holder, "network_id"); id != nil && data.Text(id) != "" && inherit.ChainHas(n.Typ.Chain, "tosca.nodes.network.Network") {
		for k, v := range n.Properties.Pairs() {
			if def := n.Holder.Props[k.Text]; def != nil && def.Doc.Embedded && k.Text != "network_id" && k.Text != "network_name" && !v.IsNull() {
				g.Errorf(k.Pos(), code.PropTogether, "%s is network %s, which exists already, so property %q cannot be chosen: only network_name goes with network_id",
					n.Of(), quote(data.Text(id)), k.Text)
			}
		}
	}
	is := value(&n.Holder, "is_default")
	if is == nil || is.Text != "true" || !inherit.ChainHas(n.Typ.Chain, "tosca.nodes.network.Port") {
		return
	}
	for _, e := range n.Edges {
		if e.Relation == nil || !inherit.ChainHas(g.Chain(e.Relation), "tosca.relationships.network.BindsTo") {
			continue
		}
		if first := ports[e.Target]; first != nil {
			g.Errorf(is.Pos(), code.PropTogether, "%s is the default port of %q, and so is %q: only one can be", n.Of(), e.Target.Name, first.Name)
			return
		}
		ports[e.Target] = n
	}
}

// less reports whether both are integers, and a is less than b.
func less(a, b *source.Node) bool {
	i, ok := data.Integer(a)
	j, also := data.Integer(b)
	return ok && also && i < j
}

// checkNodes checks the assignments of node templates.
func checkNodes(g *resolve.Graph) {
	ports := map[*resolve.Node]*resolve.Node{}
	for _, n := range g.Nodes {
		if n.Typ == nil {
			continue
		}
		checkDirectives(g, n)
		required := inherit.Quoted(n.Typ.Type.Type)
		if n.Selected() && !n.Owned() {
			required = ""
		}
		checkValues(&n.Holder, required)
		if required != "" {
			checkVolume(g, n)
		}
		checkCapabilities(g, n, required != "")
		if n.Count != nil {
			checkCount(g, n.Count, n.Place(n.Of()+": count"))
		}
		if n.Filter != nil {
			checkFilter(g, n.Filter, n.Typ, n.Doc, n.Of()+nodeFilter)
		}
		if !n.Owned() {
			checkInterfaces(g, n.Interfaces, Interfaces(g, n), &n.Holder)
			checkArtifacts(g, n)
			if !n.Doc.V2() {
				checkRelatedValues(g, n, ports)
			}
		}
	}
}

// HostName is the name that normative types give to the requirement for a host.
const HostName = "host"

// checkOccurrences checks how often a node has each requirement. A requirement that the
// template omits is left to the orchestrator (TOSCA 2.0, 8.5.4).
func checkOccurrences(g *resolve.Graph, n *resolve.Node) {
	counts, needed := map[string]int{}, map[string]int{}
	for _, r := range n.Requirements {
		checkRange(g, n, r)
		times, known := times(r.Count)
		if !known {
			return
		}
		counts[r.Name] += times
		if r.Optional == nil || r.Optional.Text != "true" {
			needed[r.Name] += max(times, most(r.Count))
		}
	}
	for _, def := range n.Typ.Reqs {
		count, has := counts[def.Name]
		switch {
		case n.Owned() && def.Name == HostName: // the caller reports it
		case count < def.Min && n.Owned():
			g.Errorf(n.Pos, code.ReqMissing, "%s lacks requirement %q, which %s needs", n.Of(), def.Name, inherit.Quoted(n.Typ.Type.Type))
		case has && needed[def.Name] < def.Min && !n.Owned():
			g.Errorf(first(n, def.Name), code.ReqMissing, "%s has requirement %q %d times; at least %d are needed", n.Of(), def.Name, needed[def.Name], def.Min)
		case def.Max >= 0 && count > def.Max:
			g.Errorf(surplus(n, def), code.ReqMany, "%s has requirement %q %d times; at most %d are allowed", n.Of(), def.Name, count, def.Max)
		}
	}
}

// first returns the first assignment of a requirement.
func first(n *resolve.Node, name string) diag.Position {
	for _, r := range n.Requirements {
		if r.Name == name {
			return r.Pos
		}
	}
	return n.Pos
}

// surplus returns the first assignment beyond the maximum.
func surplus(n *resolve.Node, def *inherit.RequirementDef) diag.Position {
	count := 0
	for _, r := range n.Requirements {
		if r.Name != def.Name {
			continue
		}
		times, _ := times(r.Count)
		if count += times; count > def.Max {
			return r.Pos
		}
	}
	return n.Pos
}

// checkRange checks the occurrences of a template's requirement in 1.3 against the
// definition.
func checkRange(g *resolve.Graph, n *resolve.Node, r *grammar.Requirement) {
	if def := n.Typ.Requirement(r.Name); def != nil && r.Count != nil {
		checkMost(g, r.Count, def.Max, n.Of()+": requirement "+quote(r.Name))
	}
}

// checkMost checks the upper end of a range against the maximum of a definition.
func checkMost(g *resolve.Graph, count *source.Node, allowed int, of string) {
	if allowed < 0 || count.IsNull() || count.Kind != source.List || len(count.Items) != 2 {
		return
	}
	high := count.Items[1]
	if most, ok := data.Integer(high); high.Text == "UNBOUNDED" || ok && most > int64(allowed) {
		g.Errorf(count.Pos(), code.ReqMany, "%s occurs up to %s times; at most %d are allowed", of, high.Text, allowed)
	}
}

// times returns how often a requirement counts. A range of 1.x counts once. known is
// false if a function computes the number.
func times(count *source.Node) (times int, known bool) {
	switch {
	case count.IsNull() || count.Kind == source.List:
		return 1, true
	case !count.IsScalar():
		return 0, false
	}
	i, ok := data.Integer(count)
	return int(i), ok
}

// most returns the upper end of a range of 1.x, or 0.
func most(count *source.Node) int {
	if count.IsNull() || count.Kind != source.List || len(count.Items) != 2 {
		return 0
	}
	if most, ok := data.Integer(count.Items[1]); ok {
		return int(min(most, 1<<20))
	}
	return 1 << 20 // UNBOUNDED
}

// checkCount checks a number of nodes or relationships (TOSCA 2.0, 14).
func checkCount(g *resolve.Graph, count *source.Node, p data.Place) {
	if count.IsNull() || count.Kind == source.List && !p.Doc.V2() {
		return // read by the grammar
	}
	v := g.Values.Eval(count, p)
	if !v.OK || v.Node.IsNull() {
		return
	}
	if v.Later != nil {
		g.Values.Check(v.Node, data.Of("integer", p.Doc), p)
		return
	}
	if i, ok := data.Integer(v.Node); !ok || i < 0 {
		g.Errorf(count.Pos(), code.Count, "%s must be an integer of at least 0, not %s", p.Of, data.Show(v.Node))
	}
}

// checkOptional checks the keyword "optional" of a requirement (TOSCA 2.0, 8.5.1).
func checkOptional(g *resolve.Graph, n *source.Node, p data.Place) {
	if v := g.Values.Eval(n, p); v.OK {
		g.Values.Check(v.Node, data.Of("boolean", p.Doc), p)
	}
}

// checkRelations checks the assignments of relationship templates.
func checkRelations(g *resolve.Graph) {
	for _, name := range inherit.Keys(g.Relations) {
		r := g.Relations[name]
		if r.Typ == nil {
			continue
		}
		checkValues(&r.Holder, inherit.Quoted(r.Typ))
		faces := g.RelationInterfaces(r.Typ, nil)
		checkInterfaces(g, r.Interfaces, checkAssigned(g, faces, r.Interfaces, r.Doc, r.Of), &r.Holder)
	}
}

// checkEdge checks the assignments to a relationship.
func checkEdge(g *resolve.Graph, e *resolve.Edge) {
	n := e.Source
	if e.Properties == nil && e.Inline == nil && n.Owned() {
		return
	}
	h := e.RelationHolder()
	if h == nil {
		return
	}
	checkValues(h, "")
	for _, name := range h.PropertyNames() {
		v := h.Property(name)
		if v.OK && v.Node.IsNull() && h.Props[name].Required && !n.Owned() && !writtenNull(h, name) && !isUnread(h) {
			reportMissing(g, e, h, name)
		}
	}
	if e.Inline != nil && len(e.Inline.Interfaces) > 0 {
		faces := g.RelationInterfaces(e.Relation, e.Def)
		checkInterfaces(g, e.Inline.Interfaces, checkAssigned(g, faces, e.Inline.Interfaces, n.Doc, h.Of), h)
	}
}

// reportMissing reports a required property of a relationship without a value. For
// normative types of 1.x it is a warning if the requirement assigns nothing to the
// relationship, as in the standard's examples.
func reportMissing(g *resolve.Graph, e *resolve.Edge, h *resolve.Holder, name string) {
	report := g.Errorf
	if !e.Source.Doc.V2() && h.Props[name].Doc.Embedded && e.Properties == nil {
		report = g.Warnf
	}
	at := e.Pos
	if e.Inline != nil {
		at = e.Inline.Pos
	}
	report(at, code.PropMissing, "%s lacks property %q, which %s requires", h.Of, name, inherit.Quoted(e.Relation))
}
