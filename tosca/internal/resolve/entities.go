package resolve

import (
	"maps"
	"slices"
	"strconv"

	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/inherit"
	"github.com/toskose/toskose/tosca/internal/source"
)

// Describe, Follow, Get and Names make a node a data.Entity.
func (n *Node) Describe() (data.EntityKind, string) { return data.NodeEntity, quote(n.Name) }

// Follow follows a step of a path.
func (n *Node) Follow(step data.Step) (data.Entity, data.Answer) {
	switch step.Kind {
	case data.ToHost:
		return n.followToHost()
	case data.ToCapability:
		if c := n.Capability(step.Name); c != nil {
			return c, data.Found
		}
	case data.ToRelationship:
		index := 0
		if !n.Holder.Graph.Spend(len(n.Edges) + len(n.Unmet)) {
			return nil, data.Open
		}
		for _, e := range n.Edges {
			if e.Name != step.Name {
				continue
			}
			if step.Index == data.All || index == step.Index {
				return e, data.Found
			}
			index++
		}
		if n.isUnmet(step.Name) || n.Typ != nil && n.Typ.Requirement(step.Name) != nil {
			return nil, data.Open
		}
	default:
	}
	if n.Typ == nil {
		return nil, data.Open
	}
	return nil, data.Missing
}

// isUnmet reports whether a requirement has no target yet.
func (n *Node) isUnmet(requirement string) bool {
	return slices.ContainsFunc(n.Unmet, func(e *Edge) bool { return e.Open && e.Name == requirement })
}

func (n *Node) followToHost() (data.Entity, data.Answer) {
	if n.Host != nil {
		return n.Host, data.Found
	}
	if n.Typ == nil || !n.Owned() && n.mayBeHosted() {
		return nil, data.Open
	}
	return nil, data.Missing
}

// mayBeHosted reports whether a node without a host may have one at run time: it is made
// elsewhere, or has a requirement for a host. Otherwise the search for an attribute of
// HOST ends here (TOSCA 1.3, 4.1).
func (n *Node) mayBeHosted() bool {
	s := n.Holder.Graph
	if len(n.Directives) > 0 || n.Filter != nil || len(n.Hosts) > 0 || n.Doc.V2() || !s.Spend(1+len(n.Typ.Reqs)+len(n.Requirements)) {
		return true
	}
	for _, def := range n.Typ.Reqs {
		if def.Name == HostName || def.Relation == nil || inherit.ChainHas(s.Chain(def.Relation), "tosca.relationships.HostedOn") {
			return true
		}
	}
	return slices.ContainsFunc(n.Requirements, func(r *grammar.Requirement) bool { return n.Typ.Requirement(r.Name) == nil })
}

// Get returns a member of the node.
func (n *Node) Get(m data.Member, name ...string) (data.Value, data.Answer) {
	switch {
	case n.Typ == nil:
		return data.Value{}, data.Open
	case m == data.Artifact:
		return n.artifact(name[0])
	case m == data.Output:
		return data.Value{Def: n.output(name)}, data.Open
	case m == data.Attribute && name[0] == "tosca_name":
		return data.Known(source.Scalar(source.String, n.Name, n.Holder.Graph.root)), data.Found
	}
	if g := n.Holder.Graph; m == data.Attribute && n.Owned() && g.opts.Attribute != nil {
		if value, ok := g.opts.Attribute(n, name[0]); ok {
			return data.Value{Node: source.Scalar(source.String, value, g.root), Def: n.Holder.Attrs[name[0]], Size: 1, OK: true}, data.Found
		}
	}
	v, answer := n.Holder.get(m, name[0])
	if answer == data.Missing && m == data.Attribute && !n.Doc.V2() {
		return n.endpoint(name[0])
	}
	return v, answer
}

// endpoint returns an attribute of a normative endpoint capability. Texts of 1.x read
// the address of an endpoint from its node (TOSCA 1.3, 5.5.7.2 and 11.1.17).
func (n *Node) endpoint(name string) (data.Value, data.Answer) {
	if !n.Holder.Graph.Spend(len(n.Typ.Caps)) {
		return data.Value{}, data.Open
	}
	for _, c := range inherit.Keys(n.Typ.Caps) {
		if c := n.Typ.Caps[c]; c.Typ != nil && c.Typ.Doc.Embedded && c.Attrs[name] != nil {
			return data.Value{Def: c.Attrs[name]}, data.Open
		}
	}
	return data.Value{}, data.Missing
}

// Names lists members of the node, for messages.
func (n *Node) Names(m data.Member, of ...string) []string {
	switch {
	case n.Typ == nil:
		return nil
	case m == data.Artifact:
		var names []string
		for _, a := range n.Holder.Graph.Artifacts(n) {
			names = append(names, a.Name)
		}
		return names
	case m != data.Output:
		return n.Holder.MemberNames(m)
	}
	return outputs(n.Holder.Graph.Interfaces(n), of)
}

func (n *Node) output(path []string) *data.Definition {
	return outputOf(n.Holder.Graph.Interfaces(n), path)
}

// artifact returns a marker for the file of an artifact.
func (n *Node) artifact(name string) (data.Value, data.Answer) {
	s := n.Holder.Graph
	a, has := s.Artifact(n, name)
	if !has {
		return data.Value{}, data.Missing
	}
	within, ok := grammar.Within(a.In, a.File.Name)
	if !ok || !s.IsFile(a.In, a.File.Name) {
		within = ""
	}
	return data.Known(source.Scalar(source.String, s.mark(ArtifactRef{n, within}), s.root)), data.Found
}

// ArtifactByMarker returns the artifact of a marker.
func (g *Graph) ArtifactByMarker(number string) (ArtifactRef, bool) {
	at, err := strconv.Atoi(number)
	if err != nil || at < 0 || at >= len(g.refs) {
		return ArtifactRef{}, false
	}
	return g.refs[at], true
}

func (g *Graph) mark(ref ArtifactRef) string {
	g.refs = append(g.refs, ref)
	return data.Marker + strconv.Itoa(len(g.refs)-1) + data.Marker
}

// outputs lists interfaces, the operations of one, or the outputs of one. It returns nil
// if the outputs are not defined.
func outputs(faces map[string]*inherit.Interface, of []string) []string {
	if len(of) == 0 {
		return slices.Sorted(maps.Keys(faces))
	}
	i := faces[of[0]]
	if i == nil {
		return nil
	}
	if len(of) == 1 {
		return slices.Sorted(maps.Keys(i.Operations))
	}
	o := i.Operations[of[1]]
	if o == nil || len(o.Outputs) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(o.Outputs))
}

func outputOf(faces map[string]*inherit.Interface, path []string) *data.Definition {
	if len(path) < 3 || faces[path[0]] == nil || faces[path[0]].Operations[path[1]] == nil {
		return nil
	}
	return faces[path[0]].Operations[path[1]].Outputs[path[2]]
}

// ArtifactRef is an artifact that get_artifact names.
type ArtifactRef struct {
	Node *Node
	Path string // in the archive; empty if missing (already reported)
}

// Capability is a capability of a node.
type Capability struct {
	Holder
	node *Node
	name string
	Def  *inherit.CapabilityDef
}

// Capability returns a capability of the node, or nil.
func (n *Node) Capability(name string) *Capability {
	if c, made := n.caps[name]; made || n.Typ == nil {
		return c
	}
	def := n.Typ.Caps[name]
	if def == nil || !n.Holder.Graph.Spend(len(n.Capabilities)) {
		return nil
	}
	c := &Capability{node: n, name: name, Def: def}
	c.Holder = Holder{
		Graph: n.Holder.Graph, Self: n, Of: n.Of() + ": capability " + quote(name), Doc: n.Doc, At: n.Pos,
		Props: def.Props, Attrs: def.Attrs, Complete: def.Complete, needed: n.Owned(),
	}
	for _, k := range n.Capabilities {
		if k.Name == name {
			c.Assigned, c.AttrValues, c.At = k.Properties, k.Attributes, k.Pos
		}
	}
	if n.caps == nil {
		n.caps = map[string]*Capability{}
	}
	n.caps[name] = c
	return c
}

func (c *Capability) Describe() (data.EntityKind, string) {
	return data.CapabilityEntity, "capability " + quote(c.name) + " of " + quote(c.node.Name)
}

func (c *Capability) Follow(data.Step) (data.Entity, data.Answer) { return nil, data.Open }

func (c *Capability) Get(m data.Member, name ...string) (data.Value, data.Answer) {
	return c.get(m, name[0])
}

func (c *Capability) Names(m data.Member, _ ...string) []string { return c.MemberNames(m) }

// Input, Inputs, Entity and Templates make the graph a data.World.
func (g *Graph) Input(name string) (data.Value, data.Answer) {
	in := g.InputByName[name]
	switch {
	case g.InputByName == nil: // within a type, which any topology may use
		return data.Value{}, data.Open
	case in == nil:
		return g.flowInput(name)
	case in.bad:
		return data.Value{}, data.Found // already reported at the input
	case in.value.IsNull() && g.opts.Draft && in.open:
		return data.Value{Def: in.Def}, data.Open
	}
	return data.Value{Node: in.value, Def: in.Def, Size: in.size, OK: true}, data.Found
}

// Entity returns a node, relationship template or group by its name.
func (g *Graph) Entity(name string) data.Entity {
	if g.ByName == nil { // within a type or input: there are no entities yet
		return data.Anything
	}
	if n := g.ByName[name]; n != nil {
		return n
	}
	if r := g.Relations[name]; r != nil {
		return r
	}
	if group := g.Groups[name]; group != nil {
		return group
	}
	return nil
}

// Templates lists the names that Entity knows.
func (g *Graph) Templates() []string { return g.TemplateNames(AnyNode) }

// Interfaces returns the interfaces of a node, merged from types and template. The
// result must not be changed.
func (g *Graph) Interfaces(n *Node) map[string]*inherit.Interface {
	if n.faces == nil {
		n.faces = g.AssignTo(g.TypeInterfaces(n.Typ.Type), n.Interfaces, n.Doc, nil)
	}
	return n.faces
}

// flowInput returns an input that only workflows have. An operation may read the inputs
// of the workflow that calls it (TOSCA 1.3, 7.3.6). Packaging and planning have no
// workflows.
func (g *Graph) flowInput(name string) (data.Value, data.Answer) {
	if g.Doc.V2() || !g.opts.Draft {
		return data.Value{}, data.Missing
	}
	if p := g.flowInputs[name]; p != nil {
		return data.Value{Def: data.From(p, g.Doc)}, data.Open
	}
	return data.Value{}, data.Missing
}
