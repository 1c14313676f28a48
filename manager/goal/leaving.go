package goal

import (
	"fmt"
	"slices"

	"github.com/toskose/toskose/spec/plan"
	"github.com/toskose/toskose/spec/protocol"
)

// mustLeave returns the components of a replica that must leave their state, with the reason: a capability that they
// cannot be without is not available, or was unavailable at some time since they entered the state. Components
// that depend on one of them must leave it, too.
func (m *Model) mustLeave(s Situation, r *Replica, targets map[string]string) map[string]string {
	all := map[string]string{}
	for changed := true; changed; {
		changed = false
		for _, name := range m.hosted[r.Node] {
			c, known := r.Components[name]
			if _, has := all[name]; has || !known || targets[name] == "" {
				continue
			}
			if why := m.whyLeaves(s, r, name, c, all); why != "" {
				all[name], changed = why, true
			}
		}
	}
	return all
}

func (m *Model) whyLeaves(s Situation, r *Replica, name string, c Component, leaving map[string]string) string {
	requires := m.Requires(name, c.State)
	for _, b := range m.index[name].Bindings {
		if !slices.Contains(requires, b.Requirement) || !m.Policies[name].takesDown(b.Requirement) {
			continue
		}
		lack := Lack{name, b.Requirement, b.Target, b.Capability}
		switch {
		case !m.offered(s, r, b, nil):
			return fmt.Sprintf("it cannot be %s without %s", c.State, lack)
		case m.Node[b.Target] != r.Node:
		case m.withdraws(s, r, b, leaving):
			return fmt.Sprintf("it goes down with %q", b.Target)
		case m.offeredSince(r.Components[b.Target], b.Target, b.Capability) > enteredAt(c):
			return fmt.Sprintf("it was %s while %q did not offer %s", c.State, b.Target, b.Capability)
		}
	}
	return ""
}

// withdraws reports whether the target of a binding is on this replica, is leaving, and stops offering the
// capability with its next step.
func (m *Model) withdraws(s Situation, r *Replica, b plan.Binding, leaving map[string]string) bool {
	if _, leaves := leaving[b.Target]; !leaves {
		return false
	}
	step, ok := m.exitStep(s, r, b.Target, leaving)
	return !ok || !slices.Contains(m.offers(b.Target, step.Target), b.Capability)
}

// offeredSince returns the journal entry with which a component began to offer a capability; 0 if unknown.
func (m *Model) offeredSince(c Component, name, capability string) uint64 {
	for _, run := range slices.Backward(c.Runs) {
		if !run.Failed && !run.Cancelled && slices.Contains(m.offers(name, run.To), capability) &&
			!slices.Contains(m.offers(name, run.From), capability) {
			return run.Seq
		}
	}
	return 0
}

// enteredAt returns the journal entry with which a component entered its state; its last entry if unknown.
func enteredAt(c Component) uint64 {
	for _, run := range slices.Backward(c.Runs) {
		if !run.Failed && !run.Cancelled && run.To == c.State && run.From != run.To {
			return run.Seq
		}
	}
	return c.Seq
}

// exitStep returns the first step of the shortest path from a leaving component's state to a state in which it can
// stay.
func (m *Model) exitStep(s Situation, r *Replica, name string, leaving map[string]string) (protocol.Step, bool) {
	c := r.Components[name]
	safe := func(state string) bool {
		requires := m.Requires(name, state)
		for _, b := range m.index[name].Bindings {
			if !slices.Contains(requires, b.Requirement) || !m.Policies[name].takesDown(b.Requirement) {
				continue
			}
			if _, leaves := leaving[b.Target]; leaves || !m.offered(s, r, b, nil) {
				return false
			}
		}
		return state != c.State
	}
	w, ok := m.search(name, c.State, c.Open, safe)
	if !ok || w.first == nil {
		return protocol.Step{}, false
	}
	return *w.first, true
}
