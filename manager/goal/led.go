package goal

import (
	"slices"
	"time"

	"github.com/toskose/toskose/spec/protocol"
)

// ledWithin is how long a step waits until the network routes clients to a provider that has just started. It
// waits no longer, because something else in the provider's container, which the step does not require, may keep
// it from being ready.
const ledWithin = 15 * time.Second

// unled returns a provider in another container that has just started and that does not resolve by name yet, and
// until when the step waits for it; the zero time if there is nothing to wait for.
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
			led = led || !p.Unresolvable
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

// cameUp returns when a component entered its state.
func (c Component) cameUp() time.Time {
	if len(c.Runs) == 0 {
		return time.Time{}
	}
	return c.Runs[len(c.Runs)-1].Ended
}
