package deploy

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/docker/docker/api/types/container"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/endpoint"
)

// replica is what is read of the manager's answer about one.
type replica struct {
	Instance string    `json:"instance"`
	Gone     time.Time `json:"gone"`
}

// recalling is how long the manager that runs before may take to name its replicas.
const recalling = 5 * time.Second

// recall notes which replicas the manager knows before containers are replaced: until it has
// noticed that, it shows them as if they ran. What it does not say is not noted.
func (d *deployer) recall(ctx context.Context, password string) {
	d.past = map[string]bool{}
	if !d.replaces || d.where.renewed == nil || password == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, recalling)
	defer cancel()
	host, err := d.where.host(ctx)
	if err != nil {
		return
	}
	code, body, err := d.get(ctx, endpoint.URL(d.info, host)+"/api/v1/node/", d.info.Manager.User, password)
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

// doubt takes from nodes whose containers are all new ones that they run, where the manager
// still shows a replica of before.
func (d *deployer) doubt(nodes []node) {
	if len(d.past) == 0 {
		return
	}
	renewed := d.where.renewed()
	for i, n := range nodes {
		past := slices.ContainsFunc(n.Replicas, func(r replica) bool { return r.Gone.IsZero() && d.past[r.Instance] })
		if past && renewed[n.Name] {
			nodes[i].State, nodes[i].Why = "replaced", "the manager does not reach its new container yet"
		}
	}
}

// containers are some of an engine's, by their ids.
type containers map[string]container.Summary

func byID(list []container.Summary) containers {
	all := containers{}
	for _, c := range list {
		all[c.ID] = c
	}
	return all
}

// renewed are the nodes all of whose containers Compose has made just now.
func (p *project) renewed() map[string]bool {
	nodes, stayed := map[string]bool{}, map[string]bool{}
	for id, c := range p.now {
		nodes[c.Labels[packager.LabelNode]] = true
		if _, ok := p.past[id]; ok {
			stayed[c.Labels[packager.LabelNode]] = true
		}
	}
	maps.DeleteFunc(nodes, func(name string, _ bool) bool { return stayed[name] })
	return nodes
}

// lost says which services' containers somebody else has removed since Compose has brought
// them up: nobody makes them again.
func (p *project) lost(there containers) []failure {
	var out []failure
	for _, id := range slices.Sorted(maps.Keys(p.now)) {
		if _, ok := there[id]; !ok {
			out = append(out, failure{service: p.now[id].Labels[projectServiceLabel], why: "somebody else has removed its container", final: true})
		}
	}
	return out
}
