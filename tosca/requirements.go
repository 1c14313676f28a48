package tosca

import (
	"maps"
	"slices"

	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/inherit"
	"github.com/toskose/toskose/tosca/internal/resolve"
	"github.com/toskose/toskose/tosca/internal/source"
)

// classes maps relationship types to their meaning for TosKer, regardless of the
// requirement's name.
var classes = map[string]string{
	"tosca.relationships.HostedOn":   protocol.Host,
	"tosca.relationships.ConnectsTo": protocol.Connection,
	"tosca.relationships.DependsOn":  protocol.Dependency,
	"tosca.relationships.AttachesTo": protocol.Storage,
}

func classOf(chain []*grammar.Type) string {
	for _, t := range chain {
		if class := classes[t.Name]; class != "" {
			return class
		}
	}
	return ""
}

// linkNodes sets the meaning of each edge.
func (c *compiler) linkNodes() {
	for _, n := range c.nodes {
		if n.kind == foreign {
			continue
		}
		if len(n.Edges) > 0 {
			n.edges = make([]*edge, 0, len(n.Edges))
		}
		for _, r := range n.Edges {
			if e := c.link(n, r); e != nil {
				n.edges = append(n.edges, e)
			}
		}
		c.checkRepeated(n)
	}
}

// checkRepeated warns of a repeated connection or dependency, as the author may have
// meant another node.
func (c *compiler) checkRepeated(n *node) {
	if len(n.edges) < 2 {
		return
	}
	type said struct {
		name, capability, relationship string
		target                         *node
	}
	seen := make(map[said]bool, len(n.edges))
	for _, e := range n.edges {
		if e.class != protocol.Connection && e.class != protocol.Dependency || e.Inline != nil || e.Count != nil {
			continue
		}
		key := said{e.Name, e.Capability.Name, e.Relationship.Name, e.target}
		if seen[key] {
			c.Warnf(e.Pos, code.ReqAgain, "%s: requirement %q names %q again", n.Of(), e.Name, e.target.Name)
		}
		seen[key] = true
	}
}

// link returns one edge, or nil if it has an error, which is reported.
func (c *compiler) link(n *node, r *resolve.Edge) *edge {
	of := func() string { return n.Of() + ": requirement " + quote(r.Name) }
	e := &edge{Edge: r, class: c.class(r.Relation, r.Def), target: c.byNode[r.Target]}
	if e.class == "" {
		c.Errorf(r.Pos, code.ReqClass, "%s has a relationship that is not derived from HostedOn, ConnectsTo, DependsOn or AttachesTo", of())
		return nil
	}
	if e.target.kind == foreign {
		return nil // already reported
	}
	if !accepts(e.class, e.target.kind) {
		c.Errorf(r.Node.Pos, code.ReqKind, "%s names %q, which is a %s and cannot be a %s", of(), e.target.Name, e.target.kind, e.class)
		return nil
	}
	c.checkTaskTarget(e, of())
	if e.class == protocol.Storage {
		e.location = c.location(e, of())
	}
	return e
}

// class returns the meaning of a requirement: by its relationship, or else by its
// capability.
func (c *compiler) class(rel *grammar.Type, def *inherit.RequirementDef) string {
	if rel != nil {
		return classOf(c.Chain(rel))
	}
	if def != nil {
		for _, t := range c.Chain(def.Capability) {
			switch t.Name {
			case "tosca.capabilities.Container":
				return protocol.Host
			case "tosca.capabilities.Endpoint":
				return protocol.Connection
			case "tosca.capabilities.Attachment":
				return protocol.Storage
			case "tosca.capabilities.Node":
				return protocol.Dependency
			}
		}
	}
	return ""
}

// accepts reports whether a node of a kind may be the target of a class of requirements.
func accepts(class string, k kind) bool {
	switch class {
	case protocol.Host, protocol.Connection:
		return k == container || k == software
	case protocol.Storage:
		return k == volume
	default:
		return k != foreign
	}
}

// location returns where a volume is attached: written inline, in a relationship
// template, or the default of the relationship type.
func (c *compiler) location(e *edge, of string) *source.Node {
	defs := map[string]*grammar.Property{}
	for _, t := range slices.Backward(c.Chain(e.Relation)) {
		for _, p := range t.Properties {
			defs[p.Name] = p
		}
	}
	for k := range e.Properties.Pairs() {
		if defs[k.Text] == nil {
			c.Unknown(k.Pos(), code.PropUnknown, k.Text, slices.Sorted(maps.Keys(defs)), "%s: the relationship has no property %q", of, k.Text)
		}
	}
	written := e.Properties.Get("location")
	if written.IsNull() && defs["location"] != nil {
		written = defs["location"].Default
	}
	if written.IsNull() {
		c.Errorf(e.Pos, code.ReqLocation, "%s does not say where to attach %q: give the relationship a property \"location\"", of, e.target.Name)
		return nil
	}
	return written
}

// checkHosts checks that each component has exactly one host, and finds its container.
func (c *compiler) checkHosts() {
	for _, n := range c.nodes {
		if n.kind == foreign {
			continue
		}
		hosts := make([]*edge, 0, 2)
		for _, e := range n.edges {
			if e.class == protocol.Host {
				hosts = append(hosts, e)
			}
		}
		switch {
		case n.kind != software && len(hosts) > 0:
			c.Errorf(hosts[0].Pos, code.ReqKind, "%s cannot be hosted on anything", n.Of())
		case n.kind == software && len(hosts) > 1:
			c.Errorf(hosts[1].Pos, code.ReqMany, "%s has two hosts, %q and %q: it needs exactly one", n.Of(), hosts[0].target.Name, hosts[1].target.Name)
		case len(hosts) == 1 && n.Host == hosts[0].Target: // else a cycle (already reported)
			n.host = hosts[0].target
		case n.kind == software && len(hosts) == 0 && n.otherHost() != nil:
			e := n.otherHost()
			c.Errorf(e.Pos, code.ReqMissing, "%s has no host: its requirement \"host\" is a %s, by its relationship %q", n.Of(), e.class, e.Relation.Name)
		case n.kind == software && len(hosts) == 0 && !c.triedHost(n):
			c.Errorf(n.Pos, code.ReqMissing, "%s has no host: it needs requirement \"host\", naming a container or a component", n.Of())
		}
	}
	for _, n := range c.nodes {
		findBase(n)
	}
	for _, n := range c.nodes {
		n.left = n.kind == foreign || (n.kind == software && n.base == nil)
	}
	for _, n := range c.nodes {
		n.edges = slices.DeleteFunc(n.edges, func(e *edge) bool { return e.target.left })
	}
}

// otherHost returns a requirement named host that is of another class, or nil.
func (n *node) otherHost() *edge {
	for _, e := range n.edges {
		if e.Name == protocol.Host && e.class != protocol.Host && e.Relation != nil {
			return e
		}
	}
	return nil
}

// findBase sets the container of a node, and of all nodes on the way.
func findBase(n *node) {
	var way []*node
	at := n
	for ; at != nil && !at.walked; at = at.host {
		at.walked = true
		way = append(way, at)
	}
	var base *node
	switch {
	case at != nil:
		base = at.base
	case way != nil && way[len(way)-1].kind == container:
		base = way[len(way)-1]
	}
	for _, m := range way {
		m.base = base
	}
}

// triedHost reports whether a host requirement has an error.
func (c *compiler) triedHost(n *node) bool {
	linked := func(r *grammar.Requirement) bool {
		return slices.ContainsFunc(n.edges, func(e *edge) bool { return e.Requirement == r })
	}
	return slices.ContainsFunc(n.Requirements, func(r *grammar.Requirement) bool {
		def := n.Typ.Requirement(r.Name)
		return !linked(r) && (r.Name == protocol.Host || (def != nil && c.class(def.Relation, def) == protocol.Host))
	})
}
