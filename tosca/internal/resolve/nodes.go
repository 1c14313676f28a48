package resolve

import (
	"cmp"
	"slices"
	"strings"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/source"
)

// Node is a node template with its type and its edges.
type Node struct {
	*grammar.NodeTemplate
	Typ    *NodeType // nil: unknown, and said so
	Edges  []*Edge
	Hosts  []*Edge // those of Edges that are hosts
	Host   *Node   // what it is hosted on; nil: nothing, or said so
	noun   string  // what messages call it; empty: a node template like any other
	walked walk
	holder holder
	caps   map[string]*capability
	open   map[string]bool // requirements that are left to be fulfilled

	dangling []*Edge // requirements that lead to no node template, checked all the same
	faces    map[string]*Interface

	artifacts map[string]Artifact // by name; nil: nobody asked
}

// walk is how far findHosts is with a node.
type walk uint8

const (
	unwalked walk = iota
	walking
	walkedOver
)

// Of names the node in a message.
func (n *Node) Of() string { return n.holder.of }

func (n *Node) named() string { return n.called() + " " + quote(n.Name) }

func (n *Node) called() string { return cmp.Or(n.noun, "node template") }

// Owned tells whether the caller has rules of its own for the node.
func (n *Node) Owned() bool { return n.noun != "" }

// Place is where something of the node stands; of names it in messages.
func (n *Node) Place(of string) data.Place { return n.holder.place(of) }

// Property evaluates a property of the node's type.
func (n *Node) Property(name string) data.Value {
	if n.holder.props[name] == nil {
		return data.Value{}
	}
	return n.holder.property(name)
}

// Values gives the node's properties that have a value before it runs, as they
// would be in JSON; nil where there are none. What it copies is counted as work:
// many nodes may have one large default.
func (n *Node) Values() map[string]any {
	var all map[string]any
	for _, name := range n.holder.propertyNames() {
		v := n.holder.property(name)
		if !v.OK || v.Node.IsNull() {
			continue
		}
		if !n.holder.s.Spend(perProperty * extent(v.Node)) {
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

// extent counts the values in a value.
func extent(n *source.Node) int {
	count := 1
	for _, item := range n.Items {
		count += extent(item)
	}
	return count
}

// HasProperty tells whether the node's type defines a property.
func (n *Node) HasProperty(name string) bool { return n.holder.props[name] != nil }

func (s *Service) makeNodes() {
	s.byName = make(map[string]*Node, len(s.Topo.Nodes))
	templates := make(map[string]*grammar.NodeTemplate, len(s.Topo.Nodes))
	for _, t := range s.Topo.Nodes {
		templates[t.Name] = t
	}
	made := make([]Node, len(s.Topo.Nodes))
	s.Nodes = make([]*Node, 0, len(made))
	for i, t := range s.Topo.Nodes {
		n := &made[i]
		n.NodeTemplate = s.copied(t, templates)
		s.Nodes = append(s.Nodes, n)
		s.byName[n.Name] = n
		s.classify(n)
	}
	if len(s.Nodes) == 0 && s.Topo.Substitution == nil {
		s.Incomplete(s.Topo.Pos, codeNoNodes, "the topology has no node templates")
	}
}

// copied makes a template that copies another one: its own keywords win.
func (s *Service) copied(t *grammar.NodeTemplate, templates map[string]*grammar.NodeTemplate) *grammar.NodeTemplate {
	if t.Copy.Name == "" {
		return t
	}
	from := templates[t.Copy.Name]
	switch {
	case from == nil:
		s.Unknown(t.Copy.Pos, codeCopy, t.Copy.Name, suggestable(s, templates),
			"node template %q copies %q, which is not in the topology", t.Name, t.Copy.Name)
		return t
	case from.Copy.Name != "":
		s.Errorf(t.Copy.Pos, codeCopy, "node template %q copies %q, which is itself a copy", t.Name, t.Copy.Name)
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

func (s *Service) classify(n *Node) {
	n.holder = holder{s: s, self: n, of: n.named(), doc: n.Doc, pos: n.Pos, assigned: n.Properties, attributes: n.Attributes}
	if n.Type.Name == "" {
		return // said so
	}
	t := s.Lookup(n.Doc, grammar.NodeType, n.Type, n.Of())
	if t == nil {
		return
	}
	flat := s.flatten(t)
	if !flat.Whole {
		return // of an unknown parent or a cycle, and said so
	}
	n.Typ = flat
	n.noun = s.opts.Noun(n.Typ)
	n.holder.of, n.holder.needed = n.named(), n.Owned()
	n.holder.props, n.holder.sorted, n.holder.attrs, n.holder.whole = flat.Props, flat.properties(), flat.Attrs, true
	s.checkDirectives(n)
	if n.Abstract != (diag.Position{}) {
		report := s.Warnf
		if n.Owned() {
			report = s.Incomplete
		}
		report(n.Abstract, codeAbstract, "%s is left to be selected or substituted, so the topology is incomplete", n.Of())
	}
}

// directives are what a node template may say about how it comes to be; those
// that end in "able" are of 1.0 to 1.2.
var directives = []string{"create", "select", "substitute", "selectable", "substitutable"}

func (s *Service) checkDirectives(n *Node) {
	for _, d := range n.Directives {
		switch i := slices.Index(directives, d.Name); {
		case second(n.Doc) && (i < 0 || i > 2):
			s.Unknown(d.Pos, codeDirective, d.Name, directives[:3], "%s: directive %q is none of TOSCA's: create, select, substitute", n.Of(), d.Name)
		case i < 0:
			s.Warnf(d.Pos, codeDirective, "%s: directive %q is none of TOSCA's: create, select, substitute", n.Of(), d.Name)
		}
	}
}

// selected tells whether nothing is made of the template: the node is there
// already, and the rest of what the template says is ignored (TOSCA 2.0, 7.2.1).
func (n *Node) selected() bool {
	return len(n.Directives) > 0 && !slices.ContainsFunc(n.Directives, func(d grammar.Ref) bool {
		return d.Name != "select" && d.Name != "selectable"
	})
}

// Node finds a node by its name; nil if there is none.
func (s *Service) Node(name string) *Node { return s.byName[name] }

func (s *Service) templateNames(fits func(*Node) bool) []string {
	if !s.Suggesting() {
		return nil
	}
	if s.sorted == nil {
		s.sorted = slices.SortedFunc(slices.Values(s.Nodes), func(a, b *Node) int { return strings.Compare(a.Name, b.Name) })
	}
	names := make([]string, 0, len(s.sorted))
	for _, n := range s.sorted {
		if fits(n) {
			names = append(names, n.Name)
		}
	}
	return names
}

func anyNode(*Node) bool { return true }

// checkNodes evaluates and checks what node templates assign.
// checkVolume checks that a BlockStorage has a size or is a volume that exists.
// Since 1.2 there is a default, so that it is odd only (TOSCA 1.3, 5.9.11.4; 1.0,
// 5.8.9).
func (s *Service) checkVolume(n *Node) {
	size := n.holder.props["size"]
	if size == nil || !size.Doc.Embedded || !n.Properties.Get("size").IsNull() || !n.Properties.Get("volume_id").IsNull() ||
		!ChainHas(n.Typ.Chain, "tosca.nodes.Storage.BlockStorage") {
		return
	}
	report := s.Warnf
	if n.Doc.Version == "tosca_simple_yaml_1_0" || n.Doc.Version == "tosca_simple_yaml_1_1" {
		report = s.Errorf
	}
	report(n.Pos, codePropMissing, "%s lacks property \"size\", and names no volume_id of a volume that exists", n.Of())
}

func (s *Service) checkNodes() {
	for _, n := range s.Nodes {
		if n.Typ == nil {
			continue
		}
		required := Quoted(n.Typ.Type.Type)
		if n.selected() && !n.Owned() {
			required = ""
		}
		if required != "" && s.sparesName(n) {
			n.holder.spared = "name"
		}
		n.holder.check(required)
		if required != "" {
			s.checkVolume(n)
		}
		s.checkCapabilities(n, required != "")
		if n.Count != nil {
			s.checkCount(n.Count, n.Place(n.Of()+": count"))
		}
		if n.Filter != nil {
			s.checkFilter(n.Filter, n.Typ, n.Doc, n.Of()+nodeFilter, s.anyNodeOf(n.Typ.Type.Type, true))
		}
		if !n.Owned() {
			s.checkInterfaces(n.Interfaces, s.Interfaces(n), &n.holder)
			s.checkArtifacts(n)
		}
	}
}
