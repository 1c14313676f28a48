package goal

import (
	"fmt"
	"slices"

	"github.com/toskose/toskose/spec/plan"
	"github.com/toskose/toskose/spec/protocol"
)

// maxUnavailable returns how many replicas of a container may be away at the same
// time.
func (m *Model) maxUnavailable(node string) int { return max(1, m.MaxUnavailable[node]) }

// crowd returns why a step that takes a replica away has to wait, which is because
// enough others are; empty: it need not. So what the replicas of a container go
// through goes on from one to the next, and ends where one does not come back.
func (t *turn) crowd(r *Replica, component string, step protocol.Step) string {
	if !t.takesAway(component, r.Components[component].State, step.Target) || t.lenient && t.away(r) {
		return ""
	}
	var away []string
	for _, i := range t.s.of(r.Node) {
		if other := &t.s.Replicas[i]; t.behind(other, r) {
			away = append(away, other.Name)
		}
	}
	if most := t.maxUnavailable(r.Node); len(away) >= most {
		return fmt.Sprintf("%s waits for %s: at most %d of the replicas of %q are away at a time", step.Operation, away[0], most, r.Node)
	}
	return ""
}

// stuck reports whether steps wait for other replicas, and nothing is under way or will be
// tried again that these could wait for.
func (t *turn) stuck() bool {
	return t.crowded > 0 && t.made.Wake.IsZero() && !t.busy()
}

// away reports whether a replica lacks anything that it is to offer.
func (t *turn) away(r *Replica) bool {
	return slices.ContainsFunc(t.hosted[r.Node], func(name string) bool {
		return slices.ContainsFunc(t.wanted(name), func(c string) bool {
			return !t.replicaOffers(r, plan.Binding{Target: name, Capability: c}, nil)
		})
	})
}

// takesAway reports whether a component ceases to offer, between two states, what it
// is to offer in the end.
func (t *turn) takesAway(component, from, to string) bool {
	before, after := t.offers(component, from), t.offers(component, to)
	return slices.ContainsFunc(t.wanted(component), func(c string) bool {
		return slices.Contains(before, c) && !slices.Contains(after, c)
	})
}

// wanted returns what a component is to offer.
func (t *turn) wanted(component string) []string {
	if target := t.targets[component]; target != "" {
		return t.offers(component, target)
	}
	return nil
}

// behind reports whether a replica lacks anything that another offers, and should.
func (t *turn) behind(r, other *Replica) bool {
	if r.Problem != "" {
		return true
	}
	for _, name := range t.hosted[r.Node] {
		for _, c := range t.wanted(name) {
			b := plan.Binding{Target: name, Capability: c}
			if t.replicaOffers(other, b, nil) && !t.replicaOffers(r, b, nil) {
				return true
			}
		}
	}
	return false
}

// stays reports whether a component that requires something of another container,
// and goes on to, is never without it, however many of that one's replicas are led
// through states that do not offer it: one after the other.
func (m *Model) stays(s Situation, targets map[string]string, component, state string, b plan.Binding) bool {
	requires := func(state string) bool { return slices.Contains(m.Requires(component, state), b.Requirement) }
	if target := targets[component]; !requires(state) || target != "" && !requires(target) {
		return false
	}
	well, node := 0, m.Node[b.Target]
	for _, i := range s.of(node) {
		if s.Replicas[i].Problem == "" {
			well++
		}
	}
	return well > m.maxUnavailable(node) && slices.Contains(m.offers(b.Target, targets[b.Target]), b.Capability) && m.offered(s, nil, b, nil)
}
