package resolve

import (
	"slices"
	"strings"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/inherit"
)

// RequestedCapability returns the capability that a requirement requests, or nil if the
// target's type is unknown.
func (g *Graph) RequestedCapability(e *Edge) *inherit.CapabilityDef {
	t := g.FilteredType(e)
	if t == nil || e.Def == nil {
		return nil
	}
	scope := e.Source.Doc.Scope()
	switch want := e.Capability.Name; {
	case t.Caps[want] != nil:
		return t.Caps[want]
	case want != "":
		return t.CapabilityOf(scope.Lookup(grammar.CapabilityType, want))
	case e.Def.CapabilityName != "":
		return t.Caps[e.Def.CapabilityName]
	}
	return t.CapabilityOf(e.Def.Capability)
}

// FilteredType returns the type of the nodes that a requirement accepts, or nil for any
// type.
func (g *Graph) FilteredType(e *Edge) *inherit.NodeType {
	if t := g.ByName[e.Node.Name]; t != nil {
		return t.Typ
	}
	t := e.Source.Doc.Scope().Lookup(grammar.NodeType, e.Node.Name)
	if t == nil && e.Def != nil && e.Node.Name == "" {
		t = e.Def.Node
	}
	return g.WholeNodeType(t)
}

// perFit is the work of comparing a node with a filter.
const perFit = 64

// applyFilters sets the target of each requirement with a filter to the one node that
// passes it. If several nodes do, it chooses none.
func (l *linker) applyFilters() {
	filled := false
	quiet := (&data.Evaluator{Collector: &diag.Collector{}, World: l, Spend: l.Spend}).Mute()
	for _, e := range l.filters {
		if !l.Spend(perFit * len(l.Nodes)) {
			return
		}
		var found []*Node
		for _, n := range l.Nodes {
			if n != e.Source && n.Typ != nil && n.Owned() && l.fits(quiet, e, n) {
				found = append(found, n)
			}
		}
		if len(found) == 0 && e.isHost() && l.opts.Host != nil {
			found = []*Node{l.host()}
		}
		switch {
		case len(found) == 1:
			e.Target = found[0]
			if l.checkTarget(e) {
				e.Open = false
				e.Source.Edges = append(e.Source.Edges, e)
				e.Source.Unmet = slices.DeleteFunc(e.Source.Unmet, func(u *Edge) bool { return u == e })
				filled = true
			}
		case len(found) > 1:
			l.Incomplete(e.NodeFilter.Pos, code.ReqAbstract, "%s is left to a node_filter that %q and %q pass, so the topology is incomplete", e.Of(), found[0].Name, found[1].Name)
		default:
			hint := ""
			if e.isHost() {
				hint = ": add it, or name an image for it in toskose.yml, nodes.NAME.docker.base_image"
			}
			l.Incomplete(e.NodeFilter.Pos, code.ReqAbstract, "%s needs a node with %s, and there is none%s", e.Of(), conditions(e.NodeFilter), hint)
		}
	}
	if filled {
		l.findHosts()
	}
}

// host adds the caller's node for components whose host is not in the topology.
func (l *linker) host() *Node {
	if n := l.ByName[l.opts.Host.Name]; n != nil {
		return n
	}
	n := &Node{NodeTemplate: l.opts.Host}
	n.Doc = l.Doc
	l.Nodes, l.ByName[n.Name], l.sorted = append(l.Nodes, n), n, nil
	l.classify(n)
	return n
}

// conditions describes a filter in a message.
func conditions(f *grammar.NodeFilter) string {
	var all []string
	for _, p := range f.Properties {
		for _, c := range p.Constraints {
			all = append(all, p.Name+" "+data.Show(c.Operand))
		}
	}
	if len(all) == 0 {
		return "its node_filter"
	}
	return strings.Join(all, ", ")
}

// fits reports whether a node can be the target of a requirement with filters.
func (l *linker) fits(quiet *data.Evaluator, e *Edge, n *Node) bool {
	filters := []*grammar.NodeFilter{e.NodeFilter}
	if typ := e.Source.Doc.Scope().Lookup(grammar.NodeType, e.Node.Name); typ != nil && !inherit.IsA(n.Typ.Chain, typ) {
		return false
	}
	if e.Def != nil {
		filters = append(filters, e.Def.Filters...)
		if e.Def.Node != nil && !inherit.IsA(n.Typ.Chain, e.Def.Node) {
			return false
		}
		if e.Def.Capability != nil && n.Typ.CapabilityOf(e.Def.Capability) == nil {
			return false
		}
	}
	for _, f := range filters {
		if !l.passes(quiet, f, e, n) {
			return false
		}
	}
	return true
}

// passes reports whether a node passes a filter. Values of run time pass.
func (l *linker) passes(quiet *data.Evaluator, f *grammar.NodeFilter, e *Edge, n *Node) bool {
	if f.Validation != nil {
		anyOfType := *e
		anyOfType.Target = n
		v := quiet.Condition(f.Validation, data.Place{Of: e.Of(), Doc: e.Source.Doc, Self: &anyOfType})
		return v.OK && (v.Later != nil || v.Node != nil && v.Node.Text == "true")
	}
	if !passesProperties(quiet, f.Properties, &n.Holder) {
		return false
	}
	for _, c := range f.Capabilities {
		has := n.Capability(c.Name)
		if has == nil {
			def := n.Typ.CapabilityOf(e.Source.Doc.Scope().Lookup(grammar.CapabilityType, c.Name))
			if def == nil {
				return false
			}
			has = n.Capability(def.Name)
		}
		if !passesProperties(quiet, c.Properties, &has.Holder) {
			return false
		}
	}
	return true
}

func passesProperties(quiet *data.Evaluator, filters []*grammar.PropertyFilter, h *Holder) bool {
	for _, f := range filters {
		def := h.Props[f.Name]
		if def == nil {
			return false
		}
		v := h.Property(f.Name)
		if !v.OK || v.Later == nil && v.Node.IsNull() {
			return false
		}
		if v.Later != nil {
			continue
		}
		want := &data.Definition{Schema: &grammar.Schema{Constraints: f.Constraints}, Doc: def.Doc, Refines: def}
		if !quiet.Check(v.Node, want, h.Place(h.Of)) {
			return false
		}
	}
	return true
}

// findHosts sets the host of each node, and cuts cycles of hosts.
func (g *Graph) findHosts() {
	for _, n := range g.Nodes {
		n.Hosts, n.Host, n.visit = nil, nil, unvisited
		for _, e := range n.Edges {
			if e.isHost() {
				n.Hosts = append(n.Hosts, e)
			}
		}
		if len(n.Hosts) > 0 {
			n.Host = n.Hosts[0].Target
		}
	}
	for _, n := range g.Nodes {
		g.cutCycle(n)
	}
}

// cutCycle follows the hosts of a node, once for each node on the path, and cuts a cycle
// at its end.
func (g *Graph) cutCycle(n *Node) {
	var way []*Node
	at := n
	for ; at != nil && at.visit == unvisited; at = at.Host {
		at.visit = visiting
		way = append(way, at)
	}
	if at != nil && at.visit == visiting {
		for _, m := range way[slices.Index(way, at):] {
			g.Errorf(m.Pos, code.ReqCycle, "%s is hosted on itself, through %s", m.Of(), m.Host.Of())
		}
		way[len(way)-1].Host = nil
	}
	for _, m := range way {
		m.visit = visited
	}
}
