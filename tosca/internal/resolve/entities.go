package resolve

import (
	"maps"
	"slices"

	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/source"
)

// Describe, Lead, Get and Names make a node a data.Entity.
func (n *Node) Describe() (data.EntityKind, string) { return data.NodeEntity, quote(n.Name) }

// Lead gives what a step of a path leads to.
func (n *Node) Lead(step data.Step) (data.Entity, data.Answer) {
	switch step.Kind {
	case data.ToHost:
		return n.leadToHost()
	case data.ToCapability:
		if c := n.capability(step.Name); c != nil {
			return c, data.Found
		}
	case data.ToRelationship:
		index := 0
		if !n.holder.s.Spend(len(n.Edges)) {
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
		if rel := n.relationLeft(step.Name); rel != nil {
			return rel, data.Found
		}
		if n.open[step.Name] || n.Typ != nil && n.Typ.Requirement(step.Name) != nil {
			return nil, data.Open
		}
	default:
	}
	if n.Typ == nil {
		return nil, data.Open
	}
	return nil, data.Missing
}

// relationLeft is what is known of the relationship of a requirement that is left
// to be fulfilled: its types. It is nil where that is nothing, and where the node
// asks for a relationship of its own.
func (n *Node) relationLeft(name string) data.Entity {
	if n.Typ == nil || !second(n.Doc) {
		return nil
	}
	def := n.Typ.Requirement(name)
	if def == nil || def.Relation == nil {
		return nil
	}
	for _, r := range n.Requirements {
		if r.Name == name && r.Relationship.Name != "" {
			return nil
		}
	}
	return n.holder.s.anyRelationOf(n.Typ.Type.Type, def.Relation, def.Node, nil)
}

func (n *Node) leadToHost() (data.Entity, data.Answer) {
	if n.Host != nil {
		return n.Host, data.Found
	}
	if n.Typ == nil || !n.Owned() && n.mayBeHosted() {
		return nil, data.Open
	}
	return nil, data.Missing
}

// mayBeHosted tells whether a node without a host may have one all the same: it
// is made elsewhere, or has a requirement that a host would fulfil. Where the
// chain of hosts ends, so does the search for what HOST has (TOSCA 1.3, 4.1).
func (n *Node) mayBeHosted() bool {
	s := n.holder.s
	if len(n.Directives) > 0 || n.Filter != nil || len(n.Hosts) > 0 || second(n.Doc) || !s.Spend(1+len(n.Typ.Reqs)+len(n.Requirements)) {
		return true
	}
	for _, def := range n.Typ.Reqs {
		if def.Name == hostName || def.Relation == nil || ChainHas(s.Chain(def.Relation), "tosca.relationships.HostedOn") {
			return true
		}
	}
	return slices.ContainsFunc(n.Requirements, func(r *grammar.Requirement) bool { return n.Typ.Requirement(r.Name) == nil })
}

// Get gives what the node has of a name.
func (n *Node) Get(m data.Member, name ...string) (data.Value, data.Answer) {
	switch {
	case n.Typ == nil:
		return data.Value{}, data.Open
	case m == data.Artifact:
		return n.artifact(name[0])
	case m == data.Output:
		return data.Value{Def: n.output(name)}, data.Open
	case m == data.Attribute && name[0] == "tosca_name":
		return data.Known(source.Scalar(source.String, n.Name, n.holder.s.root)), data.Found
	}
	v, answer := n.holder.get(m, name[0])
	if answer == data.Missing && m == data.Attribute && !second(n.Doc) {
		return n.endpoint(name[0])
	}
	return v, answer
}

// endpoint gives an attribute that only a capability of the normative types has:
// the address of an endpoint is that of its node, and the text of 1.x asks the
// node for it (TOSCA 1.3, 5.5.7.2 and 11.1.17).
func (n *Node) endpoint(name string) (data.Value, data.Answer) {
	if !n.holder.s.Spend(len(n.Typ.Caps)) {
		return data.Value{}, data.Open
	}
	for _, c := range Keys(n.Typ.Caps) {
		if c := n.Typ.Caps[c]; c.Typ != nil && c.Typ.Doc.Embedded && c.Attrs[name] != nil {
			return data.Value{Def: c.Attrs[name]}, data.Open
		}
	}
	return data.Value{}, data.Missing
}

// Names lists what the node has, for messages.
func (n *Node) Names(m data.Member, of ...string) []string {
	switch {
	case n.Typ == nil:
		return nil
	case m == data.Artifact:
		var names []string
		for _, a := range n.holder.s.Artifacts(n) {
			names = append(names, a.Name)
		}
		return names
	case m != data.Output:
		return n.holder.names(m)
	}
	return outputs(n.interfaces(), of)
}

// interfaces is Interfaces for one who does not report on them.
func (n *Node) interfaces() map[string]*Interface {
	if n.faces == nil {
		n.faces = n.holder.s.QuietInterfaces(n)
	}
	return n.faces
}

func (n *Node) output(path []string) *data.Definition {
	return outputOf(n.interfaces(), path)
}

// outputs lists the interfaces, the operations of one, or the outputs of one;
// nil means that the outputs are not defined.
func outputs(faces map[string]*Interface, of []string) []string {
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

func outputOf(faces map[string]*Interface, path []string) *data.Definition {
	if len(path) < 3 || faces[path[0]] == nil || faces[path[0]].Operations[path[1]] == nil {
		return nil
	}
	return faces[path[0]].Operations[path[1]].Outputs[path[2]]
}

// artifact gives a marker for the file of an artifact.
func (n *Node) artifact(name string) (data.Value, data.Answer) {
	s := n.holder.s
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

// ArtifactRef is an artifact that get_artifact names.
type ArtifactRef struct {
	Node *Node
	Path string // in the archive; empty: it is not there, and said so
}

// capability is a capability of a node.
type capability struct {
	holder
	node *Node
	name string
	def  *CapabilityDef
}

func (c *capability) Describe() (data.EntityKind, string) {
	return data.CapabilityEntity, "capability " + quote(c.name) + " of " + quote(c.node.Name)
}

func (c *capability) Lead(data.Step) (data.Entity, data.Answer) { return nil, data.Open }

func (c *capability) Get(m data.Member, name ...string) (data.Value, data.Answer) {
	return c.get(m, name[0])
}

func (c *capability) Names(m data.Member, _ ...string) []string { return c.names(m) }

// capability gives a capability of the node; nil if its type has none of this
// name.
func (n *Node) capability(name string) *capability {
	if c, made := n.caps[name]; made || n.Typ == nil {
		return c
	}
	def := n.Typ.Caps[name]
	if def == nil || !n.holder.s.Spend(len(n.Capabilities)) {
		return nil
	}
	c := &capability{node: n, name: name, def: def}
	c.holder = holder{
		s: n.holder.s, self: n, of: n.Of() + ": capability " + quote(name), doc: n.Doc, pos: n.Pos,
		props: def.Props, attrs: def.Attrs, whole: def.whole, needed: n.Owned(),
	}
	for _, k := range n.Capabilities {
		if k.Name == name {
			c.assigned, c.attributes, c.pos = k.Properties, k.Attributes, k.Pos
		}
	}
	if n.caps == nil {
		n.caps = map[string]*capability{}
	}
	n.caps[name] = c
	return c
}

// checkCapabilities checks what a node template assigns to its capabilities.
func (s *Service) checkCapabilities(n *Node, required bool) {
	assigned := map[string]bool{}
	for _, k := range n.Capabilities {
		assigned[k.Name] = true
		if def := n.Typ.Caps[k.Name]; def != nil {
			s.checkMost(k.Counted, def.Max, n.Of()+": capability "+quote(k.Name))
			if k.Type.Name != "" {
				s.Errorf(k.Type.Pos, codeShape, "%s: capability %q must be a map, not a string", n.Of(), k.Name)
			}
		} else if !s.addsCapability(n, k) {
			s.Unknown(k.Pos, codeCapName, k.Name, suggestable(s, n.Typ.Caps), "%s has no capability %q", n.Of(), k.Name)
		}
		for _, d := range k.Directives {
			s.checkScope(d, n.Of()+": capability "+quote(k.Name))
		}
	}
	for name, def := range n.Typ.Caps {
		typ := ""
		if required && !n.Owned() && def.Typ != nil && (assigned[name] || !def.Typ.Doc.Embedded) {
			typ = Quoted(def.Typ)
		}
		if assigned[name] || typ != "" {
			if c := n.capability(name); c != nil {
				c.check(typ)
				c.checkScalable()
			}
		}
	}
}

// checkScalable checks that the number of instances to begin with is one that a
// Scalable allows (TOSCA 1.3, 5.5.13.1).
func (c *capability) checkScalable() {
	if !slices.ContainsFunc(Ancestors(c.def.Typ), func(t *grammar.Type) bool {
		return t.Name == "tosca.capabilities.Scalable" && t.Doc.Embedded
	}) {
		return
	}
	number := func(name string) (int64, *source.Node) {
		v := c.property(name)
		i, ok := data.Integer(v.Node)
		if !v.OK || !ok {
			return 0, nil
		}
		return i, v.Node
	}
	least, fewest := number("min_instances")
	most, largest := number("max_instances")
	begin, at := number("default_instances")
	if at != nil && (fewest != nil && begin < least || largest != nil && begin > most) {
		c.s.Errorf(at.Pos(), codeValueConstraint, "%s: default_instances is %d, which is not between min_instances and max_instances, %d and %d",
			c.of, begin, least, most)
	}
}

// checkScope checks a directive of a capability or requirement.
func (s *Service) checkScope(d grammar.Ref, of string) {
	if d.Name != "internal" && d.Name != "external" {
		s.Errorf(d.Pos, codeDirective, "%s: directive %q is neither internal nor external", of, d.Name)
	}
}

// Input, Inputs, Entity and Templates make the service a data.World.
func (s *Service) Input(name string) (data.Value, data.Answer) {
	in := s.inputs[name]
	switch {
	case s.inputs == nil: // in a type: it may be one of any topology that uses it
		return data.Value{}, data.Open
	case in == nil:
		return s.flowInput(name)
	case in.bad:
		return data.Value{}, data.Found // said where the input is
	case in.value.IsNull() && s.opts.Draft && in.open:
		return data.Value{Def: in.def}, data.Open
	}
	return data.Value{Node: in.value, Def: in.def, Size: in.size, OK: true}, data.Found
}

// Entity finds a node, relationship template or group by its name.
func (s *Service) Entity(name string) data.Entity {
	if s.byName == nil { // in a type, or an input: nothing is made yet
		return data.Anything
	}
	if n := s.byName[name]; n != nil {
		return n
	}
	if r := s.relations[name]; r != nil {
		return r
	}
	if g := s.groups[name]; g != nil {
		return g
	}
	return nil
}

// Templates lists the names that Entity knows.
func (s *Service) Templates() []string { return s.templateNames(anyNode) }
