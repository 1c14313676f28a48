package goal

import (
	"fmt"
	"slices"

	"github.com/toskose/toskose/spec/plan"
	"github.com/toskose/toskose/spec/protocol"
)

// maxUnavailable returns the maximum number of unavailable replicas of a container.
func (m *Model) maxUnavailable(node string) int { return max(1, m.MaxUnavailable[node]) }

// tooManyUnavailable returns why a step that makes a replica unavailable must wait for other unavailable replicas; empty if it
// need not wait. A rolling operation therefore stops at a replica that does not recover.
func (t *decider) tooManyUnavailable(r *Replica, component string, step protocol.Step) string {
	if !t.withdrawsWanted(component, r.Components[component].State, step.Target) || t.lenient && t.isUnavailable(r) {
		return ""
	}
	var unavailable []string
	for _, i := range t.s.of(r.Node) {
		if other := &t.s.Replicas[i]; t.offersLess(other, r) {
			unavailable = append(unavailable, other.Name)
		}
	}
	if most := t.maxUnavailable(r.Node); len(unavailable) >= most {
		return fmt.Sprintf("%s waits for %s: at most %d of the replicas of %q may be unavailable at the same time", step.Operation, unavailable[0], most, r.Node)
	}
	return ""
}

// stuck reports whether steps wait for other replicas although nothing is running or will be retried that they
// could wait for.
func (t *decider) stuck() bool {
	return t.blocked > 0 && t.decision.Wake.IsZero() && !t.busy()
}

// isUnavailable reports whether a replica is unavailable: it lacks a capability that it should offer.
func (t *decider) isUnavailable(r *Replica) bool {
	return slices.ContainsFunc(t.hosted[r.Node], func(name string) bool {
		return slices.ContainsFunc(t.wanted(name), func(c string) bool {
			return !t.replicaOffers(r, plan.Binding{Target: name, Capability: c}, nil)
		})
	})
}

// withdrawsWanted reports whether a transition withdraws a capability that the component offers in its target.
func (t *decider) withdrawsWanted(component, from, to string) bool {
	before, after := t.offers(component, from), t.offers(component, to)
	return slices.ContainsFunc(t.wanted(component), func(c string) bool {
		return slices.Contains(before, c) && !slices.Contains(after, c)
	})
}

// wanted returns the capabilities that a component should offer.
func (t *decider) wanted(component string) []string {
	if target := t.targets[component]; target != "" {
		return t.offers(component, target)
	}
	return nil
}

// offersLess reports whether a replica lacks a capability that another one offers and both should.
func (t *decider) offersLess(r, other *Replica) bool {
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

// keepsProvider reports whether a component that requires a capability of another container, now and in its target, has it
// throughout a rolling operation on that container: enough replicas remain to offer it.
func (m *Model) keepsProvider(s Situation, targets map[string]string, component, state string, b plan.Binding) bool {
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
