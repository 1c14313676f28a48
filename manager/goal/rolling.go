package goal

import (
	"fmt"
	"slices"

	"github.com/toskose/toskose/spec/plan"
	"github.com/toskose/toskose/spec/protocol"
)

// maxUnavailable returns the maximum number of unavailable replicas of a container.
func (m *Model) maxUnavailable(node string) int { return max(1, m.MaxUnavailable[node]) }

// crowd returns why a step that makes a replica unavailable must wait for other unavailable replicas; empty if it
// need not wait. A rolling operation therefore stops at a replica that does not recover.
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

// stuck reports whether steps wait for other replicas although nothing is running or will be retried that they
// could wait for.
func (t *turn) stuck() bool {
	return t.crowded > 0 && t.made.Wake.IsZero() && !t.busy()
}

// away reports whether a replica is unavailable: it lacks a capability that it should offer.
func (t *turn) away(r *Replica) bool {
	return slices.ContainsFunc(t.hosted[r.Node], func(name string) bool {
		return slices.ContainsFunc(t.wanted(name), func(c string) bool {
			return !t.replicaOffers(r, plan.Binding{Target: name, Capability: c}, nil)
		})
	})
}

// takesAway reports whether a transition withdraws a capability that the component offers in its target.
func (t *turn) takesAway(component, from, to string) bool {
	before, after := t.offers(component, from), t.offers(component, to)
	return slices.ContainsFunc(t.wanted(component), func(c string) bool {
		return slices.Contains(before, c) && !slices.Contains(after, c)
	})
}

// wanted returns the capabilities that a component should offer.
func (t *turn) wanted(component string) []string {
	if target := t.targets[component]; target != "" {
		return t.offers(component, target)
	}
	return nil
}

// behind reports whether a replica lacks a capability that another one offers and both should.
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

// stays reports whether a component that requires a capability of another container, now and in its target, has it
// throughout a rolling operation on that container: enough replicas remain to offer it.
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
