package view

import (
	"slices"

	"github.com/toskose/toskose/manager/rest"
)

// Filter selects nodes and components. Empty fields match everything.
type Filter struct {
	Node   string            // name of the node
	Type   string            // of the node or component
	State  string            // of the node or component
	Labels map[string]string // that one replica of the node has, all of them
}

// Nodes returns the nodes that the filter selects, in order.
func (f Filter) Nodes(all []rest.Node) []rest.Node {
	return slices.DeleteFunc(all, func(n rest.Node) bool {
		return f.Type != "" && n.Type != f.Type || f.State != "" && n.State != f.State || !f.on(&n)
	})
}

// Components returns the components on nodes that the filter selects.
func (f Filter) Components(nodes []rest.Node) []rest.Component {
	found := []rest.Component{}
	for i := range nodes {
		if !f.on(&nodes[i]) {
			continue
		}
		for _, c := range nodes[i].Components {
			if (f.Type == "" || c.Type == f.Type) && (f.State == "" || c.State == f.State) {
				found = append(found, c)
			}
		}
	}
	return found
}

// on reports whether a node has the name, and one of its current replicas has the labels.
func (f Filter) on(n *rest.Node) bool {
	if f.Node != "" && n.Name != f.Node {
		return false
	}
	return len(f.Labels) == 0 || slices.ContainsFunc(n.Replicas, func(r rest.Replica) bool {
		for name, value := range f.Labels {
			if r.Labels[name] != value {
				return false
			}
		}
		return r.Gone.IsZero()
	})
}
