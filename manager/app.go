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
	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/keep"
	"github.com/toskose/toskose/manager/mirror"
	"github.com/toskose/toskose/manager/unitclient"
	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/tosca"
)

// Containers finds containers; *discovery.DNS implements it.
type Containers = mirror.Containers

// Options configure an App. A zero duration or number means its default.
type Options struct {
	Containers Containers
	Passwords  map[string]string // of each toskosed node's unit
	Digests    map[string]string // of the configuration that each node's unit should have
	Limits     unitclient.Limits
	TLS        *tls.Config // for requests to units; nil: plain HTTP
	Logger     *slog.Logger

	Poll     time.Duration // how long one request to a unit waits for something to happen; 30 s
	Patience time.Duration // how long a unit may be silent while it executes; 30 s
	Backoff  time.Duration // before a request is sent again; doubles up to 2 s; 100 ms
	Discover time.Duration // how often the replicas of a node are looked for; 1 s
	Settle   time.Duration // how long an answer waits until reads show what it says; 1 s
	Remember int           // how many ended executions are kept; 1,000
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
	if o.Settle <= 0 {
		o.Settle = time.Second
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

	mirror     *mirror.Mirror
	byName     map[string]*component
	rules      *rules
	shown      shown
	executions *memory
	goals      *goal.Model
	goal       string // where nobody has set one
	keeper     *keep.Keeper

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
		byName: map[string]*component{},
		pool:   newPool(opts), executions: newMemory(opts.Remember),
	}
	a.life, a.end = context.WithCancel(context.Background())
	for _, n := range nodes {
		for _, c := range n.components {
			a.byName[c.name()] = c
		}
	}
	a.goals = goalModel(app, conf)
	a.rules = newRules(a.goals, a.opts.Digests)
	a.mirror = a.newMirror()
	if conf.Manager.Goal != config.GoalNone {
		a.goal = conf.Manager.Goal
	}
	a.keeper = a.newKeeper()
	a.running.Go(func() { a.keeper.Run(a.life) })
	return a, nil
}

func (a *App) newMirror() *mirror.Mirror {
	opts := mirror.Options{
		Containers: a.opts.Containers, Logger: a.log, Poll: a.opts.Poll, Backoff: a.opts.Backoff, Discover: a.opts.Discover,
	}
	for _, n := range a.nodes {
		spec := mirror.Spec{Name: n.name(), Alias: n.conf.Alias, Port: n.conf.Port}
		if n.toskosed {
			spec.Unit = func(addr netip.AddrPort) mirror.Unit { return a.pool.Client(addr, n.credentials) }
		}
		for _, p := range n.model.Ports {
			if p.Protocol != "udp" {
				spec.Ports = append(spec.Ports, p.Container)
			}
		}
		opts.Nodes = append(opts.Nodes, spec)
	}
	return mirror.New(opts)
}

// Close ends every wait. What the units are executing goes on there, and their
// journals record how it ends.
func (a *App) Close() {
	a.end()
	a.running.Wait()
	a.mirror.Close()
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
	node   *node
	addr   netip.AddrPort
	pinned string // the instance that the caller named; empty: any
	unit   *unitclient.Client
}

// String names the replica in errors.
func (r replica) String() string {
	return fmt.Sprintf("replica %s of node %q", r.addr, r.node.name())
}

// replicas returns the containers of a toskosed node that are there: all, or the
// one whose address, address and port, or instance is which.
func (a *App) replicas(ctx context.Context, n *node, which string) ([]replica, error) {
	if !n.toskosed {
		return nil, &Error{Kind: ErrStandalone, Detail: fmt.Sprintf(
			"node %q is standalone: its container has no unit, so the orchestrator starts it, stops it and keeps its log", n.name())}
	}
	now := a.known(ctx, n).Node(n.name())
	var all []replica
	var addrs []string
	for _, at := range now.Replicas {
		if !at.Gone.IsZero() {
			continue
		}
		r := replica{node: n, addr: at.Address, unit: a.pool.Client(at.Address, n.credentials)}
		switch which {
		case "":
		case at.Instance:
			r.pinned = which
			return []replica{r}, nil
		case at.Address.String(), at.Address.Addr().String():
			return []replica{r}, nil
		}
		all, addrs = append(all, r), append(addrs, r.addr.String())
	}
	if len(all) == 0 {
		why := now.Problem
		if why == nil {
			why = discovery.ErrNone
		}
		return nil, &Error{Kind: ErrUnreachable, Detail: fmt.Sprintf("node %q: %v", n.name(), why), cause: why}
	}
	if which != "" {
		return nil, &Error{
			Kind: ErrUnknownReplica, Candidates: addrs,
			Detail: fmt.Sprintf("node %q has no replica with the address or instance %q", n.name(), which),
		}
	}
	return all, nil
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

func newPool(opts Options) *unitclient.Pool {
	if opts.TLS != nil {
		return unitclient.NewTLSPool(opts.Limits, opts.TLS)
	}
	return unitclient.NewPool(opts.Limits)
}
