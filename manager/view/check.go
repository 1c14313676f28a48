package view

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/outcome"
	"github.com/toskose/toskose/manager/topology"
	"github.com/toskose/toskose/spec/protocol"
)

// Request is a request to run an operation on replicas of its node.
type Request struct {
	topology.Operation
	Targets []netip.AddrPort
	Force   bool // even with unmet requirements, or on a replica of another version
	Strict  bool // not if it withdraws capabilities that others require
}

// Check refuses an operation on a replica of another version of the application, an operation with unmet
// requirements and, if the caller is strict, an operation that withdraws capabilities that others require. It
// reports whether force was needed. The unit checks the component's own protocol.
func (l Look) Check(req Request) (forced bool, err error) {
	outdated := l.outdated(req)
	if outdated != nil && !req.Force {
		return false, &outcome.Error{Kind: outcome.ErrOutdated, Detail: fmt.Sprintf(
			"operation %s of component %q: %s of node %q has another version of its components than the manager; the manager of that version operates it, and force does",
			req.Name, req.Component.Name(), strings.Join(outdated, ", "), req.Component.Node.Name())}
	}
	lacks, after := l.foresee(req)
	if lacks != nil && !req.Force {
		return false, l.unmet(req, lacks)
	}
	name := req.Component.Name()
	if taken := Added(l.Lacking(name), l.rules.left(after, name)); req.Strict && taken != nil {
		return false, &outcome.Error{Kind: outcome.ErrTakesAway, Lacks: taken, Detail: fmt.Sprintf(
			"operation %s of component %q would take from others what they require: %s", req.Name, name, blame(taken))}
	}
	return lacks != nil || outdated != nil, nil
}

// outdated returns the replicas of another version of the application.
func (l Look) outdated(req Request) (names []string) {
	for _, target := range req.Targets {
		if at := l.Node(req.Component.Node.Name()).At(target); at != nil && at.Reachable() && l.rules.outdated(at) {
			names = append(names, at.Address.String())
		}
	}
	return names
}

// foresee returns an operation's unmet requirements, and the situation after it.
func (l Look) foresee(req Request) (lacks []outcome.Lack, after goal.Situation) {
	after = l.situation
	after.Replicas = slices.Clone(after.Replicas)
	name := req.Component.Name()
	for _, target := range req.Targets {
		at := l.Node(req.Component.Node.Name()).At(target)
		if at == nil || !at.Reachable() || at.Component(name) == nil {
			continue // the execution records the reason
		}
		choice := req.Component.Choice(at.Component(name))
		step := slices.IndexFunc(choice.Steps, func(s protocol.Step) bool { return s.Operation == req.Name })
		if step < 0 {
			continue
		}
		i := l.index[at]
		now := &l.situation.Replicas[i]
		lacks = merge(lacks, l.rules.missing(l.situation, now, name, l.rules.model.Needed(name, choice.Steps[step])))
		moved := maps.Clone(now.Components)
		moved[name] = goal.Component{State: choice.Steps[step].Target}
		after.Replicas[i].Components = moved
	}
	return lacks, after
}

func blame(all []outcome.Lack) string {
	texts := make([]string, len(all))
	for i, l := range all {
		texts[i] = fmt.Sprintf("%q requires %s of %q", l.Component, l.Requirement, l.Provider)
	}
	return strings.Join(texts, "; ")
}

// unmet is the error of an operation with unmet requirements.
func (l Look) unmet(req Request, lacks []outcome.Lack) *outcome.Error {
	e := &outcome.Error{Kind: outcome.ErrUnmet, Lacks: lacks, Allowed: []string{}}
	for _, target := range req.Targets {
		if at := l.Node(req.Component.Node.Name()).At(target); at != nil && at.Component(req.Component.Name()) != nil {
			shown := l.componentReplica(req.Component, at)
			e.State, e.Allowed = shown.State, shown.Allowed
		}
	}
	e.Detail = fmt.Sprintf("operation %s of component %q requires %s; in state %q it may now run %s",
		req.Name, req.Component.Name(), sentences(lacks), e.State, outcome.OneOf(e.Allowed))
	return e
}
