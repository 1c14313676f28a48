package tosca

import (
	"slices"

	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/inherit"
	"github.com/toskose/toskose/tosca/protocol"
)

const (
	typeProtocol = "tosker.policies.Protocol"
	typeUnit     = "tosker.groups.DeploymentUnit"
)

// units makes the model of the deployment units.
func (c *compiler) units() []Unit {
	var all []Unit
	for _, t := range c.Topo.Groups {
		g := c.Groups[t.Name]
		if !inherit.ChainHas(c.Chain(g.Typ), typeUnit) {
			continue
		}
		u := Unit{Name: g.Name}
		for _, n := range c.Members(t) {
			u.Members = append(u.Members, n.Name)
		}
		slices.Sort(u.Members)
		all = append(all, u)
	}
	sortBy(all, func(u *Unit) string { return u.Name })
	return all
}

// policies are the protocols of nodes: those that policies give them, and the
// usual ones, which nodes of one kind share.
type policies struct {
	own                         map[*node]protocol.Protocol
	container, volume, software protocol.Protocol
}

// of returns a node's protocol: its policy's, or the default of its kind.
func (p *policies) of(n *node) protocol.Protocol {
	if own, ok := p.own[n]; ok {
		return own
	}
	switch n.kind {
	case container:
		return p.container
	case volume:
		return p.volume
	default:
		return p.software
	}
}

// protocols reads all policies. One that is not a protocol says nothing about
// what is run; its names are checked all the same.
func (c *compiler) protocols() *policies {
	all, by := map[*node]protocol.Protocol{}, map[*node]string{}
	for _, p := range c.Policies {
		if p.Typ == nil || p.Unfit || !inherit.ChainHas(c.Chain(p.Typ), typeProtocol) {
			continue
		}
		of := "policy " + quote(p.Name)
		if len(p.Targets) == 0 {
			c.Warnf(p.Pos, code.PolicyIdle, "%s is a protocol of nothing: it has no targets", of)
		}
		props := p.Values()
		for _, target := range p.Nodes {
			n := c.byNode[target]
			if by[n] == p.Name {
				continue // it is in a group, too
			}
			if other, twice := by[n]; twice {
				c.Errorf(p.Pos, code.PolicyTwice, "%s gives %s a protocol, and so does policy %q", of, n.Of(), other)
				continue
			}
			by[n] = p.Name
			if n.Typ == nil || n.kind == foreign {
				continue
			}
			all[n] = c.readProtocol(n, props, of)
		}
	}
	return &policies{own: all, container: protocol.Container(), volume: protocol.Volume(), software: protocol.Software()}
}
