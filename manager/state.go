package manager

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/toskose/toskose/manager/discovery"
	"github.com/toskose/toskose/manager/mirror"
	"github.com/toskose/toskose/tosca"
	"github.com/toskose/toskose/tosca/protocol"
	"github.com/toskose/toskose/unit/wire"
)

// Detail selects what a view has beside what the mirror knows.
type Detail bool

// Whether the units are asked for processes: each reads all of /proc for it.
const (
	StatesOnly    Detail = false
	WithProcesses Detail = true
)

// complete returns what is known, once all nodes are.
func (a *App) complete(ctx context.Context) look {
	now, _ := a.mirror.When(ctx, (*mirror.Snapshot).Complete)
	return a.look(now)
}

// known returns what is known of a node, once anything is.
func (a *App) known(ctx context.Context, n *node) look {
	now, _ := a.mirror.When(ctx, func(s *mirror.Snapshot) bool { return s.Node(n.name()).Known })
	return a.look(now)
}

// App returns the state of the whole application. What cannot be reached is
// marked as such; it is not an error.
func (a *App) App(ctx context.Context, d Detail) AppView {
	now := a.complete(ctx)
	if d == WithProcesses {
		return a.show(a.views(ctx, now, d))
	}
	a.shown.mu.Lock()
	defer a.shown.mu.Unlock()
	if a.shown.of != now.Snapshot {
		a.shown.of, a.shown.view = now.Snapshot, a.show(a.views(ctx, now, d))
	}
	return a.shown.view
}

// shown is the last view of the application. It is shown again until something
// changes, to how many ever ask.
type shown struct {
	mu   sync.Mutex
	of   *mirror.Snapshot
	view AppView
}

func (a *App) show(nodes []NodeView) AppView {
	view := AppView{
		Name: a.app.Name, Version: a.app.Version, Description: a.app.Description,
		Nodes: nodes, Components: []ComponentView{}, Volumes: []VolumeView{},
	}
	running := map[string]bool{}
	for i := range view.Nodes {
		n := &view.Nodes[i]
		running[n.Name] = n.State == NodeRunning || n.State == NodeDegraded
		view.Components = append(view.Components, n.Components...)
		n.Components = nil
	}
	for _, v := range a.app.Volumes {
		volume := VolumeView{Name: v.Name, Type: v.Type, State: StateUnknown, Nodes: []string{}}
		for _, n := range a.nodes {
			if slices.ContainsFunc(n.model.Storage, func(s tosca.Storage) bool { return s.Volume == v.Name }) {
				volume.Nodes = append(volume.Nodes, n.name())
				if running[n.name()] {
					volume.State = "created"
				}
			}
		}
		view.Volumes = append(view.Volumes, volume)
	}
	return view
}

// Nodes returns the state of every node with its components.
func (a *App) Nodes(ctx context.Context, d Detail) []NodeView {
	return a.views(ctx, a.complete(ctx), d)
}

func (a *App) views(ctx context.Context, now look, d Detail) []NodeView {
	if d == WithProcesses {
		return each(a.nodes, func(n *node) NodeView { return n.view(now, a.processes(ctx, n, now)) })
	}
	views := make([]NodeView, len(a.nodes))
	for i, n := range a.nodes {
		views[i] = n.view(now, nil)
	}
	return views
}

// Node returns the state of one node with its components.
func (a *App) Node(ctx context.Context, name string, d Detail) (NodeView, error) {
	n, err := a.node(name)
	if err != nil {
		return NodeView{}, err
	}
	now := a.known(ctx, n)
	if d == WithProcesses {
		return n.view(now, a.processes(ctx, n, now)), nil
	}
	return n.view(now, nil), nil
}

// Component returns the state of a component.
func (a *App) Component(ctx context.Context, nodeName, name string, d Detail) (ComponentView, error) {
	c, err := a.component(nodeName, name)
	if err != nil {
		return ComponentView{}, err
	}
	now := a.known(ctx, c.node)
	if d == WithProcesses {
		return c.view(now, a.processes(ctx, c.node, now)), nil
	}
	return c.view(now, nil), nil
}

// processes are what the units of a node answered about processes, by address.
type processes map[string]observation

type observation struct {
	snapshot wire.Snapshot
	err      error
}

// processes asks the units of a node that are heard.
func (a *App) processes(ctx context.Context, n *node, now look) processes {
	heard := slices.DeleteFunc(slices.Clone(now.Node(n.name()).Replicas), func(r *mirror.Replica) bool { return !r.Reachable() })
	found := processes{}
	for i, o := range each(heard, func(r *mirror.Replica) observation {
		snapshot, err := a.pool.Client(r.Address, n.credentials).Components(ctx, true)
		return observation{snapshot, err}
	}) {
		if o.err != nil {
			o.err = unitError(replica{node: n, addr: heard[i].Address}.String(), o.err)
		}
		found[heard[i].Address.String()] = o
	}
	return found
}

// of returns the processes of a component at an address.
func (p processes) of(addr, component string) []wire.Process {
	all := p[addr].snapshot.Components
	i := slices.IndexFunc(all, func(c wire.Component) bool { return c.Name == component })
	if i < 0 {
		return nil
	}
	return all[i].Processes
}

func (n *node) view(all look, seen processes) NodeView {
	now := all.Node(n.name())
	view := NodeView{Name: n.name(), Type: n.model.Type, Kind: Toskosed, Image: n.model.Image.Name, Replicas: []ReplicaView{}}
	if !n.toskosed {
		view.Kind = Standalone
		for _, addr := range now.Running {
			view.Replicas = append(view.Replicas, ReplicaView{Address: addr.String()})
		}
	}
	there, answering := 0, len(now.Running)
	for _, r := range now.Replicas {
		shown := replicaView(r)
		if r.Gone.IsZero() {
			there++
		}
		if r.Reachable() {
			answering++
			o := seen[shown.Address]
			shown.Unclaimed = o.snapshot.Unclaimed
			if o.err != nil {
				shown.Problem = o.err.Error()
			}
		} else if r.Gone.IsZero() {
			view.Why = n.unheard(r).Error()
		}
		view.Replicas = append(view.Replicas, shown)
	}
	switch {
	case answering > 0 && answering < there:
		view.State = NodeDegraded
	case answering > 0:
		view.State = NodeRunning
	case there == 0 && errors.Is(now.Problem, discovery.ErrNone):
		view.State, view.Why = NodeStopped, now.Problem.Error()
	case there == 0 && now.Problem != nil:
		view.State, view.Why = NodeUnreachable, now.Problem.Error()
	default:
		view.State = NodeUnreachable
	}
	for _, c := range n.components {
		view.Components = append(view.Components, c.view(all, seen))
	}
	return view
}

func replicaView(r *mirror.Replica) ReplicaView {
	view := ReplicaView{Address: r.Address.String(), Instance: r.Instance, Booted: r.Booted, Labels: r.Labels, Gone: r.Gone}
	if r.Problem != nil {
		view.Problem, view.Since, view.Heard = r.Problem.Error(), r.Since, r.Heard()
	}
	if !r.Gone.IsZero() {
		view.Heard = r.Heard()
	}
	return view
}

// unheard is the error of a replica that is not heard.
func (n *node) unheard(r *mirror.Replica) *Error {
	return unitError(replica{node: n, addr: r.Address}.String(), r.Problem)
}

// view joins what is known of the component on each replica.
func (c *component) view(all look, seen processes) ComponentView {
	now := all.Node(c.node.name())
	view := ComponentView{
		Name: c.name(), Type: c.model.Type, Node: c.node.name(), State: StateUnknown,
		Allowed: []string{}, Operations: c.models, Replicas: make([]ComponentReplica, 0, len(now.Replicas)),
	}
	first := true
	for _, at := range now.Replicas {
		if !at.Gone.IsZero() {
			continue
		}
		r := c.replicaView(all, at)
		for _, l := range r.Lacks {
			if !slices.ContainsFunc(view.Lacks, l.same) {
				view.Lacks = append(view.Lacks, l)
			}
		}
		r.Processes = seen.of(r.Address, c.name())
		view.Replicas = append(view.Replicas, r)
		switch {
		case r.State == StateUnknown:
		case first:
			view.State, view.Allowed, first = r.State, r.Allowed, false
		default:
			if view.State != r.State {
				view.State = StateMixed
			}
			view.Allowed = common(view.Allowed, r.Allowed)
		}
	}
	return view
}

// common returns the names that are in both; it changes neither.
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

func (c *component) replicaView(all look, at *mirror.Replica) ComponentReplica {
	r := ComponentReplica{Address: at.Address.String(), Instance: at.Instance, State: StateUnknown}
	known := at.Component(c.name())
	if at.Problem != nil {
		r.Problem = c.node.unheard(at).Error()
		if known != nil {
			r.Last, r.Since, r.Why, r.Heard = known.State, known.Since, known.Why, at.Heard()
		}
		return r
	}
	if known == nil {
		r.Problem = fmt.Sprintf("the unit does not know the component %q", c.name())
		return r
	}
	r.State, r.Since, r.Why = known.State, known.Since, known.Why
	r.Lacks = all.rules.lacks(all.situation, all.of(at), c)
	r.Allowed, r.Blocked = c.allowed(all, at, known)
	if x := known.Executing(); x != nil {
		r.Executing = x.ID
	}
	return r
}

func (o operation) view() OperationModel {
	view := OperationModel{Name: o.name.String(), Implemented: o.model.Script != ""}
	for _, input := range o.model.Inputs {
		view.Inputs = append(view.Inputs, input.Name)
	}
	return view
}

// Operation reports whether an operation is allowed or running now.
func (a *App) Operation(ctx context.Context, nodeName, componentName, name string, d Detail) (OperationView, error) {
	op, err := a.operation(nodeName, componentName, name)
	if err != nil {
		return OperationView{}, err
	}
	view := OperationView{
		OperationModel: op.view(), Node: nodeName, Component: componentName, Replicas: []OperationReplica{},
	}
	now := a.known(ctx, op.component.node)
	for _, at := range now.Node(nodeName).Replicas {
		if at.Gone.IsZero() {
			view.Replicas = append(view.Replicas, op.replicaView(now, at))
		}
	}
	view.Allowed = len(view.Replicas) > 0
	for i := range view.Replicas {
		view.Allowed = view.Allowed && view.Replicas[i].Allowed
		view.Running = view.Running || view.Replicas[i].Running
	}
	if d == WithProcesses && op.model.Script != "" {
		a.addProcesses(ctx, op, view.Replicas)
	}
	return view, nil
}

func (o operation) replicaView(now look, at *mirror.Replica) OperationReplica {
	c := o.component.replicaView(now, at)
	r := OperationReplica{Address: c.Address, Instance: c.Instance, Executing: c.Executing, Problem: c.Problem}
	if c.Problem == "" {
		known := at.Component(o.component.name())
		r.Allowed, r.Lacks = slices.Contains(c.Allowed, o.name.String()), c.Blocked[o.name.String()]
		r.Running = o.runs(known)
	}
	return r
}

// runs reports whether the operation is executing, or a start has left what runs.
func (o operation) runs(c *mirror.Component) bool {
	last := protocol.Operation{}
	for _, x := range c.Recent {
		name := protocol.Operation{Interface: x.Interface, Name: x.Operation}
		if !x.Outcome.Done() && name == o.name {
			return true
		}
		if x.Outcome == wire.OutcomeSucceeded && o.component.kind(name) == protocol.KindStart {
			last = name
		}
	}
	return c.Open() && last == o.name
}

// addProcesses adds the operation's process as Supervisor's clients see it.
func (a *App) addProcesses(ctx context.Context, op operation, views []OperationReplica) {
	all, err := a.replicas(ctx, op.component.node, "")
	if err != nil {
		return // the views say it
	}
	for i, info := range each(all, func(r replica) *wire.ProcessInfo {
		info, err := r.unit.ProcessInfo(ctx, op.process())
		if err != nil {
			return nil
		}
		return &info
	}) {
		at := slices.IndexFunc(views, func(v OperationReplica) bool { return v.Address == all[i].addr.String() })
		if at >= 0 {
			views[at].Process = info
		}
	}
}

// NotReady is a node that keeps the application from being ready.
type NotReady struct {
	Node string `json:"node"`
	Why  string `json:"why"`
}

// Ready returns the toskosed nodes without a unit that answers, and the number of
// units that do.
func (a *App) Ready() (missing []NotReady, units int) {
	now := a.look(a.mirror.Snapshot())
	for i, n := range a.nodes {
		if !n.toskosed {
			continue
		}
		answering := 0
		for _, r := range now.Nodes[i].Replicas {
			if r.Reachable() {
				answering++
			}
		}
		if units += answering; answering == 0 {
			missing = append(missing, NotReady{Node: n.name(), Why: n.view(now, nil).Why})
		}
	}
	return missing, units
}

// Events returns a function that waits for what happens next, from the event with
// an id on; see mirror.Stream.
func (a *App) Events(after string) func(context.Context) ([]Event, error) {
	return a.mirror.Stream(after).Next
}

// Event is something that happened to a component, or to a replica.
type Event = mirror.Event
