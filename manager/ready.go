package manager

import (
	"context"
	"sync"
	"time"
)

// NotReady is a node that keeps the application from being ready.
type NotReady struct {
	Node string `json:"node"`
	Why  string `json:"why"`
}

// readiness keeps the last result for a moment: asking takes no password, and
// must not keep all units busy.
type readiness struct {
	mu    sync.Mutex
	asked time.Time
	last  []NotReady
	count int
}

// Ready returns the toskosed nodes without a unit that answers, and the number of
// units that do.
func (a *App) Ready(ctx context.Context) ([]NotReady, int) {
	a.ready.mu.Lock()
	defer a.ready.mu.Unlock()
	if time.Since(a.ready.asked) < a.opts.Fresh {
		return a.ready.last, a.ready.count
	}
	// The result is for other callers, too.
	ctx, cancel := a.detached(ctx)
	defer cancel()
	a.ready.last, a.ready.count = []NotReady{}, 0
	views := each(a.nodes, func(n *node) NodeView {
		if !n.toskosed {
			return NodeView{State: NodeRunning}
		}
		return a.view(ctx, n, statesOnly)
	})
	for _, view := range views {
		for _, r := range view.Replicas {
			if r.Problem == "" {
				a.ready.count++
			}
		}
		if view.State != NodeRunning && view.State != NodeDegraded {
			a.ready.last = append(a.ready.last, NotReady{Node: view.Name, Why: view.Why})
		}
	}
	a.ready.asked = time.Now()
	return a.ready.last, a.ready.count
}
