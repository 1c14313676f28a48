package view

import (
	"slices"
	"sync"

	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/mirror"
	"github.com/toskose/toskose/manager/topology"
)

// shown are the last views of nodes. Each is shown again until the node changes, or one
// that what it requires is on.
type shown struct {
	mu    sync.Mutex
	nodes map[string]shownNode
}

type shownNode struct {
	of   []*mirror.Node
	goal *goal.Document
	view Node
}

// OfNodes shows nodes with their components, without processes.
func (r *Rules) OfNodes(l Look, nodes []*topology.Node) []Node {
	r.shown.mu.Lock()
	defer r.shown.mu.Unlock()
	if r.shown.nodes == nil {
		r.shown.nodes = map[string]shownNode{}
	}
	views := make([]Node, len(nodes))
	for i, n := range nodes {
		of := []*mirror.Node{l.Node(n.Name())}
		for _, provider := range r.model.Providers(n.Name()) {
			of = append(of, l.Node(provider))
		}
		last := r.shown.nodes[n.Name()]
		if last.goal != l.goal || !slices.Equal(last.of, of) {
			last = shownNode{of, l.goal, OfNode(l, n, nil)}
			r.shown.nodes[n.Name()] = last
		}
		views[i] = last.view
	}
	return views
}
