package resolve

import (
	"slices"

	"github.com/toskose/toskose/tosca/internal/code"
)

// findHosts finds what each node is hosted on, and cuts what is hosted on
// itself.
func (g *Graph) findHosts() {
	for _, n := range g.Nodes {
		n.Hosts, n.Host, n.walked = nil, nil, unwalked
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

// cutCycle follows the hosts of a node, once for all that are on the way, and
// cuts a cycle where it closes.
func (g *Graph) cutCycle(n *Node) {
	var way []*Node
	at := n
	for ; at != nil && at.walked == unwalked; at = at.Host {
		at.walked = walking
		way = append(way, at)
	}
	if at != nil && at.walked == walking {
		for _, m := range way[slices.Index(way, at):] {
			g.Errorf(m.Pos, code.ReqCycle, "%s is hosted on itself, through %s", m.Of(), m.Host.Of())
		}
		way[len(way)-1].Host = nil
	}
	for _, m := range way {
		m.walked = walkedOver
	}
}
