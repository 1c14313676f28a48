package view

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/toskose/toskose/manager/mirror"
	"github.com/toskose/toskose/manager/reason"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/manager/topology"
	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/wire"
)

// OfComponent merges the component's states on all replicas.
func OfComponent(l Look, c *topology.Component, seen Processes) rest.Component {
	now := l.Node(c.Node.Name())
	view := rest.Component{
		Name: c.Name(), Type: c.Model.Type, Node: c.Node.Name(), State: rest.StateUnknown,
		Allowed: []string{}, Operations: c.Models, Replicas: make([]rest.ComponentReplica, 0, len(now.Replicas)),
	}
	view.Task = l.tasks.of[view.Name]
	first := true
	for _, at := range now.Replicas {
		if !at.Gone.IsZero() {
			continue
		}
		r := l.componentReplica(c, at)
		view.Lacks = merge(view.Lacks, r.Lacks)
		view.Degraded = len(view.Lacks) > 0
		r.Processes = seen.of(r.Address, c.Name())
		view.Reason, view.Restarts = cmp.Or(view.Reason, r.Reason), view.Restarts+r.Restarts
		view.Replicas = append(view.Replicas, r)
		switch {
		case r.State == rest.StateUnknown:
		case first:
			view.State, view.Allowed, first = r.State, r.Allowed, false
		default:
			if view.State != r.State {
				view.State = rest.StateMixed
			}
			view.Allowed = common(view.Allowed, r.Allowed)
		}
	}
	return view
}

// common returns the names that are in both, without changing either.
func common(a, b []string) []string {
	if slices.Equal(a, b) {
		return a
	}
	both := []string{}
	for _, name := range a {
		if slices.Contains(b, name) {
			both = append(both, name)
		}
	}
	return both
}

func (l Look) componentReplica(c *topology.Component, at *mirror.Replica) rest.ComponentReplica {
	r := rest.ComponentReplica{Address: at.Address.String(), Instance: at.Instance, State: rest.StateUnknown}
	r.Outdated = l.rules.observer.Outdated(at)
	known := at.Component(c.Name())
	if at.Problem != nil {
		r.Problem = rest.Of(c.Node.Replica(at.Address), at.Problem).Error()
		if known != nil {
			r.Last, r.Since, r.Why, r.Heard = known.State, known.Since, known.Why, at.Heard()
		}
		return r
	}
	if known == nil {
		r.Problem = fmt.Sprintf("the unit does not know the component %q", c.Name())
		return r
	}
	r.State, r.Since, r.Why = l.of(at).Components[c.Name()].State, known.Since, known.Why
	r.Lacks = l.rules.unmetNow(l.settled, l.of(at), c.Name())
	r.Degraded = len(r.Lacks) > 0
	r.Allowed, r.Blocked = l.allowed(c, at, known)
	r.Untouched, r.Failing = known.Seq == 0, known.Failing
	r.Reason, r.Restarts = reason.Of(known), known.Restarts
	if x := known.Executing(); x != nil {
		r.Executing = x.ID
	}
	return r
}

// OfOperation returns the view of an operation, without processes.
func OfOperation(l Look, op topology.Operation) rest.Operation {
	view := rest.Operation{
		OperationModel: op.Describe(), Node: op.Component.Node.Name(), Component: op.Component.Name(), Replicas: []rest.OperationReplica{},
	}
	for _, at := range l.Node(view.Node).Replicas {
		if at.Gone.IsZero() {
			view.Replicas = append(view.Replicas, l.operationReplica(op, at))
		}
	}
	view.Allowed = len(view.Replicas) > 0
	for i := range view.Replicas {
		view.Allowed = view.Allowed && view.Replicas[i].Allowed
		view.Running = view.Running || view.Replicas[i].Running
	}
	return view
}

func (l Look) operationReplica(op topology.Operation, at *mirror.Replica) rest.OperationReplica {
	c := l.componentReplica(op.Component, at)
	r := rest.OperationReplica{Address: c.Address, Instance: c.Instance, Executing: c.Executing, Problem: c.Problem}
	if c.Problem == "" {
		known := at.Component(op.Component.Name())
		r.Allowed, r.Lacks = slices.Contains(c.Allowed, op.Name.String()), c.Blocked[op.Name.String()]
		r.Running = runs(op, known)
	}
	return r
}

// runs reports whether an operation is executing, or has processes from a start.
func runs(op topology.Operation, c *mirror.Component) bool {
	last := protocol.Operation{}
	for _, x := range c.Recent {
		name := protocol.Operation{Interface: x.Interface, Name: x.Operation}
		if !x.Outcome.Done() && name == op.Name {
			return true
		}
		if x.Outcome == wire.OutcomeSucceeded && op.Component.Model.Protocol.KindOf(name) == protocol.KindStart {
			last = name
		}
	}
	return c.Open() && last == op.Name
}
