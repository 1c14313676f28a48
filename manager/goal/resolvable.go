package goal

import (
	"slices"
	"time"

	"github.com/toskose/toskose/spec/protocol"
)

// resolveTimeout is how long a step waits until the network routes clients to a provider that has just started. It
// waits no longer, because something else in the provider's container, which the step does not require, may keep
// it from being ready.
const resolveTimeout = 15 * time.Second

// unresolvableProvider returns a provider in another container that has just started and that does not resolve by name yet, and
// until when the step waits for it; the zero time if there is nothing to wait for.
func (m *Model) unresolvableProvider(s Situation, r *Replica, component string, step protocol.Step) (provider string, until time.Time) {
	needed := m.Needed(component, step)
	for _, b := range m.index[component].Bindings {
		node, isComponent := m.Node[b.Target]
		if !isComponent || node == r.Node || !viaNetwork(b, r.Node, node) || !slices.Contains(needed, b.Requirement) {
			continue
		}
		var wait time.Time
		resolvable := false
		for _, i := range s.of(node) {
			p := &s.Replicas[i]
			if !m.replicaOffers(p, b, nil) {
				continue
			}
			resolvable = resolvable || !p.Unresolvable
			if at := p.Components[b.Target].enteredStateAt().Add(resolveTimeout); at.After(wait) {
				wait = at
			}
		}
		if !resolvable && wait.After(until) {
			provider, until = b.Target, wait
		}
	}
	return provider, until
}

// enteredStateAt returns when a component entered its state.
func (c Component) enteredStateAt() time.Time {
	if len(c.Runs) == 0 {
		return time.Time{}
	}
	return c.Runs[len(c.Runs)-1].Ended
}
