package plan

import (
	"slices"
	"strings"

	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
)

// Elements returns the elements for plans, sorted by name. Operations of components
// are implemented if they have a script. Operations of containers and volumes are always
// implemented, by the orchestrator.
func Elements(app *spec.Application) []Element {
	var all []Element
	offers := map[string]map[string]bool{}
	add := func(name string, p protocol.Protocol) *Element {
		offers[name] = map[string]bool{}
		for _, s := range p.States {
			for _, c := range s.Offers {
				offers[name][c] = true
			}
		}
		all = append(all, Element{Name: name, Protocol: p})
		return &all[len(all)-1]
	}
	for _, v := range app.Volumes {
		add(v.Name, v.Protocol)
	}
	for _, n := range app.Nodes {
		e := add(n.Name, n.Protocol)
		bindAll(e, protocol.Connection, n.Connections)
		bindAll(e, protocol.Dependency, n.Depends)
		for _, s := range n.Storage {
			bindAll(e, protocol.Storage, []string{s.Volume})
		}
	}
	for _, c := range app.Components {
		e := add(c.Name, c.Protocol)
		bindAll(e, protocol.Host, []string{c.Host})
		bindAll(e, protocol.Alive, []string{c.Host})
		bindAll(e, protocol.Connection, c.Connections)
		bindAll(e, protocol.Dependency, c.Depends)
		e.Unimplemented = c.Unimplemented()
	}
	byName := map[string]*Element{}
	for i := range all {
		byName[all[i].Name] = &all[i]
	}
	for _, n := range app.Nodes {
		bindNamed(byName[n.Name], n.Named, offers)
	}
	for _, c := range app.Components {
		bindNamed(byName[c.Name], c.Named, offers)
		requireLive(byName[c.Name], c.Policy)
	}
	slices.SortFunc(all, func(a, b Element) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func bindAll(e *Element, requirement string, targets []string) {
	for _, t := range targets {
		e.Bindings = append(e.Bindings, Binding{Requirement: requirement, Target: t, Capability: protocol.Offering(requirement)})
	}
}

// requireLive marks the bindings of the requirements that a policy lists as live.
func requireLive(e *Element, p *spec.Policy) {
	if p == nil {
		return
	}
	for i := range e.Bindings {
		b := &e.Bindings[i]
		b.Live = slices.Contains(p.Live, b.Requirement)
	}
}

// bindNamed binds named requirements: to the capability of that name if the target's
// protocol has it, else to the capability of the requirement's class.
func bindNamed(e *Element, named []spec.Requirement, offers map[string]map[string]bool) {
	for _, r := range named {
		capability := r.Name
		if !offers[r.Target][capability] {
			capability = protocol.Offering(r.Class)
		}
		e.Bindings = append(e.Bindings, Binding{Requirement: r.Name, Target: r.Target, Capability: capability})
	}
}
