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

// renewedNodes returns the nodes whose containers were all created between two lists.
func renewedNodes(before, after containers) map[string]bool {
	nodes, kept := map[string]bool{}, map[string]bool{}
	for id, c := range after {
		nodes[c.Labels[packager.LabelNode]] = true
		if _, ok := before[id]; ok {
			kept[c.Labels[packager.LabelNode]] = true
		}
	}
	maps.DeleteFunc(nodes, func(name string, _ bool) bool { return kept[name] })
	return nodes
}

// lost returns a failure for each container of this deployment that was removed since Compose started it. Compose does not
// create it again.
func (p *Project) lost(current containers) []backend.Failure {
	var out []backend.Failure
	for _, id := range slices.Sorted(maps.Keys(p.now)) {
		if _, ok := current[id]; !ok {
			out = append(out, backend.Failure{Service: p.now[id].Labels[compose.LabelService], Why: "its container was removed by another program", Final: true})
		}
	}
	return out
}
