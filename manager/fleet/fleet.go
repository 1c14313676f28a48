// Package fleet is what the units of an application report and do: their state (manager/mirror), requests to
// several of them, executions, and the history of executions. It retries when a response gets lost, and waits until
// reads show the result.
//
// A Fleet owns the application's mirror, and the goroutines started by Go: one for each replica on which an
// execution of its Engine runs. Calls end with the Fleet, or with their context; calls with a detached context end
// only with the Fleet.
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

// Options configure a Fleet. All fields but TLS are required.
type Options struct {
	Model      *topology.Application
	Containers mirror.Containers
	Limits     unitclient.Limits
	TLS        *tls.Config // for requests to units; nil: plain HTTP
	Logger     *slog.Logger

	Poll     time.Duration // how long a long poll of a unit waits
	Patience time.Duration // how long a unit may be unresponsive during an execution
	Backoff  time.Duration // delay before a retry; doubles up to 2 s
	Discover time.Duration // interval between lookups of a node's replicas
	Settle   time.Duration // how long a response is delayed until reads show its effect
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

// New returns a Fleet that discovers its containers until Close.
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
	for _, n := range f.opts.Model.Nodes {
		spec := mirror.Spec{Name: n.Name(), Alias: n.Alias(), Port: n.Port()}
		if n.Toskosed {
			spec.Unit = func(addr netip.AddrPort) mirror.Unit { return f.unit(n, addr) }
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

// Go calls do in a new goroutine. Close ends its context and waits for it.
func (f *Fleet) Go(do func(life context.Context)) { f.running.Go(func() { do(f.life) }) }

// Close ends every wait. Running executions continue on the units, and their journals record how they end.
func (f *Fleet) Close() {
	f.end()
	f.running.Wait()
	f.Mirror.Close()
	f.pool.Close()
}

// Life returns a context that ends with Close.
func (f *Fleet) Life() context.Context { return f.life }

// withLife returns a context that ends with the Fleet, too.
func (f *Fleet) withLife(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(f.life, cancel)
	return ctx, func() { stop(); cancel() }
}

// Detached returns a context that ends with the Fleet but not with the request: a client that disconnects cancels
// nothing.
func (f *Fleet) Detached(ctx context.Context) (context.Context, context.CancelFunc) {
	return f.withLife(context.WithoutCancel(ctx))
}

// Complete returns the snapshot once the state of all nodes is known.
func (f *Fleet) Complete(ctx context.Context) *mirror.Snapshot {
	now, _ := f.When(ctx, (*mirror.Snapshot).Complete)
	return now
}

// Known returns the snapshot once the state of a node is known.
func (f *Fleet) Known(ctx context.Context, n *topology.Node) *mirror.Snapshot {
	now, _ := f.When(ctx, func(s *mirror.Snapshot) bool { return s.Node(n.Name()).Known })
	return now
}

// maxConcurrent is the maximum number of concurrent calls in EachLimited.
const maxConcurrent = 16

// EachLimited is Each with limited concurrency, for long or numerous calls.
func EachLimited[T, R any](items []T, do func(T) R) []R {
	slots := make(chan struct{}, maxConcurrent)
	return Each(items, func(item T) R {
		slots <- struct{}{}
		defer func() { <-slots }()
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
