package view

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/mirror"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/manager/topology"
	"github.com/toskose/toskose/spec/protocol"
)

// Check refuses an operation on a replica of another version of the application, an operation with unmet
// requirements and, if the caller is strict, an operation that withdraws capabilities that others require. It
// reports whether force was needed. The unit checks the component's own protocol.
func (l Look) Check(op topology.Operation, targets []netip.AddrPort, force, strict bool) (forced bool, err error) {
	name, replicas := op.Component.Name(), l.reachable(op.Component.Node, targets)
	outdated := l.outdated(replicas)
	if outdated != nil && !force {
		return false, &rest.Error{Kind: rest.ErrOutdated, Detail: fmt.Sprintf(
			"operation %s of component %q: %s of node %q has another version of its components than the manager; the manager of that version operates it, and force does",
			op.Name, name, strings.Join(outdated, ", "), op.Component.Node.Name())}
	}
	unmet, after := l.predict(op, replicas)
	if unmet != nil && !force {
		return false, l.unmetError(op, targets, unmet)
	}
	if taken := Added(l.UnmetOfUsers(name), l.rules.unmetOfUsers(after, name)); strict && taken != nil {
		return false, &rest.Error{Kind: rest.ErrTakesAway, Lacks: taken, Detail: fmt.Sprintf(
			"operation %s of component %q would take from others what they require: %s", op.Name, name, listUnmet(taken))}
	}
	return unmet != nil || outdated != nil, nil
}

// outdated returns the replicas of another version of the application.
func (l Look) outdated(replicas []*mirror.Replica) (names []string) {
	for _, at := range replicas {
		if l.rules.observer.Outdated(at) {
			names = append(names, at.Address.String())
		}
	}
	return names
}

// reachable returns the reachable replicas of a node at the given addresses.
func (l Look) reachable(n *topology.Node, addrs []netip.AddrPort) (all []*mirror.Replica) {
	for _, addr := range addrs {
		if at := l.Node(n.Name()).At(addr); at != nil && at.Reachable() {
			all = append(all, at)
		}
	}
	return all
}

// predict returns an operation's unmet requirements, and the situation after it.
func (l Look) predict(op topology.Operation, replicas []*mirror.Replica) (unmet []rest.Lack, after goal.Situation) {
	after = l.settled
	after.Replicas = slices.Clone(after.Replicas)
	name := op.Component.Name()
	for _, at := range replicas {
		if at.Component(name) == nil {
			continue // the execution records the reason
		}
		choice := op.Component.Choice(at.Component(name))
		step := slices.IndexFunc(choice.Steps, func(s protocol.Step) bool { return s.Operation == op.Name })
		if step < 0 {
			continue
		}
		i := l.Number(at)
		now := &l.settled.Replicas[i]
		unmet = merge(unmet, l.rules.unmet(l.settled, now, name, l.rules.model.Needed(name, choice.Steps[step])))
		moved := maps.Clone(now.Components)
		moved[name] = goal.Component{State: choice.Steps[step].Target}
		after.Replicas[i].Components = moved
	}
	return unmet, after
}

func listUnmet(all []rest.Lack) string {
	texts := make([]string, len(all))
	for i, l := range all {
		texts[i] = fmt.Sprintf("%q requires %s of %q", l.Component, l.Requirement, l.Provider)
	}
	return strings.Join(texts, "; ")
}

// unmetError is the error of an operation with unmet requirements.
func (l Look) unmetError(op topology.Operation, targets []netip.AddrPort, unmet []rest.Lack) *rest.Error {
	e := &rest.Error{Kind: rest.ErrUnmet, Lacks: unmet, Allowed: []string{}}
	for _, target := range targets {
		if at := l.Node(op.Component.Node.Name()).At(target); at != nil && at.Component(op.Component.Name()) != nil {
			shown := l.componentReplica(op.Component, at)
			e.State, e.Allowed = shown.State, shown.Allowed
		}
	}
	e.Detail = fmt.Sprintf("operation %s of component %q requires %s; in state %q it may now run %s",
		op.Name, op.Component.Name(), sentences(unmet), e.State, rest.OneOf(e.Allowed))
	return e
}
