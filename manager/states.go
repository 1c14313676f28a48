package manager

import (
	"context"
	"slices"
	"sync"

	"github.com/toskose/toskose/manager/fleet"
	"github.com/toskose/toskose/manager/mirror"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/manager/topology"
	"github.com/toskose/toskose/manager/view"
	"github.com/toskose/toskose/unit/wire"
)

// Detail selects the data that a view adds to the mirror's state.
type Detail bool

// Whether to query the units for processes, for which each unit reads all of /proc.
const (
	StatesOnly    Detail = false
	WithProcesses Detail = true
)

// App returns the state of the whole application. Unreachable parts are marked as such; they cause no error.
func (a *App) App(ctx context.Context, d Detail) rest.App {
	now := a.rules.At(a.fleet.Complete(ctx))
	if d == WithProcesses {
		return view.OfApp(a.model, a.views(ctx, now, d))
	}
	a.shown.mu.Lock()
	defer a.shown.mu.Unlock()
	if !a.shown.of.Same(now) {
		a.shown.of, a.shown.view = now, view.OfApp(a.model, a.views(ctx, now, d))
	}
	return a.shown.view
}

// shown caches the last view of the application for all callers until something changes.
type shown struct {
	mu   sync.Mutex
	of   view.Look
	view rest.App
}

// Nodes returns the state of every node with its components.
func (a *App) Nodes(ctx context.Context, d Detail) []rest.Node {
	return a.views(ctx, a.rules.At(a.fleet.Complete(ctx)), d)
}

func (a *App) views(ctx context.Context, now view.Look, d Detail) []rest.Node {
	if d == WithProcesses {
		return fleet.Each(a.model.Nodes, func(n *topology.Node) rest.Node { return view.OfNode(now, n, processes(ctx, a.fleet, n, now, d)) })
	}
	return a.rules.OfNodes(now, a.model.Nodes)
}

// Node returns the state of one node with its components.
func (a *App) Node(ctx context.Context, name string, d Detail) (rest.Node, error) {
	n, err := a.model.Node(name)
	if err != nil {
		return rest.Node{}, err
	}
	now := a.rules.At(a.fleet.Known(ctx, n))
	return view.OfNode(now, n, processes(ctx, a.fleet, n, now, d)), nil
}

// Component returns the state of a component.
func (a *App) Component(ctx context.Context, nodeName, name string, d Detail) (rest.Component, error) {
	c, err := a.model.Component(nodeName, name)
	if err != nil {
		return rest.Component{}, err
	}
	now := a.rules.At(a.fleet.Known(ctx, c.Node))
	return view.OfComponent(now, c, processes(ctx, a.fleet, c.Node, now, d)), nil
}

// processes queries the responsive units of a node, if requested.
func processes(ctx context.Context, f *fleet.Fleet, n *topology.Node, now view.Look, d Detail) view.Processes {
	if d == StatesOnly {
		return nil
	}
	heard := f.Reachable(now.Snapshot, n)
	found := view.Processes{}
	for i, o := range fleet.Each(heard, func(r fleet.Replica) view.Observation {
		snapshot, err := r.Unit.Components(ctx, true)
		if err != nil {
			err = rest.Of(r.String(), err)
		}
		return view.Observation{Snapshot: snapshot, Err: err}
	}) {
		found[heard[i].Addr.String()] = o
	}
	return found
}

// Operation reports whether an operation is allowed or running now.
func (a *App) Operation(ctx context.Context, nodeName, componentName, name string, d Detail) (rest.Operation, error) {
	op, err := a.model.Operation(nodeName, componentName, name)
	if err != nil {
		return rest.Operation{}, err
	}
	now := a.rules.At(a.fleet.Known(ctx, op.Component.Node))
	shown := view.OfOperation(now, op)
	if d == WithProcesses && op.HasProcess() {
		addProcesses(ctx, a.fleet, op, now, shown.Replicas)
	}
	return shown, nil
}

// addProcesses adds the operation's process in the form that Supervisor's clients expect.
func addProcesses(ctx context.Context, f *fleet.Fleet, op topology.Operation, now view.Look, views []rest.OperationReplica) {
	heard := f.Reachable(now.Snapshot, op.Component.Node)
	for i, info := range fleet.Each(heard, func(r fleet.Replica) *wire.ProcessInfo {
		info, err := r.Unit.ProcessInfo(ctx, op.Process())
		if err != nil {
			return nil
		}
		return &info
	}) {
		at := slices.IndexFunc(views, func(v rest.OperationReplica) bool { return v.Address == heard[i].Addr.String() })
		if at >= 0 {
			views[at].Process = info
		}
	}
}

// NotReady is a node that prevents the application from being ready.
type NotReady struct {
	Node string `json:"node"`
	Why  string `json:"why"`
}

// Ready returns the toskosed nodes without a responsive unit, and the number of responsive units.
func (a *App) Ready() (missing []NotReady, units int) {
	now := a.rules.At(a.fleet.Snapshot())
	for _, n := range a.model.Toskosed {
		answering := len(a.fleet.Reachable(now.Snapshot, n))
		if units += answering; answering == 0 {
			missing = append(missing, NotReady{Node: n.Name(), Why: view.OfNode(now, n, nil).Why})
		}
	}
	return missing, units
}

// Events returns a function that waits for the events after the given id; see mirror.Stream.
func (a *App) Events(after string) func(context.Context) ([]Event, error) {
	return a.fleet.Stream(after).Next
}

// EventMissing is the kind of the event that marks dropped events.
const EventMissing = mirror.EventMissing

// EventGoal is the kind of the event with the goal's progress, in streams that request it.
const EventGoal = "goal"

// Event is a change of a component or a replica.
type Event = mirror.Event

// Latest followed by a number N is the id before the last N events.
const Latest = mirror.Latest
