package goal

import (
	"fmt"
	"slices"

	"github.com/toskose/toskose/spec/plan"
	"github.com/toskose/toskose/spec/protocol"
)

// Lack is an unmet requirement.
type Lack struct {
	Component   string // that requires it
	Requirement string
	Provider    string // that does not offer it
	Capability  string
}

// String describes the requirement and its provider, as the end of a sentence.
func (l Lack) String() string {
	if l.Requirement == l.Capability {
		return fmt.Sprintf("%s of %q", l.Requirement, l.Provider)
	}
	return fmt.Sprintf("%s, which is %s of %q", l.Requirement, l.Capability, l.Provider)
}

// Lacking returns a component's unmet requirements on a replica. A requirement bound to a component of another
// container is met while any replica of that container offers the capability. A requirement bound to several
// components is met while all of them offer it.
func (m *Model) Lacking(s Situation, r *Replica, component string, requirements []string) []Lack {
	var all []Lack
	for _, b := range m.index[component].Bindings {
		if slices.Contains(requirements, b.Requirement) && !m.offered(s, r, b, nil) {
			all = append(all, Lack{component, b.Requirement, b.Target, b.Capability})
		}
	}
	return all
}

// offered reports whether the capability of a binding is available to a component on a replica from any provider
// except but, which is about to withdraw it.
func (m *Model) offered(s Situation, r *Replica, b plan.Binding, but *place) bool {
	node, isComponent := m.Node[b.Target]
	if !isComponent {
		return m.containerOffers(s, b.Target, b.Capability)
	}
	if r != nil && node == r.Node {
		return m.replicaOffers(r, b, but)
	}
	return slices.ContainsFunc(s.of(node), func(i int) bool { return m.replicaOffers(&s.Replicas[i], b, but) })
}

// place is a component in a replica.
type place struct {
	replica   *Replica
	component string
}

// replicaOffers reports whether a component on a replica offers a capability, both now and after a running
// operation.
func (m *Model) replicaOffers(r *Replica, b plan.Binding, but *place) bool {
	c, known := r.Components[b.Target]
	if r.Unknown || !known || b.Live && c.Failing || but != nil && but.replica == r && but.component == b.Target {
		return false
	}
	if x := c.Executing; x != nil && x.To != "" && !slices.Contains(m.offers(b.Target, x.To), b.Capability) {
		return false
	}
	return slices.Contains(m.offers(b.Target, c.State), b.Capability)
}

// containerOffers is replicaOffers for containers and volumes, whose state only depends on whether they are
// running.
func (m *Model) containerOffers(s Situation, name, capability string) bool {
	return slices.Contains(m.offers(name, m.elementState(s, name)), capability)
}

// elementState returns the state of a container or a volume.
func (m *Model) elementState(s Situation, name string) string {
	p := m.index[name].Protocol
	if users, isVolume := m.mounted[name]; isVolume {
		if slices.ContainsFunc(users, func(node string) bool { return m.elementState(s, node) == protocol.Running }) && p.Has(protocol.Created) {
			return protocol.Created
		}
		return p.Initial
	}
	running := s.Standalone[name] || len(s.of(name)) > 0
	if state, ok := m.runs[name]; running && ok {
		return state
	}
	return p.Initial
}

// Refusal is why an operation must not run on a replica now.
type Refusal struct {
	Lacks []Lack // unmet requirements
	Takes []Lack // capabilities of others' requirements that it would withdraw
}

// Needed returns the requirements of a step: of its transitions, and of the target state.
func (m *Model) Needed(component string, step protocol.Step) []string {
	needs := slices.Concat(step.Requires, m.Requires(component, step.Target))
	for _, t := range step.Skipped {
		needs = append(needs, t.Requires...)
	}
	return needs
}

// Permits returns what forbids a step of a component on a replica; the zero Refusal if nothing does.
func (m *Model) Permits(s Situation, r *Replica, component string, step protocol.Step) Refusal {
	return Refusal{
		Lacks: m.Lacking(s, r, component, m.Needed(component, step)),
		Takes: m.Withdrawn(s, r, component, step),
	}
}

// Withdrawn returns the requirements of other components that a step of a component on a replica would make unmet.
func (m *Model) Withdrawn(s Situation, r *Replica, component string, step protocol.Step) []Lack {
	var all []Lack
	at, after := m.offers(component, r.Components[component].State), m.offers(component, step.Target)
	seen := map[Lack]bool{}
	for _, u := range m.usedBy[component] {
		if !slices.Contains(at, u.Capability) || slices.Contains(after, u.Capability) {
			continue
		}
		lack := Lack{u.by.Name, u.Requirement, u.Target, u.Capability}
		for _, i := range s.of(m.Node[u.by.Name]) {
			other := &s.Replicas[i]
			c, known := other.Components[u.by.Name]
			sees := m.Node[u.by.Name] != m.Node[component] || other == r
			if known && sees && !seen[lack] && m.inNeed(u.by.Name, c, u.Requirement) &&
				m.offered(s, other, u.Binding, nil) && !m.offered(s, other, u.Binding, &place{r, component}) {
				seen[lack] = true
				all = append(all, lack)
			}
		}
	}
	return all
}

// inNeed reports whether a component has a requirement in its state, or for a running operation.
func (m *Model) inNeed(component string, c Component, requirement string) bool {
	if slices.Contains(m.Requires(component, c.State), requirement) {
		return true
	}
	return c.Executing != nil && slices.Contains(c.Executing.needs, requirement)
}
