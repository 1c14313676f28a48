package execute

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/toskose/toskose/manager/fleet"
	"github.com/toskose/toskose/manager/outcome"
	"github.com/toskose/toskose/manager/topology"
)

// drains holds the nodes whose containers are about to be replaced. Running operations finish there, and no new
// ones start. Clients' requests wait until the drain ends. The goal's operations are refused on the containers
// that existed when the drain began, but not on others, so that the goal can start components on their
// replacements.
type drains struct {
	mu       sync.Mutex
	of       map[string]*drain // by node
	underway map[string]int    // running executions that this manager started
}

// drain is the drain of one node.
type drain struct {
	instances []string
	until     time.Time
	lapse     *time.Timer
	ended     chan struct{} // closed when it ends
}

func newDrains() *drains { return &drains{of: map[string]*drain{}, underway: map[string]int{}} }

// enter waits until a node is not drained, and counts a new execution there.
func (d *drains) enter(ctx context.Context, node string) error {
	for {
		d.mu.Lock()
		now := d.of[node]
		if now == nil {
			d.underway[node]++
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
	return &outcome.Error{Kind: outcome.ErrUnavailable, Detail: fmt.Sprintf("node %q is drained: its containers are about to be replaced", node)}
}

// add counts an execution on an instance, unless that is drained.
func (d *drains) add(node, instance string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now := d.of[node]; now != nil && slices.Contains(now.instances, instance) {
		return drained(node)
	}
	d.underway[node]++
	return nil
}

// more counts another execution, in addition to one that is already counted.
func (d *drains) more(node string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.underway[node]++
}

func (d *drains) leave(node string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.underway[node]--
}

// begin drains a node, or extends its drain. It returns the drain, and how many executions that this manager
// started are still running there.
func (d *drains) begin(node string, instances []string, lease time.Duration) (now *drain, underway int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now = d.of[node]
	if now == nil {
		now = &drain{instances: instances, ended: make(chan struct{})}
		d.of[node] = now
	} else {
		now.lapse.Stop()
	}
	one := now
	now.until = time.Now().Add(lease)
	now.lapse = time.AfterFunc(lease, func() { d.end(node, one) })
	return &drain{instances: now.instances, until: now.until}, d.underway[node]
}

// end ends a node's drain. If one is not nil, it must be that drain, and must not have been extended.
func (d *drains) end(node string, one *drain) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.of[node]
	if now == nil || one != nil && (now != one || time.Now().Before(now.until)) {
		return
	}
	now.lapse.Stop()
	delete(d.of, node)
	close(now.ended)
}

// any returns an active drain and its node.
func (d *drains) any() (*drain, string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for node, now := range d.of {
		return now, node
	}
	return nil, ""
}

// Drained is a node that is drained.
type Drained struct {
	Instances []string // on which new operations are blocked
	Underway  int      // running executions that this manager started
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
	now, underway := e.drains.begin(n.Name(), instances, lease)
	return Drained{now.instances, underway, now.until}
}

// EndDrain allows executions again.
func (e *Engine) EndDrain(n *topology.Node) { e.drains.end(n.Name(), nil) }

// Enter waits until a node is not drained, and counts an execution there until leave is called.
func (e *Engine) Enter(ctx context.Context, n *topology.Node) (leave func(), err error) {
	ctx, cancel := e.living(ctx)
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
	ctx, cancel := e.living(ctx)
	defer cancel()
	return now.wait(ctx, node) == nil
}

// living returns a context that ends with the fleet, too.
func (e *Engine) living(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(e.fleet.Life(), cancel)
	return ctx, func() { stop(); cancel() }
}

// counted counts an execution on a replica until leave is called.
func (e *Engine) counted(r fleet.Replica, instance string) (leave func(), err error) {
	if err := e.drains.add(r.Node.Name(), instance); err != nil {
		return nil, err
	}
	return func() { e.drains.leave(r.Node.Name()) }, nil
}
