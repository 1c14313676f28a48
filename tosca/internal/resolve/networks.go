package resolve

import (
	"slices"

	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/source"
)

// The normative types of networks (TOSCA 1.3, 8.5).
const (
	typeNetwork = "tosca.nodes.network.Network"
	typePort    = "tosca.nodes.network.Port"
	typeBindsTo = "tosca.relationships.network.BindsTo"
)

// checkNetworks checks what the text says of networks and ports in prose.
func (s *Service) checkNetworks() {
	ports := map[*Node][]*Node{} // those that are bound to a node
	var bound []*Node
	for _, n := range s.Nodes {
		if n.Typ == nil || n.Owned() || second(n.Doc) {
			continue
		}
		if ChainHas(n.Typ.Chain, typeNetwork) {
			s.checkNetwork(n)
		}
		if !ChainHas(n.Typ.Chain, typePort) {
			continue
		}
		for _, e := range n.Edges {
			if e.Relation == nil || !ChainHas(s.Chain(e.Relation), typeBindsTo) {
				continue
			}
			if ports[e.Target] == nil {
				bound = append(bound, e.Target)
			}
			ports[e.Target] = append(ports[e.Target], n)
		}
	}
	for _, n := range bound {
		s.checkDefaults(n, ports[n])
		s.checkOrders(n, ports[n])
	}
}

// checkNetwork checks which properties of a network go together: one that is
// there already has an identifier and at most a name beside it, and what is flat
// or a VLAN is so on a physical network (TOSCA 1.3, 8.5.1.1).
func (s *Service) checkNetwork(n *Node) {
	said := func(name string) string {
		if n.holder.props[name] == nil || !n.holder.props[name].Doc.Embedded || n.Properties.Get(name).IsNull() {
			return ""
		}
		v := n.Property(name)
		if v.Later != nil || !v.OK {
			return "?"
		}
		return data.Text(v.Node)
	}
	if id := said("network_id"); id != "" && id != "?" {
		for k, v := range n.Properties.Pairs() {
			def := n.holder.props[k.Text]
			if k.Text != "network_id" && k.Text != "network_name" && def != nil && def.Doc.Embedded && !v.IsNull() {
				s.Errorf(k.Pos(), codePropTogether, "%s is network %s, which is there already, so property %q cannot be chosen: only network_name goes with network_id",
					n.Of(), quote(id), k.Text)
			}
		}
	}
	if kind := said("network_type"); (kind == "flat" || kind == "vlan") && said("physical_network") == "" {
		s.Warnf(n.Properties.Get("network_type").Pos(), codePropTogether, "%s is of network_type %q, and has no physical_network that it is on", n.Of(), kind)
	}
	if said("segmentation_id") != "" && said("network_type") == "" && said("physical_network") == "" {
		s.Warnf(n.Properties.Get("segmentation_id").Pos(), codePropTogether, "%s has a segmentation_id, and neither a network_type nor a physical_network", n.Of())
	}
}

// checkDefaults checks that one port of a node at most is the default one (TOSCA
// 1.3, 8.5.2.1).
func (s *Service) checkDefaults(n *Node, ports []*Node) {
	var first *Node
	for _, p := range ports {
		v := p.Property("is_default")
		if value, ok := v.Node.Word(); !v.OK || v.Later != nil || v.Node.IsNull() || !ok || !value {
			continue
		}
		if first != nil {
			s.Errorf(v.Node.Pos(), codePropTogether, "%s is the default port of %q, and so is %q: one of them can be", p.Of(), n.Name, first.Name)
			return
		}
		first = p
	}
}

// checkOrders warns of ports of one node whose order is not that of its network
// interfaces: where one says it, all do, from 0 on (TOSCA 1.3, 8.5.2.1).
func (s *Service) checkOrders(n *Node, ports []*Node) {
	if len(ports) < 2 || !s.Spend(len(ports)) {
		return
	}
	var at *source.Node
	var orders []int64
	for _, p := range ports {
		written := p.Properties.Get("order")
		if written.IsNull() {
			continue
		}
		v := p.Property("order")
		order, ok := data.Integer(v.Node)
		if !v.OK || v.Later != nil || !ok {
			return
		}
		at, orders = written, append(orders, order)
	}
	slices.Sort(orders)
	for i, order := range orders {
		if order != int64(i) {
			s.Warnf(at.Pos(), codePropTogether, "the ports of %q have the orders %v, which must be 0 to %d, one each", n.Name, orders, len(ports)-1)
			return
		}
	}
	if 0 < len(orders) && len(orders) < len(ports) {
		s.Warnf(at.Pos(), codePropTogether, "%d of the %d ports of %q have an order, and either all or none should", len(orders), len(ports), n.Name)
	}
}
