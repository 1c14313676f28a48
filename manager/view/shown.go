package view

import (
	"slices"
	"sync"

	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/mirror"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/manager/topology"
)

// shown caches the last views of nodes. A view is reused until the node changes, or a node that it depends on.
type shown struct {
	mu    sync.Mutex
	nodes map[string]shownNode
}

type shownNode struct {
	of    []*mirror.Node
	tasks []*goal.TaskStatus
	view  rest.Node
}

// OfNodes returns the views of nodes with their components, without processes.
func (r *Rules) OfNodes(l Look, nodes []*topology.Node) []rest.Node {
	r.shown.mu.Lock()
	defer r.shown.mu.Unlock()
	if r.shown.nodes == nil {
		r.shown.nodes = map[string]shownNode{}
	}
	views := make([]rest.Node, len(nodes))
	for i, n := range nodes {
		of, tasks := []*mirror.Node{l.Node(n.Name())}, l.tasks.on(nil, n.Name())
		for _, provider := range r.model.Providers(n.Name()) {
			of, tasks = append(of, l.Node(provider)), l.tasks.on(tasks, provider)
		}
		last := r.shown.nodes[n.Name()]
		if !slices.Equal(last.of, of) || !slices.Equal(last.tasks, tasks) {
			last = shownNode{of, tasks, OfNode(l, n, nil)}
			r.shown.nodes[n.Name()] = last
		}
		views[i] = last.view
	}
	return views
}
