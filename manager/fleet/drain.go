package fleet

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/manager/topology"
)

// drains holds the nodes whose containers are about to be replaced. Running operations finish there, and no new
// ones start. Clients' requests wait until the drain ends. The goal's operations are refused on the containers
// that existed when the drain began, but not on others, so that the goal can start components on their
// replacements.
type drains struct {
	mu      sync.Mutex
	byNode  map[string]*drain
	running map[string]int // executions that this manager started, by node
}

// drain is the drain of one node.
type drain struct {
	instances []string
	until     time.Time
	expiry    *time.Timer
	ended     chan struct{} // closed when it ends
}

func newDrains() *drains { return &drains{byNode: map[string]*drain{}, running: map[string]int{}} }

// enter waits until a node is not drained, and counts a new execution there.
func (d *drains) enter(ctx context.Context, node string) error {
	for {
		d.mu.Lock()
		now := d.byNode[node]
		if now == nil {
			d.running[node]++
			d.mu.Unlock()
			return nil
		}
		d.mu.Unlock()
		if err := now.wait(ctx, node); err != nil {
			return err
		}
	}
}

// wait waits for the end of a drain.
func (d *drain) wait(ctx context.Context, node string) error {
	select {
	case <-d.ended:
		return nil
	case <-ctx.Done():
		return drained(node)
	}
}

func drained(node string) error {
	return &rest.Error{Kind: rest.ErrUnavailable, Detail: fmt.Sprintf("node %q is drained: its containers are about to be replaced", node)}
}

// addOn counts an execution on an instance, unless the instance is drained.
func (d *drains) addOn(node, instance string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now := d.byNode[node]; now != nil && slices.Contains(now.instances, instance) {
		return drained(node)
	}
	d.running[node]++
	return nil
}

// addStarted counts an execution whose start is already counted by enter.
func (d *drains) addStarted(node string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.running[node]++
}

func (d *drains) leave(node string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.running[node]--
}

// begin drains a node, or extends its drain. It returns the drain, and how many executions that this manager
// started are still running there.
func (d *drains) begin(node string, instances []string, lease time.Duration) (now *drain, running int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now = d.byNode[node]
	if now == nil {
		now = &drain{instances: instances, ended: make(chan struct{})}
		d.byNode[node] = now
	} else {
		now.expiry.Stop()
	}
	extended := now
	now.until = time.Now().Add(lease)
	now.expiry = time.AfterFunc(lease, func() { d.end(node, extended) })
	return &drain{instances: now.instances, until: now.until}, d.running[node]
}

// end ends a node's drain. If expired is not nil, the drain ends only if it is that one and was not extended.
func (d *drains) end(node string, expired *drain) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.byNode[node]
	if now == nil || expired != nil && (now != expired || time.Now().Before(now.until)) {
		return
	}
	now.expiry.Stop()
	delete(d.byNode, node)
	close(now.ended)
}

// any returns an active drain and its node.
func (d *drains) any() (*drain, string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for node, now := range d.byNode {
		return now, node
	}
	return nil, ""
}

// Drained is a node that is drained.
type Drained struct {
	Instances []string // on which new operations are blocked
	Running   int      // executions that this manager started
	Until     time.Time
}

// Drain blocks new operations on the current replicas of a node until the lease expires; another call extends it.
func (e *Engine) Drain(n *topology.Node, lease time.Duration) Drained {
	var instances []string
	for _, r := range e.fleet.Snapshot().Node(n.Name()).Replicas {
		if r.Gone.IsZero() && r.Instance != "" {
			instances = append(instances, r.Instance)
		}
	}
	now, running := e.drains.begin(n.Name(), instances, lease)
	return Drained{now.instances, running, now.until}
}

// EndDrain allows executions again.
func (e *Engine) EndDrain(n *topology.Node) { e.drains.end(n.Name(), nil) }

// Enter waits until a node is not drained, and counts an execution there until leave is called.
func (e *Engine) Enter(ctx context.Context, n *topology.Node) (leave func(), err error) {
	ctx, cancel := e.fleet.withLife(ctx)
	defer cancel()
	if err := e.drains.enter(ctx, n.Name()); err != nil {
		return nil, err
	}
	return func() { e.drains.leave(n.Name()) }, nil
}

// AwaitDrain waits for the end of an active drain. It reports whether there was one and it has ended.
func (e *Engine) AwaitDrain(ctx context.Context) bool {
	now, node := e.drains.any()
	if now == nil {
		return false
	}
	ctx, cancel := e.fleet.withLife(ctx)
	defer cancel()
	return now.wait(ctx, node) == nil
}
