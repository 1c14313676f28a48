package manager

import (
	"context"

	"github.com/toskose/toskose/manager/fleet"
	"github.com/toskose/toskose/manager/topology"
)

// UnitCredentials describe the rotatable passwords and certificates that a unit uses. They
// contain no secrets.
type UnitCredentials struct {
	Node        string   `json:"node"`
	Replica     string   `json:"replica"`
	Passwords   int      `json:"passwords"`             // number of accepted passwords; 0: it does not reload them
	Known       int      `json:"known"`                 // number of passwords that the manager has for it
	Accepted    bool     `json:"accepted"`              // it accepts the newest of them
	Certificate string   `json:"certificate,omitempty"` // SHA-256 of its own certificate
	Authorities []string `json:"authorities,omitempty"` // SHA-256 of the authorities that it trusts
	Problem     string   `json:"problem,omitempty"`     // why it cannot be queried
}

// Credentials queries the units of all current replicas, each over a new connection.
func (a *App) Credentials(ctx context.Context) []UnitCredentials {
	all := []UnitCredentials{}
	now := a.fleet.Complete(ctx)
	for _, part := range fleet.Each(a.model.Toskosed, func(n *topology.Node) []UnitCredentials {
		return fleet.EachLimited(a.fleet.Existing(now, n), func(r fleet.Replica) UnitCredentials { return credentialsOf(ctx, n, r) })
	}) {
		all = append(all, part...)
	}
	return all
}

func credentialsOf(ctx context.Context, n *topology.Node, r fleet.Replica) UnitCredentials {
	is, err := r.Unit.Used(ctx)
	out := UnitCredentials{
		Node: n.Name(), Replica: r.Addr.String(), Passwords: is.Passwords, Known: is.Known, Accepted: is.Accepted,
		Certificate: is.Certificate, Authorities: is.Authorities,
	}
	if err != nil {
		out.Problem = err.Error()
	}
	return out
}
