package manager

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/toskose/toskose/manager/discovery"
	"github.com/toskose/toskose/tosca"
	"github.com/toskose/toskose/unit/wire"
)

// observed is what one unit says of itself.
type observed struct {
	replica  replica
	snapshot wire.Snapshot
	err      error
}

func observe(ctx context.Context, r replica) observed {
	snapshot, err := r.unit.Components(ctx)
	if err != nil {
		err = unitError(r.String(), err)
	}
	return observed{replica: r, snapshot: snapshot, err: err}
}

// component finds what the unit says of a component, if it knows it.
func (o observed) component(name string) (wire.Component, bool) {
	i := slices.IndexFunc(o.snapshot.Components, func(c wire.Component) bool { return c.Name == name })
	if i < 0 {
		return wire.Component{}, false
	}
	return o.snapshot.Components[i], true
}

// survey asks all replicas of a toskosed node at the same time.
func (a *App) survey(ctx context.Context, n *node) ([]observed, error) {
	replicas, err := a.replicas(ctx, n, "")
	if err != nil {
		return nil, err
	}
	return each(replicas, func(r replica) observed { return observe(ctx, r) }), nil
}

// App tells the state of the whole application. What cannot be reached is
// shown as that and is no error.
func (a *App) App(ctx context.Context) AppView {
	view := AppView{
		Name: a.app.Name, Version: a.app.Version, Description: a.app.Description,
		Nodes: a.Nodes(ctx), Components: []ComponentView{}, Volumes: []VolumeView{},
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

// Nodes tells the state of every node with its components.
func (a *App) Nodes(ctx context.Context) []NodeView {
	return each(a.nodes, func(n *node) NodeView { return a.view(ctx, n) })
}

// Node tells the state of one node with its components.
func (a *App) Node(ctx context.Context, name string) (NodeView, error) {
	n, err := a.node(name)
	if err != nil {
		return NodeView{}, err
	}
	return a.view(ctx, n), nil
}

func (a *App) view(ctx context.Context, n *node) NodeView {
	view := NodeView{
		Name: n.name(), Type: n.model.Type, Kind: Toskosed, Image: n.model.Image.Name,
		Replicas: []ReplicaView{},
	}
	if !n.toskosed {
		return a.viewStandalone(ctx, n, view)
	}
	seen, err := a.survey(ctx, n)
	answering := 0
	for _, o := range seen {
		r := ReplicaView{Address: o.replica.addr.String()}
		if o.err != nil {
			r.Problem, view.Why = o.err.Error(), o.err.Error()
		} else {
			answering++
			r.Instance, r.Booted, r.Labels = o.snapshot.Instance, o.snapshot.Booted, o.snapshot.Labels
			r.Unclaimed = o.snapshot.Unclaimed
		}
		view.Replicas = append(view.Replicas, r)
	}
	switch {
	case errors.Is(err, discovery.ErrNone):
		view.State, view.Why = NodeStopped, err.Error()
	case err != nil:
		view.State, view.Why = NodeUnreachable, err.Error()
	case answering == 0:
		view.State = NodeUnreachable
	case answering < len(seen):
		view.State = NodeDegraded
	default:
		view.State = NodeRunning
	}
	for _, c := range n.components {
		view.Components = append(view.Components, c.view(seen))
	}
	return view
}

func (a *App) viewStandalone(ctx context.Context, n *node, view NodeView) NodeView {
	view.Kind = Standalone
	var ports []int
	for _, p := range n.model.Ports {
		if p.Protocol != "udp" {
			ports = append(ports, p.Container)
		}
	}
	addrs, err := a.opts.Containers.Running(ctx, n.conf.Alias, ports)
	switch {
	case err == nil:
		view.State = NodeRunning
	case errors.Is(err, discovery.ErrNone):
		view.State, view.Why = NodeStopped, err.Error()
	default:
		view.State, view.Why = NodeUnreachable, err.Error()
	}
	for _, addr := range addrs {
		view.Replicas = append(view.Replicas, ReplicaView{Address: addr.String()})
	}
	return view
}

// Component tells the state of a component. It is an error when no replica of
// its node answers.
func (a *App) Component(ctx context.Context, nodeName, name string) (ComponentView, error) {
	c, err := a.component(nodeName, name)
	if err != nil {
		return ComponentView{}, err
	}
	seen, err := a.surveyed(ctx, c.node)
	if err != nil {
		return ComponentView{}, err
	}
	return c.view(seen), nil
}

// surveyed is survey, and an error when nobody answers.
func (a *App) surveyed(ctx context.Context, n *node) ([]observed, error) {
	seen, err := a.survey(ctx, n)
	if err != nil {
		return nil, err
	}
	for _, o := range seen {
		if o.err == nil {
			return seen, nil
		}
	}
	return nil, seen[0].err
}

// view joins what the units say of the component.
func (c *component) view(seen []observed) ComponentView {
	view := ComponentView{
		Name: c.name(), Type: c.model.Type, Node: c.node.name(), State: StateUnknown,
		Allowed: []string{}, Operations: []OperationModel{}, Replicas: []ComponentReplica{},
	}
	for _, op := range c.operations {
		view.Operations = append(view.Operations, op.view())
	}
	first := true
	for _, o := range seen {
		r := c.replicaView(o)
		view.Replicas = append(view.Replicas, r)
		switch {
		case r.Problem != "":
		case first:
			view.State, view.Allowed, first = r.State, slices.Clone(r.Allowed), false
		default:
			if view.State != r.State {
				view.State = StateMixed
			}
			view.Allowed = slices.DeleteFunc(view.Allowed, func(op string) bool { return !slices.Contains(r.Allowed, op) })
		}
	}
	if view.Allowed == nil {
		view.Allowed = []string{}
	}
	return view
}

func (c *component) replicaView(o observed) ComponentReplica {
	r := ComponentReplica{Address: o.replica.addr.String(), State: StateUnknown}
	if o.err != nil {
		r.Problem = o.err.Error()
		return r
	}
	r.Instance = o.snapshot.Instance
	known, ok := o.component(c.name())
	if !ok {
		r.Problem = fmt.Sprintf("the unit does not know the component %q", c.name())
		return r
	}
	r.State, r.Since, r.Why, r.Allowed = known.State, known.Since, known.Why, known.Allowed
	r.Executing, r.Processes = known.Executing, known.Processes
	return r
}

func (o operation) view() OperationModel {
	view := OperationModel{Name: o.qualified(), Implemented: o.model.Script != ""}
	for _, input := range o.model.Inputs {
		view.Inputs = append(view.Inputs, input.Name)
	}
	return view
}

// Operation tells whether an operation is allowed or running now.
func (a *App) Operation(ctx context.Context, nodeName, componentName, name string) (OperationView, error) {
	op, err := a.operation(nodeName, componentName, name)
	if err != nil {
		return OperationView{}, err
	}
	seen, err := a.surveyed(ctx, op.component.node)
	if err != nil {
		return OperationView{}, err
	}
	view := OperationView{
		OperationModel: op.view(), Node: nodeName, Component: componentName, Allowed: true,
		Replicas: each(seen, func(o observed) OperationReplica { return op.replicaView(ctx, o) }),
	}
	for _, r := range view.Replicas {
		view.Allowed = view.Allowed && r.Allowed
		view.Running = view.Running || r.Process != nil && r.Process.State.InRunningSet()
	}
	return view, nil
}

func (o operation) replicaView(ctx context.Context, seen observed) OperationReplica {
	c := o.component.replicaView(seen)
	r := OperationReplica{Address: c.Address, Instance: c.Instance, Executing: c.Executing, Problem: c.Problem}
	if c.Problem != "" {
		return r
	}
	r.Allowed = c.Executing == "" && slices.Contains(c.Allowed, o.qualified())
	if o.model.Script == "" {
		return r
	}
	info, err := seen.replica.unit.ProcessInfo(ctx, o.process())
	if err != nil {
		r.Problem = unitError(seen.replica.String(), err).Error()
		return r
	}
	r.Process = &info
	return r
}
