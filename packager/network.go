package packager

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/toskose/toskose/spec"
)

// aliases returns each node's additional names on the network: its configured alias, and the names
// of its components to which others connect. Names on networks are not case-sensitive.
func (p *planner) aliases() map[string][]string {
	dialled := map[string]bool{}
	for _, n := range p.app.Nodes {
		for _, to := range n.Connections {
			dialled[to] = true
		}
	}
	for _, c := range p.app.Components {
		for _, to := range c.Connections {
			dialled[to] = true
		}
	}
	owner := map[string]string{strings.ToLower(p.plan.Config.Manager.Alias): "the manager"}
	out := map[string][]string{}
	for _, n := range p.app.Nodes {
		if other, ok := owner[strings.ToLower(n.Name)]; ok {
			p.report("container %q: its name differs from that of %s only by case, which networks ignore", n.Name, other)
		}
		owner[strings.ToLower(n.Name)] = n.Name
	}
	add := func(alias, node, why string) {
		switch other, ok := owner[strings.ToLower(alias)]; {
		case ok && other != node:
			p.report("container %q: %s %q is also the name of %s on the network", node, why, alias, other)
		case alias != node && !slices.Contains(out[node], alias):
			owner[strings.ToLower(alias)] = node
			out[node] = append(out[node], alias)
		}
	}
	for _, n := range p.app.Nodes {
		add(p.plan.Config.Nodes[n.Name].Alias, n.Name, "alias")
	}
	for _, c := range p.app.Components {
		if dialled[c.Name] {
			add(c.Name, c.Node, "component")
		}
	}
	for _, names := range out {
		slices.Sort(names)
	}
	return out
}

// dependsOn orders each service after the services that its container and components depend on and
// connect to. It omits an edge that would close a cycle, since engines reject cycles.
func dependsOn(app *spec.Application, services []Service) {
	nodeOf := map[string]string{}
	for _, n := range app.Nodes {
		nodeOf[n.Name] = n.Name
	}
	for _, c := range app.Components {
		nodeOf[c.Name] = c.Node
	}
	type edge struct{ from, to string }
	var depends, connects []edge
	gather := func(node string, d, c []string) {
		for _, to := range d {
			depends = append(depends, edge{node, nodeOf[to]})
		}
		for _, to := range c {
			connects = append(connects, edge{node, nodeOf[to]})
		}
	}
	for _, n := range app.Nodes {
		gather(n.Name, n.Depends, n.Connections)
	}
	for _, c := range app.Components {
		gather(c.Node, c.Depends, c.Connections)
	}
	out := map[string][]string{}
	for _, e := range append(sortedBy(depends, func(e edge) string { return fmt.Sprint(e) }),
		sortedBy(connects, func(e edge) string { return fmt.Sprint(e) })...) {
		if e.to == "" || slices.Contains(out[e.from], e.to) || reaches(out, e.to, e.from) {
			continue
		}
		out[e.from] = append(out[e.from], e.to)
	}
	for i := range services {
		services[i].DependsOn = out[services[i].Name]
		slices.Sort(services[i].DependsOn)
	}
}

func sortedBy[T any](s []T, key func(T) string) []T {
	slices.SortFunc(s, func(a, b T) int { return cmp.Compare(key(a), key(b)) })
	return s
}

func reaches(graph map[string][]string, from, to string) bool {
	return from == to || slices.ContainsFunc(graph[from], func(next string) bool { return reaches(graph, next, to) })
}
