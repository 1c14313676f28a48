package deploy

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/toskose/toskose/packager/deploy/backend"
)

// listTimeout is the time limit for listing the replicas of the running version.
const listTimeout = 5 * time.Second

// listReplicas stores the replicas that the manager lists before Compose replaces containers. Until the manager notices the
// replacement, it reports them as running. Errors are ignored.
func (d *deployer) listReplicas(ctx context.Context) error {
	d.previous = map[string]bool{}
	if d.kind != Compose || !d.replaces || d.password == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	host, err := d.location.Host(ctx)
	if err != nil {
		return nil
	}
	code, body, err := d.Get(ctx, backend.ManagerURL(d.Info, host)+"/api/v1/node/", d.Info.Manager.User, d.password)
	var nodes []node
	if err != nil || code != http.StatusOK || json.Unmarshal(body, &nodes) != nil {
		return nil
	}
	for _, n := range nodes {
		for _, r := range n.Replicas {
			if r.Instance != "" {
				d.previous[r.Instance] = true
			}
		}
	}
	return nil
}

// markReplaced marks nodes as replaced if all of their containers are new but the manager still lists an old replica.
func (d *deployer) markReplaced(nodes []node) {
	for i, n := range nodes {
		old := slices.ContainsFunc(n.Replicas, func(r replica) bool { return r.Gone.IsZero() && d.previous[r.Instance] })
		if old && d.renewed[n.Name] {
			nodes[i].State, nodes[i].Why = "replaced", "the manager does not reach its new container yet"
		}
	}
}
