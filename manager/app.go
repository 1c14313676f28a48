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

// Containers finds containers; *discovery.DNS implements it.
type Containers interface {
	// Replicas returns the addresses of the units of a node; discovery.ErrNone
	// when there is none.
	Replicas(ctx context.Context, alias string, port int) ([]netip.AddrPort, error)
	// Running returns the addresses of a container without a unit that runs.
	Running(ctx context.Context, alias string, ports []int) ([]netip.Addr, error)
}

// Options configure an App. A zero duration or number means its default.
type Options struct {
	Containers Containers
	Passwords  map[string]string // of each toskosed node's unit
	Limits     unitclient.Limits
	TLS        *tls.Config // for requests to units; nil: plain HTTP
	Logger     *slog.Logger

	Poll       time.Duration // how long one request to a unit waits for something to happen; 30 s
	Patience   time.Duration // how long a unit may be silent while it executes; 30 s
	Backoff    time.Duration // before a request is sent again; doubles up to 2 s; 100 ms
	Rediscover time.Duration // how often Events looks for new replicas; 5 s
	Fresh      time.Duration // how long the result of Ready is kept; 1 s
	Remember   int           // how many ended executions are kept; 1,000
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

// App is one application. Its methods are safe for concurrent use.
type App struct {
	app   *tosca.Application
	nodes []*node
	pool  *unitclient.Pool
	opts  Options
	log   *slog.Logger

	executions *memory
	instances  instances
	ready      readiness

	life    context.Context // ends with Close
	end     context.CancelFunc
	running sync.WaitGroup
}

// New returns the application of a model and its completed configuration.
func New(app *tosca.Application, conf *config.Config, opts Options) (*App, error) {
	opts = opts.withDefaults()
	if opts.Containers == nil {
		return nil, errors.New("manager: Options.Containers is missing")
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

// Close ends every wait. What the units are executing goes on there, and their
// journals record how it ends.
func (a *App) Close() {
	a.end()
	a.running.Wait()
	a.pool.Close()
}

// detached returns a context that ends with the App but not with the request: a
// client that hangs up cancels nothing.
func (a *App) detached(ctx context.Context) (context.Context, context.CancelFunc) {
	return a.bounded(context.WithoutCancel(ctx))
}

// bounded returns a context that also ends with the App.
func (a *App) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(a.life, cancel)
	return ctx, func() { stop(); cancel() }
}

// replica is one container of a toskosed node.
type replica struct {
	node     *node
	addr     netip.AddrPort
	instance string // that the caller named; empty: any
	unit     *unitclient.Client
}

// String names the replica in errors.
func (r replica) String() string {
	return fmt.Sprintf("replica %s of node %q", r.addr, r.node.name())
}

// replicas finds the containers of a toskosed node: all, or the one whose
// address, address and port, or instance is which.
func (a *App) replicas(ctx context.Context, n *node, which string) ([]replica, error) {
	if !n.toskosed {
		return nil, &Error{Kind: ErrStandalone, Detail: fmt.Sprintf(
			"node %q is standalone: its container has no unit, so the orchestrator starts it, stops it and keeps its log", n.name())}
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

// oneInstance finds the replica with an instance.
func oneInstance(ctx context.Context, all []replica, instance string) ([]replica, error) {
	found := each(all, func(r replica) bool {
		id, err := r.unit.Identity(ctx)
		return err == nil && id.Instance == instance
	})
	var addrs []string
	for i, r := range all {
		if found[i] {
			r.instance = instance
			return []replica{r}, nil
		}
		addrs = append(addrs, r.addr.String())
	}
	return nil, &Error{
		Kind: ErrUnknownReplica, Candidates: addrs,
		Detail: fmt.Sprintf("node %q has no replica with the address or instance %q", all[0].node.name(), instance),
	}
}

// each calls f for all items concurrently and returns the results in order.
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
