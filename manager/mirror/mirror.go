package mirror

import (
	"cmp"
	"context"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/toskose/toskose/manager/unitclient"
)

// Containers finds containers; *discovery.DNS implements it.
type Containers interface {
	// Replicas returns the addresses of a node's units; discovery.ErrNone if there are none.
	Replicas(ctx context.Context, alias string, port int) ([]netip.AddrPort, error)
	// Clients returns the addresses to which a node's name resolves for clients, or all.
	Clients(ctx context.Context, alias string) (addrs []netip.Addr, all bool, err error)
	// Running returns the addresses of a running container without a unit.
	Running(ctx context.Context, alias string, ports []int) ([]netip.Addr, error)
}

// Unit is the client of a unit; *unitclient.Client implements it.
type Unit interface {
	Journal(ctx context.Context, cursor string, wait time.Duration) (unitclient.Page, error)
}

// Spec is a node to watch.
type Spec struct {
	Name, Alias string
	Port        int                            // of its units
	Unit        func(addr netip.AddrPort) Unit // nil: it is standalone
	Ports       []int                          // TCP ports that a standalone container accepts on
}

// Options configure a Mirror. A zero duration or number means its default.
type Options struct {
	Containers Containers
	Nodes      []Spec
	Logger     *slog.Logger

	Poll     time.Duration // how long a long poll of a unit waits; 50 s
	Backoff  time.Duration // delay before a retry; doubles up to 2 s; 100 ms
	Discover time.Duration // interval between lookups of a node's replicas; 1 s
	Probe    time.Duration // interval between probes of a standalone container; 2 s
	Gone     time.Duration // how long a removed replica is shown; 60 s
	Missing  time.Duration // how long an unresponsive, undiscovered replica counts as possibly running; 5 min
	Events   int           // how many events are kept for reconnecting clients; 10,000
	Connect  int           // maximum number of concurrent first requests; 64
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Poll = cmp.Or(o.Poll, 50*time.Second)
	o.Backoff = cmp.Or(o.Backoff, 100*time.Millisecond)
	o.Discover = cmp.Or(o.Discover, time.Second)
	o.Probe = cmp.Or(o.Probe, 2*time.Second)
	o.Gone = cmp.Or(o.Gone, time.Minute)
	o.Missing = cmp.Or(o.Missing, 5*time.Minute)
	o.Events = cmp.Or(o.Events, 10_000)
	o.Connect = cmp.Or(o.Connect, 64)
	return o
}

// Mirror holds the state of all units. Its methods are safe for concurrent use.
type Mirror struct {
	opts  Options
	slots chan struct{} // limits concurrent first requests

	verifying sync.Mutex // held by Verify

	mu        sync.Mutex
	nodes     []*node
	version   uint64
	built     *Snapshot // the snapshot of version; nil: must be rebuilt
	events    ring
	removed   removed
	published map[string]Event // the last event of Publish for each component

	ctx     context.Context
	end     context.CancelFunc
	running sync.WaitGroup
}

// New returns a Mirror, which starts immediately.
func New(opts Options) *Mirror {
	opts = opts.withDefaults()
	m := &Mirror{opts: opts, slots: make(chan struct{}, opts.Connect), events: newRing(opts.Events)}
	m.ctx, m.end = context.WithCancel(context.Background())
	for _, spec := range opts.Nodes {
		n := &node{spec: spec, replicas: map[netip.AddrPort]*place{}, changed: true}
		m.nodes = append(m.nodes, n)
		watch := m.discover
		if spec.Unit == nil {
			watch = m.probe
		}
		m.running.Go(func() { watch(n) })
	}
	return m
}

// Close stops the Mirror. Its snapshots stay readable.
func (m *Mirror) Close() {
	m.end()
	m.running.Wait()
}

// Snapshot returns the current state.
func (m *Mirror) Snapshot() *Snapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.snapshot()
}

// When returns the first snapshot for which wanted returns true. If ctx or the Mirror ends first, it returns the
// last snapshot and the context's error.
func (m *Mirror) When(ctx context.Context, wanted func(*Snapshot) bool) (*Snapshot, error) {
	for {
		now := m.Snapshot()
		if wanted(now) {
			return now, nil
		}
		select {
		case <-now.Superseded():
		case <-ctx.Done():
			return now, ctx.Err()
		case <-m.ctx.Done():
			return now, m.ctx.Err()
		}
	}
}

// Await returns when snapshots include an entry of an instance's journal, or the instance is removed.
func (m *Mirror) Await(ctx context.Context, node string, addr netip.AddrPort, instance string, seq uint64) error {
	for {
		waited := m.awaiting(node, addr, instance, seq)
		if waited == nil {
			return nil
		}
		select {
		case <-waited:
		case <-ctx.Done():
			return ctx.Err()
		case <-m.ctx.Done():
			return m.ctx.Err()
		}
	}
}

// awaiting returns a channel that is closed when the check should be repeated; nil if the entry is included or never
// will be.
func (m *Mirror) awaiting(name string, addr netip.AddrPort, instance string, seq uint64) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range m.nodes {
		if n.spec.Name != name {
			continue
		}
		p := n.replicas[addr]
		if p == nil || p.now == nil || p.gone != nil && p.gone.Instance == instance || p.now.Instance == instance && p.now.Seq >= seq {
			return nil
		}
		if p.waited == nil {
			p.waited = make(chan struct{})
		}
		return p.waited
	}
	return nil
}

// snapshot rebuilds the changed parts. The caller holds the lock.
func (m *Mirror) snapshot() *Snapshot {
	if m.built != nil {
		return m.built
	}
	m.built = &Snapshot{Version: m.version, Nodes: make([]*Node, len(m.nodes)), superseded: make(chan struct{})}
	for i, n := range m.nodes {
		if n.changed {
			n.now, n.changed = n.build(), false
		}
		m.built.Nodes[i] = n.now
	}
	return m.built
}

// change marks a node as changed. The caller holds the lock.
func (m *Mirror) change(n *node) {
	n.changed = true
	m.version++
	if m.built != nil {
		close(m.built.superseded)
		m.built = nil
	}
}

// first calls f when a slot is free, unless ctx ends before.
func (m *Mirror) first(ctx context.Context, f func()) {
	select {
	case m.slots <- struct{}{}:
		defer func() { <-m.slots }()
		f()
	case <-ctx.Done():
	}
}
