package manager

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/toskose/toskose/manager/discovery"
	"github.com/toskose/toskose/manager/unitclient"
	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/tosca"
)

// Containers finds containers; *discovery.DNS does.
type Containers interface {
	// Replicas gives the addresses of the units of a node; discovery.ErrNone
	// when there is none.
	Replicas(ctx context.Context, alias string, port int) ([]netip.AddrPort, error)
	// Running gives the addresses of a container without a unit that runs.
	Running(ctx context.Context, alias string, ports []int) ([]netip.Addr, error)
}

// Options are what an App needs beside the model. A zero duration or number
// means its default.
type Options struct {
	Containers Containers
	Passwords  map[string]string // of each toskosed node's unit
	Limits     unitclient.Limits
	TLS        *tls.Config // how units are spoken to; nil: in the clear
	Logger     *slog.Logger

	Poll       time.Duration // how long one question to a journal waits; 30 s
	Patience   time.Duration // how long a unit that an execution runs on may be silent; 30 s
	Backoff    time.Duration // before a question is asked again; doubles up to 2 s; 100 ms
	Rediscover time.Duration // how often those who follow events look for new replicas; 5 s
	Fresh      time.Duration // how long the answer to Ready is kept; 1 s
	Remember   int           // ended executions; 1,000
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Poll <= 0 {
		o.Poll = 30 * time.Second
	}
	if o.Patience <= 0 {
		o.Patience = 30 * time.Second
	}
	if o.Backoff <= 0 {
		o.Backoff = 100 * time.Millisecond
	}
	if o.Rediscover <= 0 {
		o.Rediscover = 5 * time.Second
	}
	if o.Fresh <= 0 {
		o.Fresh = time.Second
	}
	if o.Remember <= 0 {
		o.Remember = 1000
	}
	return o
}

// App is one application. Its methods may be called by many goroutines.
type App struct {
	app   *tosca.Application
	nodes []*node
	pool  *unitclient.Pool
	opts  Options
	log   *slog.Logger

	executions *memory
	ready      readiness

	life    context.Context // ends with Close
	end     context.CancelFunc
	running sync.WaitGroup
}

// New makes the application of a model and its completed configuration.
func New(app *tosca.Application, conf *config.Config, opts Options) (*App, error) {
	opts = opts.withDefaults()
	if opts.Containers == nil {
		return nil, errors.New("manager: no way to find containers")
	}
	nodes, err := index(app, conf, opts.Passwords)
	if err != nil {
		return nil, err
	}
	a := &App{
		app: app, nodes: nodes, opts: opts, log: opts.Logger,
		pool: newPool(opts), executions: newMemory(opts.Remember),
	}
	a.life, a.end = context.WithCancel(context.Background())
	return a, nil
}

// Close ends every wait. What runs on the units goes on there, and their
// journals keep how it ends.
func (a *App) Close() {
	a.end()
	a.running.Wait()
	a.pool.Close()
}

// detached gives a context that ends with the App and not with the request:
// a client that hangs up cancels nothing.
func (a *App) detached(ctx context.Context) (context.Context, context.CancelFunc) {
	return a.bounded(context.WithoutCancel(ctx))
}

// bounded gives a context that ends with the App, too.
func (a *App) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(a.life, cancel)
	return ctx, func() { stop(); cancel() }
}

// replica is one container of a toskosed node.
type replica struct {
	node *node
	addr netip.AddrPort
	unit *unitclient.Client
}

// String names the replica in errors.
func (r replica) String() string {
	return fmt.Sprintf("replica %s of node %q", r.addr, r.node.name())
}

// replicas finds the containers of a toskosed node: all, or the one that which
// names by address, address and port, or instance.
func (a *App) replicas(ctx context.Context, n *node, which string) ([]replica, error) {
	if !n.toskosed {
		return nil, &Error{Kind: ErrStandalone, Detail: fmt.Sprintf(
			"node %q is standalone: its container has no unit, so it is the orchestrator's to start, stop and read the log of", n.name())}
	}
	addrs, err := a.opts.Containers.Replicas(ctx, n.conf.Alias, n.conf.Port)
	if err != nil {
		return nil, &Error{Kind: ErrUnreachable, Detail: fmt.Sprintf("node %q: %v", n.name(), err), cause: err}
	}
	all := make([]replica, 0, len(addrs))
	for _, addr := range addrs {
		r := replica{node: n, addr: addr, unit: a.pool.Client(addr, n.credentials)}
		if which == addr.String() || which == addr.Addr().String() {
			return []replica{r}, nil
		}
		all = append(all, r)
	}
	if which == "" {
		return all, nil
	}
	return oneInstance(ctx, all, which)
}

// oneInstance asks all replicas for the one of an instance.
func oneInstance(ctx context.Context, all []replica, instance string) ([]replica, error) {
	var names []string
	for i, seen := range each(all, func(r replica) observed { return observe(ctx, r) }) {
		if seen.err == nil && seen.snapshot.Instance == instance {
			return all[i : i+1], nil
		}
		names = append(names, all[i].addr.String())
	}
	return nil, &Error{
		Kind: ErrUnknownReplica, Candidates: names,
		Detail: fmt.Sprintf("node %q has no replica with the address or instance %q", all[0].node.name(), instance),
	}
}

// each calls f for every item at the same time and gives the results in order.
func each[T, R any](items []T, f func(T) R) []R {
	results := make([]R, len(items))
	var all sync.WaitGroup
	for i, item := range items {
		all.Go(func() { results[i] = f(item) })
	}
	all.Wait()
	return results
}

var _ Containers = (*discovery.DNS)(nil)

func newPool(opts Options) *unitclient.Pool {
	if opts.TLS != nil {
		return unitclient.NewTLSPool(opts.Limits, opts.TLS)
	}
	return unitclient.NewPool(opts.Limits)
}
