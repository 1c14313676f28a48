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

// observation is what one unit answered about its components.
type observation struct {
	replica  replica
	snapshot wire.Snapshot
	err      error
}

// detail selects how much to ask for.
type detail bool

const (
	statesOnly    detail = false
	withProcesses detail = true // the unit reads all of /proc
)

func observe(ctx context.Context, r replica, d detail) observation {
	snapshot, err := r.unit.Components(ctx, bool(d))
	if err != nil {
		err = unitError(r.String(), err)
	}
	return observation{replica: r, snapshot: snapshot, err: err}
}

// component returns the unit's answer about a component, if it has one.
func (o observation) component(name string) (wire.Component, bool) {
	i := slices.IndexFunc(o.snapshot.Components, func(c wire.Component) bool { return c.Name == name })
	if i < 0 {
		return wire.Component{}, false
	}
	return o.snapshot.Components[i], true
}

// survey asks all replicas of a toskosed node concurrently.
func (a *App) survey(ctx context.Context, n *node, d detail) ([]observation, error) {
	replicas, err := a.replicas(ctx, n, "")
	if err != nil {
		return nil, err
	}
	return each(replicas, func(r replica) observation { return observe(ctx, r, d) }), nil
}

// App returns the state of the whole application. What cannot be reached is
// marked as such; it is not an error.
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

// Nodes returns the state of every node with its components.
func (a *App) Nodes(ctx context.Context) []NodeView {
	return each(a.nodes, func(n *node) NodeView { return a.view(ctx, n, withProcesses) })
}

// Node returns the state of one node with its components.
func (a *App) Node(ctx context.Context, name string) (NodeView, error) {
	n, err := a.node(name)
	if err != nil {
		return NodeView{}, err
	}
	return a.view(ctx, n, withProcesses), nil
}

func (a *App) view(ctx context.Context, n *node, d detail) NodeView {
	view := NodeView{
		Name: n.name(), Type: n.model.Type, Kind: Toskosed, Image: n.model.Image.Name,
		Replicas: []ReplicaView{},
	}
	if !n.toskosed {
		return a.viewStandalone(ctx, n, view)
	}
	seen, err := a.survey(ctx, n, d)
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

// Component returns the state of a component, or an error if no replica of its
// node answers.
func (a *App) Component(ctx context.Context, nodeName, name string) (ComponentView, error) {
	c, err := a.component(nodeName, name)
	if err != nil {
		return ComponentView{}, err
	}
	seen, err := a.mustSurvey(ctx, c.node, withProcesses)
	if err != nil {
		return ComponentView{}, err
	}
	return c.view(seen), nil
}

// mustSurvey is survey, but returns an error if no unit answers.
func (a *App) mustSurvey(ctx context.Context, n *node, d detail) ([]observation, error) {
	seen, err := a.survey(ctx, n, d)
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

// view joins what the units answered about the component.
func (c *component) view(seen []observation) ComponentView {
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

func (c *component) replicaView(o observation) ComponentReplica {
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
	view := OperationModel{Name: o.name.String(), Implemented: o.model.Script != ""}
	for _, input := range o.model.Inputs {
		view.Inputs = append(view.Inputs, input.Name)
	}
	return view
}

// Operation reports whether an operation is allowed or running now.
func (a *App) Operation(ctx context.Context, nodeName, componentName, name string) (OperationView, error) {
	op, err := a.operation(nodeName, componentName, name)
	if err != nil {
		return OperationView{}, err
	}
	seen, err := a.mustSurvey(ctx, op.component.node, statesOnly)
	if err != nil {
		return OperationView{}, err
	}
	view := OperationView{
		OperationModel: op.view(), Node: nodeName, Component: componentName, Allowed: true,
		Replicas: each(seen, func(o observation) OperationReplica { return op.replicaView(ctx, o) }),
	}
	for _, r := range view.Replicas {
		view.Allowed = view.Allowed && r.Allowed
		view.Running = view.Running || r.Process != nil && r.Process.State.InRunningSet()
	}
	return view, nil
}

func (o operation) replicaView(ctx context.Context, seen observation) OperationReplica {
	c := o.component.replicaView(seen)
	r := OperationReplica{Address: c.Address, Instance: c.Instance, Executing: c.Executing, Problem: c.Problem}
	if c.Problem != "" {
		return r
	}
	r.Allowed = c.Executing == "" && slices.Contains(c.Allowed, o.name.String())
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
