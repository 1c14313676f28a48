package deploy

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/toskose/toskose/packager/deploy/backend"
)

// recalling is the time limit for listing the replicas of the running version.
const recalling = 5 * time.Second

// recall stores the replicas that the manager lists before containers are replaced. Until the manager notices the replacement,
// it reports them as running. Errors are ignored.
func (d *deployer) recall(ctx context.Context, password string) {
	d.past = map[string]bool{}
	if _, ok := d.where.(backend.Renewer); !ok || !d.replaces || password == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, recalling)
	defer cancel()
	host, err := d.where.Host(ctx)
	if err != nil {
		return
	}
	code, body, err := d.Get(ctx, backend.ManagerURL(d.Info, host)+"/api/v1/node/", d.Info.Manager.User, password)
	var nodes []node
	if err != nil || code != http.StatusOK || json.Unmarshal(body, &nodes) != nil {
		return
	}
	for _, n := range nodes {
		for _, r := range n.Replicas {
			if r.Instance != "" {
				d.past[r.Instance] = true
			}
		}
	}
}

// doubt marks nodes as replaced if all of their containers are new but the manager still lists an old replica.
func (d *deployer) doubt(nodes []node) {
	where, ok := d.where.(backend.Renewer)
	if !ok || len(d.past) == 0 {
		return
	}
	renewed := where.Renewed()
	for i, n := range nodes {
		past := slices.ContainsFunc(n.Replicas, func(r replica) bool { return r.Gone.IsZero() && d.past[r.Instance] })
		if past && renewed[n.Name] {
			nodes[i].State, nodes[i].Why = "replaced", "the manager does not reach its new container yet"
		}
	}
}
