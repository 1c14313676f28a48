package mirror

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/toskose/toskose/internal/sleep"
	"github.com/toskose/toskose/manager/discovery"
)

// node is the mutable state behind a Node. The Mirror's lock guards all fields but spec.
type node struct {
	spec       Spec
	discovered bool // discovery has run
	waiting    int  // replicas of the first discovery that have neither responded nor failed
	problem    error
	replicas   map[netip.AddrPort]*place
	missing    []*Replica // undiscovered replicas that may still be running
	order      []*place   // by address; nil: must be rebuilt
	running    []netip.Addr
	clients    func(netip.Addr) bool // whether the node's name resolves to an address

	now     *Node
	changed bool
}

// place is an address with its current replica and its previous one.
type place struct {
	now        *Replica // nil: none
	gone       *Replica // nil: none, or removed too long ago
	follower   *follower
	waited     chan struct{} // closed when now changes; nil: no waiter
	resolvable bool          // the node's name resolves to it
	ended      bool          // its unit is known to have exited
	replaced   bool          // it is unresponsive, and another replica replaced it
	answered   time.Time     // when its unit last responded
	verified   time.Time     // when Verify last queried its unit
	unverified string        // the result of the last Verify; empty: the known state is current
}

// show sets the replica of the place, or a newer version of it. The caller holds the lock.
func (p *place) show(r *Replica) {
	if r != nil {
		r.Resolvable = p.resolvable
	}
	p.now = r
	if p.waited != nil {
		close(p.waited)
		p.waited = nil
	}
}

// errNotAnswered is the problem of a newly discovered replica.
var errNotAnswered = errors.New("its unit has not answered yet")

// hidden reports whether a replica is neither resolvable for clients nor responsive: it is starting or stopping,
// and its replacement may be at another address.
func (r *Replica) hidden() bool { return !r.Resolvable && r.Problem != nil }

// build returns the node's current state.
func (n *node) build() *Node {
	built := &Node{Name: n.spec.Name, Known: n.discovered && n.waiting == 0, Problem: n.problem, Running: n.running}
	if n.order == nil {
		for _, addr := range slices.SortedFunc(maps.Keys(n.replicas), netip.AddrPort.Compare) {
			n.order = append(n.order, n.replicas[addr])
		}
	}
	var gone []*Replica
	for _, p := range n.order {
		switch {
		case p.now != nil && !p.now.hidden():
			built.Replicas = append(built.Replicas, p.now)
		case p.mayRun():
			built.Missing = append(built.Missing, p.now)
		}
		if p.gone != nil {
			gone = append(gone, p.gone)
		}
	}
	built.Replicas = append(built.Replicas, gone...)
	built.Missing = append(built.Missing, n.missing...)
	return built
}

// discover looks for the replicas of a node repeatedly.
func (m *Mirror) discover(n *node) {
	lookUp := func() {
		found, err := m.opts.Containers.Replicas(m.ctx, n.spec.Alias, n.spec.Port)
		clients, all, problem := m.opts.Containers.Clients(m.ctx, n.spec.Alias)
		if m.ctx.Err() != nil {
			return
		}
		if problem == nil { // otherwise keep the previous result
			m.updateResolvable(n, clients, all)
		}
		m.updateReplicas(n, found, err)
	}
	for m.first(m.ctx, lookUp); m.ctx.Err() == nil; lookUp() {
		_ = sleep.For(m.ctx, m.opts.Discover)
	}
}

// updateReplicas updates the replicas of a node. If discovery failed, it keeps the known replicas; after ErrUnanswered, it
// keeps only the responsive ones.
func (m *Mirror) updateReplicas(n *node, found []netip.AddrPort, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !n.discovered || !same(n.problem, err) {
		n.problem = err
		m.change(n)
	}
	there := make(map[netip.AddrPort]bool, len(found))
	for _, addr := range found {
		there[addr] = true
		if p := n.replicas[addr]; p == nil || p.now == nil {
			m.addReplica(n, addr)
		}
	}
	known := err == nil || errors.Is(err, discovery.ErrNone)
	for addr, p := range n.replicas {
		unresponsive := p.now != nil && p.now.Problem != nil && errors.Is(err, discovery.ErrUnanswered)
		if p.now != nil && (known || unresponsive) && !there[addr] {
			m.removeReplica(n, p)
		}
		if p.gone != nil && time.Since(p.gone.Gone) >= m.opts.Gone {
			p.gone = nil
			m.change(n)
		}
		if p.now == nil && p.gone == nil {
			delete(n.replicas, addr)
			n.order = nil
		}
	}
	if n.dropMissing(m.opts.Missing) {
		m.change(n)
	}
	n.discovered = true
}

// updateResolvable updates which replicas a node's name resolves to for clients.
func (m *Mirror) updateResolvable(n *node, clients []netip.Addr, all bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n.clients = func(addr netip.Addr) bool { return all || slices.Contains(clients, addr) }
	for addr, p := range n.replicas {
		resolvable := n.clients(addr.Addr())
		if p.resolvable == resolvable {
			continue
		}
		p.resolvable = resolvable
		if p.now != nil {
			r := *p.now
			p.show(&r)
			m.change(n)
		}
	}
}

// same reports whether two problems have the same text.
func same(a, b error) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Error() == b.Error()
}

// addReplica starts following the unit at an address. If a replica was there a moment ago, it continues from that
// replica's state. The caller holds the lock.
func (m *Mirror) addReplica(n *node, addr netip.AddrPort) {
	p := n.replicas[addr]
	if p == nil {
		p = &place{}
		n.replicas[addr], n.order = p, nil
	}
	r := Replica{Node: n.spec.Name, Address: addr, heard: new(atomic.Int64)}
	if p.gone != nil {
		r, p.gone = *p.gone, nil
		r.Gone = time.Time{}
	}
	p.resolvable = n.clients != nil && n.clients(addr.Addr())
	n.removeMissing(r.Instance)
	p.ended, p.replaced = false, false
	r.Problem, r.Since = errNotAnswered, time.Now()
	p.show(&r)
	f := &follower{m: m, node: n, place: p, unit: n.spec.Unit(addr), first: !n.discovered}
	if f.first {
		n.waiting++
	}
	var ctx context.Context
	ctx, f.cancel = context.WithCancel(m.ctx)
	p.follower = f
	m.change(n)
	m.running.Go(func() { f.run(ctx) })
}

// removeReplica stops following a replica that is no longer discovered. The caller holds the lock.
func (m *Mirror) removeReplica(n *node, p *place) {
	n.addMissing(p)
	p.follower.completeFirst()
	if p.mayRun() && p.now.Problem == nil {
		p.follower.followUntilStopped(p.now.Instance)
	} else {
		p.follower.cancel()
	}
	p.follower = nil
	m.showRemoved(p, "it is no longer found")
	p.show(nil)
	m.change(n)
}

// showRemoved shows the replica of a place as removed, if its unit ever responded. The caller holds the lock.
func (m *Mirror) showRemoved(p *place, why string) {
	if p.now.Instance == "" {
		return
	}
	gone := *p.now
	gone.Gone = time.Now()
	p.gone = &gone
	m.removed.add(&gone)
	m.opts.Logger.Info("replica gone", "node", gone.Node, "replica", gone.Address, "instance", gone.Instance, "why", why)
	m.events.add(Event{Kind: EventVanished, Time: gone.Gone, Node: gone.Node, Replica: gone.Address.String(), Instance: gone.Instance, Why: why})
}

// maxMisses is how many checks in a row must fail before a standalone container counts as stopped.
const maxMisses = 2

// probe checks repeatedly whether a standalone container is running, and more often while it is not, because
// components wait for it.
func (m *Mirror) probe(n *node) {
	missed := maxMisses
	check := func() {
		running, err := m.opts.Containers.Running(m.ctx, n.spec.Alias, n.spec.Ports)
		if err == nil {
			missed = 0
		} else {
			missed++
		}
		if m.ctx.Err() != nil || err != nil && missed < maxMisses {
			return
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		if !n.discovered || !same(n.problem, err) || !slices.Equal(n.running, running) {
			n.discovered, n.problem, n.running = true, err, running
			m.change(n)
		}
	}
	for m.first(m.ctx, check); m.ctx.Err() == nil; check() {
		interval := m.opts.Probe
		if missed >= maxMisses {
			interval /= 4
		}
		_ = sleep.For(m.ctx, interval)
	}
}
