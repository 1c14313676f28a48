// Package fleet finds the containers that a request is for, and asks their units:
// again if an answer gets lost, and until reads show what was answered.
//
// A Fleet owns the mirror of the application, and the goroutines that Go began. Its
// calls end with it, or with their context; those of a detached context with it alone.
package fleet

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/toskose/toskose/manager/mirror"
	"github.com/toskose/toskose/manager/topology"
	"github.com/toskose/toskose/manager/unitclient"
)

// Options configure a Fleet; all must be set, but TLS.
type Options struct {
	Nodes      []*topology.Node
	Containers mirror.Containers
	Limits     unitclient.Limits
	TLS        *tls.Config // for requests to units; nil: plain HTTP
	Logger     *slog.Logger

	Poll     time.Duration // how long one request to a unit waits for something to happen
	Patience time.Duration // how long a unit may be silent while it executes
	Backoff  time.Duration // before a request is sent again; doubles up to 2 s
	Discover time.Duration // how often the replicas of a node are looked for
	Settle   time.Duration // how long an answer waits until reads show what it says
}

// Fleet is the containers of one application. Its methods are safe for concurrent
// use.
type Fleet struct {
	*mirror.Mirror
	opts Options
	pool *unitclient.Pool
	life context.Context // ends with Close
	end  context.CancelFunc

	running sync.WaitGroup
}

// New returns a Fleet that looks for its containers until Close.
func New(opts Options) *Fleet {
	f := &Fleet{opts: opts, pool: newPool(opts)}
	f.life, f.end = context.WithCancel(context.Background())
	f.Mirror = f.newMirror()
	return f
}

func newPool(opts Options) *unitclient.Pool {
	if opts.TLS != nil {
		return unitclient.NewTLSPool(opts.Limits, opts.TLS)
	}
	return unitclient.NewPool(opts.Limits)
}

func (f *Fleet) newMirror() *mirror.Mirror {
	opts := mirror.Options{
		Containers: f.opts.Containers, Logger: f.opts.Logger, Poll: f.opts.Poll, Backoff: f.opts.Backoff, Discover: f.opts.Discover,
	}
	for _, n := range f.opts.Nodes {
		spec := mirror.Spec{Name: n.Name(), Alias: n.Alias(), Port: n.Port()}
		if n.Toskosed {
			spec.Unit = func(addr netip.AddrPort) mirror.Unit { return f.pool.Client(addr, n.Credentials) }
		}
		for _, p := range n.Model.Ports {
			if p.Protocol != "udp" {
				spec.Ports = append(spec.Ports, p.Container)
			}
		}
		opts.Nodes = append(opts.Nodes, spec)
	}
	return mirror.New(opts)
}

// Go calls do in a goroutine of its own. Close ends its context, and waits for it.
func (f *Fleet) Go(do func(life context.Context)) { f.running.Go(func() { do(f.life) }) }

// Close ends every wait. What the units are executing goes on there, and their
// journals record how it ends.
func (f *Fleet) Close() {
	f.end()
	f.running.Wait()
	f.Mirror.Close()
	f.pool.Close()
}

// Life ends with Close.
func (f *Fleet) Life() context.Context { return f.life }

// Detached returns a context that ends with the Fleet but not with the request: a
// client that hangs up cancels nothing.
func (f *Fleet) Detached(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(f.life, cancel)
	return ctx, func() { stop(); cancel() }
}

// Complete returns what is known, once all nodes are.
func (f *Fleet) Complete(ctx context.Context) *mirror.Snapshot {
	now, _ := f.When(ctx, (*mirror.Snapshot).Complete)
	return now
}

// Known returns what is known, once anything is of a node.
func (f *Fleet) Known(ctx context.Context, n *topology.Node) *mirror.Snapshot {
	now, _ := f.When(ctx, func(s *mirror.Snapshot) bool { return s.Node(n.Name()).Known })
	return now
}

// few is how many calls Few makes at the same time.
const few = 16

// Few is Each for what is long or numerous: not all are under way at the same time.
func Few[T, R any](items []T, do func(T) R) []R {
	room := make(chan struct{}, few)
	return Each(items, func(item T) R {
		room <- struct{}{}
		defer func() { <-room }()
		return do(item)
	})
}

// Each calls do for all items concurrently and returns the results in order.
func Each[T, R any](items []T, do func(T) R) []R {
	results := make([]R, len(items))
	var all sync.WaitGroup
	for i, item := range items {
		all.Go(func() { results[i] = do(item) })
	}
	all.Wait()
	return results
}
