package goal

import (
	"slices"
	"time"

	"github.com/toskose/toskose/spec/protocol"
)

// ledWithin is how long the network may take to lead clients to a provider that has
// come up. It is not waited for longer: something else in its container, which the
// step does not require, may keep clients from it.
const ledWithin = 15 * time.Second

// unled returns a provider in another container that has just come up and that a step
// would not find by its name yet, and until when to wait for that; the zero time
// where there is nothing to wait for.
func (m *Model) unled(s Situation, r *Replica, component string, step protocol.Step) (provider string, until time.Time) {
	needed := m.Needed(component, step)
	for _, b := range m.index[component].Bindings {
		node, isComponent := m.Node[b.Target]
		if !isComponent || node == r.Node || !ledTo(b, r.Node, node) || !slices.Contains(needed, b.Requirement) {
			continue
		}
		var wait time.Time
		led := false
		for _, i := range s.of(node) {
			p := &s.Replicas[i]
			if !m.replicaOffers(p, b, nil) {
				continue
			}
			led = led || !p.Apart
			if at := p.Components[b.Target].cameUp().Add(ledWithin); at.After(wait) {
				wait = at
			}
		}
		if !led && wait.After(until) {
			provider, until = b.Target, wait
		}
	}
	return provider, until
}

// cameUp returns when a component came into its state.
func (c Component) cameUp() time.Time {
	if len(c.Runs) == 0 {
		return time.Time{}
	}
	return c.Runs[len(c.Runs)-1].Ended
}
