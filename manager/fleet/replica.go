package fleet

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"

	"github.com/toskose/toskose/manager/discovery"
	"github.com/toskose/toskose/manager/mirror"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/manager/topology"
	"github.com/toskose/toskose/manager/unitclient"
)

// Replica is one container of a toskosed node.
type Replica struct {
	Node   *topology.Node
	Addr   netip.AddrPort
	Pinned string // the instance that the caller named; empty: any
	Unit   *unitclient.Client
}

// String identifies the replica in errors.
func (r Replica) String() string { return r.Node.Replica(r.Addr) }

// Replicas returns the current containers of a toskosed node: all, or the one whose address, address and port, or
// instance is which.
func (f *Fleet) Replicas(ctx context.Context, n *topology.Node, which string) ([]Replica, error) {
	if !n.Toskosed {
		return nil, n.Unattended("its container has no unit, so the orchestrator starts it, stops it and keeps its log")
	}
	now := f.Known(ctx, n).Node(n.Name())
	var all []Replica
	var addrs []string
	for _, at := range now.Replicas {
		if !at.Gone.IsZero() {
			continue
		}
		r := f.replica(n, at.Address)
		switch which {
		case "":
		case at.Instance:
			r.Pinned = which
			return []Replica{r}, nil
		case at.Address.String(), at.Address.Addr().String():
			return []Replica{r}, nil
		}
		all, addrs = append(all, r), append(addrs, r.Addr.String())
	}
	if len(all) == 0 {
		why := cmp.Or(now.Problem, discovery.ErrNone)
		return nil, &rest.Error{Kind: rest.ErrUnreachable, Detail: fmt.Sprintf("node %q: %v", n.Name(), why), Cause: why}
	}
	if which != "" {
		return nil, &rest.Error{
			Kind: rest.ErrUnknownReplica, Candidates: addrs,
			Detail: fmt.Sprintf("node %q has no replica with the address or instance %q", n.Name(), which),
		}
	}
	return all, nil
}

func (f *Fleet) replica(n *topology.Node, addr netip.AddrPort) Replica {
	return Replica{Node: n, Addr: addr, Unit: f.unit(n, addr)}
}

// unit returns a client of the unit at an address. It knows components by their names in the application.
func (f *Fleet) unit(n *topology.Node, addr netip.AddrPort) *unitclient.Client {
	c := f.pool.Client(addr, n.Credentials)
	if n.Model.Attached != nil {
		return c.Prefixed(n.Name() + "/")
	}
	return c
}

// Existing returns the replicas of a node that exist in a snapshot.
func (f *Fleet) Existing(now *mirror.Snapshot, n *topology.Node) (all []Replica) {
	for _, at := range now.Node(n.Name()).Replicas {
		if at.Gone.IsZero() {
			all = append(all, f.replica(n, at.Address))
		}
	}
	return all
}

// Reachable returns the replicas of a node whose units are responsive in a snapshot.
func (f *Fleet) Reachable(now *mirror.Snapshot, n *topology.Node) (all []Replica) {
	for _, at := range now.Node(n.Name()).Replicas {
		if at.Reachable() {
			all = append(all, f.replica(n, at.Address))
		}
	}
	return all
}

// Instance finds the replica of a node that has this instance.
func (f *Fleet) Instance(n *topology.Node, instance string) (Replica, error) {
	for _, at := range f.Snapshot().Node(n.Name()).Replicas {
		if at.Instance == instance && at.Gone.IsZero() {
			r := f.replica(n, at.Address)
			r.Pinned = instance
			return r, nil
		}
	}
	return Replica{}, &rest.Error{Kind: rest.ErrUnreachable, Detail: fmt.Sprintf("instance %s of node %q is no longer found", instance, n.Name())}
}

// On calls do for all replicas of a node, or for one, concurrently. It succeeds if do succeeded for at least one
// and the others had nothing to do.
func (f *Fleet) On(ctx context.Context, n *topology.Node, which, subject string, do func(context.Context, Replica) rest.Result) ([]rest.Result, error) {
	results, err := f.Attempt(ctx, n, which, do)
	if err != nil {
		return nil, err
	}
	return results, rest.Worst(subject, results)
}

// Attempt is On, but its error is only about finding the replicas.
func (f *Fleet) Attempt(ctx context.Context, n *topology.Node, which string, do func(context.Context, Replica) rest.Result) ([]rest.Result, error) {
	replicas, err := f.Replicas(ctx, n, which)
	if err != nil {
		return nil, err
	}
	ctx, cancel := f.Detached(ctx)
	defer cancel()
	return Each(replicas, func(r Replica) rest.Result {
		result := do(ctx, r)
		result.Node, result.Replica, result.Done = n.Name(), r.Addr.String(), result.Err == nil
		if result.Err != nil {
			result.Err = rest.Of(r.String(), result.Err)
			result.Detail = result.Err.Error()
		}
		return result
	}), nil
}
