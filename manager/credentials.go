package manager

import (
	"context"

	"github.com/toskose/toskose/manager/fleet"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/manager/topology"
)

// UnitCredentials queries the units of all current replicas, each over a new connection.
func (a *App) UnitCredentials(ctx context.Context) []rest.UnitCredentials {
	all := []rest.UnitCredentials{}
	now := a.fleet.Complete(ctx)
	for _, part := range fleet.Each(a.model.Toskosed, func(n *topology.Node) []rest.UnitCredentials {
		return fleet.EachLimited(a.fleet.Existing(now, n), func(r fleet.Replica) rest.UnitCredentials { return credentialsOf(ctx, n, r) })
	}) {
		all = append(all, part...)
	}
	return all
}

func credentialsOf(ctx context.Context, n *topology.Node, r fleet.Replica) rest.UnitCredentials {
	is, err := r.Unit.Used(ctx)
	out := rest.UnitCredentials{
		Node: n.Name(), Replica: r.Addr.String(), Passwords: is.Passwords, Known: is.Known, Accepted: is.Accepted,
		Certificate: is.Certificate, Authorities: is.Authorities,
	}
	if err != nil {
		out.Problem = err.Error()
	}
	return out
}
