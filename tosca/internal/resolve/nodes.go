package resolve

import (
	"cmp"
	"slices"
	"strings"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/inherit"
	"github.com/toskose/toskose/tosca/internal/source"
)

// HostName is the name that normative types give to the requirement for a host.
const HostName = "host"

// Node is a node template with its type and its edges.
type Node struct {
	*grammar.NodeTemplate
	Typ    *inherit.NodeType // nil if unknown (already reported)
	Edges  []*Edge
	Hosts  []*Edge // edges to hosts
	Host   *Node   // nil if none, or unknown (already reported)
	noun   string  // for messages; empty if the node is not owned
	visit  visitState
	Holder Holder
	caps   map[string]*Capability
	Unmet  []*Edge // requirements without a valid target
	faces  map[string]*inherit.Interface

	artifacts map[string]Artifact // by name; nil until needed
}

// visitState is the progress of findHosts at a node.
type visitState uint8

const (
	unvisited visitState = iota
	visiting
	visited
)

// Of names the node in messages.
func (n *Node) Of() string { return n.Holder.Of }

func (n *Node) label() string { return n.called() + " " + quote(n.Name) }

func (n *Node) called() string { return cmp.Or(n.noun, "node template") }

// Owned reports whether the caller owns the node; see Options.Noun.
func (n *Node) Owned() bool { return n.noun != "" }

// Place returns the place of a part of the node; of names it in messages.
func (n *Node) Place(of string) data.Place { return n.Holder.Place(of) }

// Property evaluates a property of the node's type.
func (n *Node) Property(name string) data.Value {
	if n.Holder.Props[name] == nil {
		return data.Value{}
	}
	return n.Holder.Property(name)
}

// Values returns the properties that have a value before run time, as in JSON, or nil.
// Copies count as work, as many nodes may share a large default.
func (n *Node) Values() map[string]any {
	var all map[string]any
	for _, name := range n.Holder.PropertyNames() {
		v := n.Holder.Property(name)
		if !v.OK || v.Node.IsNull() {
			continue
		}
		if !n.Holder.Graph.Spend(PerProperty * extent(v.Node)) {
			return nil
		}
		if !data.Settled(v.Node) {
			continue
		}
		if all == nil {
			all = map[string]any{}
		}
		all[name] = data.Any(v.Node)
	}
	return all
}

// extent returns the number of values in a value.
func extent(n *source.Node) int {
	count := 1
	for _, item := range n.Items {
		count += extent(item)
	}
	return count
}

// HasProperty reports whether the node's type defines a property.
func (n *Node) HasProperty(name string) bool { return n.Holder.Props[name] != nil }

func (g *Graph) makeNodes() {
	g.ByName = make(map[string]*Node, len(g.Topo.Nodes))
	templates := make(map[string]*grammar.NodeTemplate, len(g.Topo.Nodes))
	for _, t := range g.Topo.Nodes {
		templates[t.Name] = t
	}
	made := make([]Node, len(g.Topo.Nodes))
	g.Nodes = make([]*Node, 0, len(made))
	for i, t := range g.Topo.Nodes {
		n := &made[i]
		n.NodeTemplate = g.copied(t, templates)
		g.Nodes = append(g.Nodes, n)
		g.ByName[n.Name] = n
		g.classify(n)
	}
	if len(g.Nodes) == 0 && g.Topo.Substitution == nil {
		g.Incomplete(g.Topo.Pos, code.NoNodes, "the topology has no node templates")
	}
}

// copied returns a template merged with the template that it copies. Its own keywords
// win.
func (g *Graph) copied(t *grammar.NodeTemplate, templates map[string]*grammar.NodeTemplate) *grammar.NodeTemplate {
	if t.Copy.Name == "" {
		return t
	}
	from := templates[t.Copy.Name]
	switch {
	case from == nil:
		g.Unknown(t.Copy.Pos, code.Copy, t.Copy.Name, inherit.Candidates(g, templates),
			"node template %q copies %q, which is not in the topology", t.Name, t.Copy.Name)
		return t
	case from.Copy.Name != "":
		g.Errorf(t.Copy.Pos, code.Copy, "node template %q copies %q, which is itself a copy", t.Name, t.Copy.Name)
		return t
	}
	made := *from
	made.Name, made.Pos, made.Copy = t.Name, t.Pos, t.Copy
	if t.Type.Name != "" {
		made.Type = t.Type
	}
	if t.Directives != nil {
		made.Directives = t.Directives
	}
	made.Filter, made.Count = cmp.Or(t.Filter, from.Filter), cmp.Or(t.Count, from.Count)
	made.Properties = overlay(from.Properties, t.Properties)
	made.Attributes = overlay(from.Attributes, t.Attributes)
	if t.Requirements != nil {
		made.Requirements = t.Requirements
	}
	if t.Capabilities != nil {
		made.Capabilities = t.Capabilities
	}
	// Interfaces and artifacts are merged by name where they are used.
	made.Interfaces = append(slices.Clone(from.Interfaces), t.Interfaces...)
	made.Artifacts = append(slices.Clone(from.Artifacts), t.Artifacts...)
	return &made
}

func overlay(under, over *source.Node) *source.Node {
	if under == nil || over == nil {
		return cmp.Or(over, under)
	}
	keys, items := slices.Clone(over.Keys), slices.Clone(over.Items)
	for k, v := range under.Pairs() {
		if over.Get(k.Text) == nil {
			keys, items = append(keys, k), append(items, v)
		}
	}
	return source.At(source.Map, keys, items, over)
}

func (g *Graph) classify(n *Node) {
	n.Holder = Holder{Graph: g, Self: n, Of: n.label(), Doc: n.Doc, At: n.Pos, Assigned: n.Properties, AttrValues: n.Attributes}
	if n.Type.Name == "" {
		return // already reported
	}
	t := g.Lookup(n.Doc, grammar.NodeType, n.Type, n.Of())
	if t == nil {
		return
	}
	flat := g.Flatten(t)
	if !flat.Complete {
		return // unknown or a cycle (already reported)
	}
	n.Typ = flat
	n.noun = g.opts.Noun(n.Typ)
	n.Holder.Of, n.Holder.needed = n.label(), n.Owned()
	n.Holder.Props, n.Holder.sorted, n.Holder.Attrs, n.Holder.Complete = flat.Props, flat.PropertyNames(), flat.Attrs, true
	if n.Abstract != (diag.Position{}) {
		report := g.Warnf
		if n.Owned() {
			report = g.Incomplete
		}
		report(n.Abstract, code.Abstract, "%s is left to be selected or substituted, so the topology is incomplete", n.Of())
	}
}

// Selected reports whether the template stands for an existing node, so that the rest of
// it is ignored (TOSCA 2.0, 7.2.1).
func (n *Node) Selected() bool {
	return len(n.Directives) > 0 && !slices.ContainsFunc(n.Directives, func(d grammar.Ref) bool {
		return d.Name != "select" && d.Name != "selectable"
	})
}

func (g *Graph) TemplateNames(fits func(*Node) bool) []string {
	if !g.Suggesting() {
		return nil
	}
	if g.sorted == nil {
		g.sorted = slices.SortedFunc(slices.Values(g.Nodes), func(a, b *Node) int { return strings.Compare(a.Name, b.Name) })
	}
	names := make([]string, 0, len(g.sorted))
	for _, n := range g.sorted {
		if fits(n) {
			names = append(names, n.Name)
		}
	}
	return names
}

func AnyNode(*Node) bool { return true }
