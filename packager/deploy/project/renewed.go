package project

import (
	"maps"
	"slices"

	"github.com/docker/docker/api/types/container"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/deploy/backend"
)

// containers maps container IDs to containers.
type containers map[string]container.Summary

func byID(list []container.Summary) containers {
	all := containers{}
	for _, c := range list {
		all[c.ID] = c
	}
	return all
}

// Renewed returns the nodes whose containers were all created by this deployment.
func (p *Project) Renewed() map[string]bool {
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

// lost returns a failure for each container of this deployment that was removed since Compose started it. Compose does not
// create it again.
func (p *Project) lost(there containers) []backend.Failure {
	var out []backend.Failure
	for _, id := range slices.Sorted(maps.Keys(p.now)) {
		if _, ok := there[id]; !ok {
			out = append(out, backend.Failure{Service: p.now[id].Labels[compose.LabelService], Why: "somebody else has removed its container", Final: true})
		}
	}
	return out
}
