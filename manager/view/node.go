package view

import (
	"errors"
	"fmt"
	"slices"

	"github.com/toskose/toskose/manager/discovery"
	"github.com/toskose/toskose/manager/mirror"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/manager/topology"
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/unit/wire"
)

// Processes are the units' responses about processes, by address.
type Processes map[string]Observation

// Observation is one unit's response.
type Observation struct {
	Snapshot wire.Snapshot
	Err      error
}

// of returns the processes of a component at an address.
func (p Processes) of(addr, component string) []wire.Process {
	all := p[addr].Snapshot.Components
	i := slices.IndexFunc(all, func(c wire.Component) bool { return c.Name == component })
	if i < 0 {
		return nil
	}
	return all[i].Processes
}

// OfApp returns the view of an application from the views of its nodes, which it takes ownership of.
func OfApp(app *topology.Application, nodes []rest.Node) rest.App {
	view := rest.App{
		Name: app.Name, Version: app.Version, Description: app.Description,
		Nodes: nodes, Components: []rest.Component{}, Volumes: []rest.Volume{},
	}
	running := map[string]bool{}
	for i := range view.Nodes {
		n := &view.Nodes[i]
		running[n.Name] = n.State == rest.NodeRunning || n.State == rest.NodeDegraded
		view.Components = append(view.Components, n.Components...)
		n.Components = nil
	}
	for _, v := range app.Volumes {
		volume := rest.Volume{Name: v.Name, Type: v.Type, State: rest.StateUnknown, Nodes: []string{}}
		for _, n := range app.Nodes {
			if slices.ContainsFunc(n.Model.Storage, func(s spec.Storage) bool { return s.Volume == v.Name }) {
				volume.Nodes = append(volume.Nodes, n.Name())
				if running[n.Name()] {
					volume.State = "created"
				}
			}
		}
		view.Volumes = append(view.Volumes, volume)
	}
	return view
}

// OfNode returns the view of a node with its components and processes.
func OfNode(l Look, n *topology.Node, seen Processes) rest.Node {
	now := l.Node(n.Name())
	view := rest.Node{Name: n.Name(), Type: n.Model.Type, Kind: rest.Toskosed, Image: n.Model.Image.Name, Replicas: []rest.Replica{}}
	if !n.Toskosed {
		view.Kind = rest.Standalone
		for _, addr := range now.Running {
			view.Replicas = append(view.Replicas, rest.Replica{Address: addr.String()})
		}
	}
	there, answering := 0, len(now.Running)
	for _, r := range now.Replicas {
		shown := ofReplica(r)
		if r.Gone.IsZero() {
			there++
		}
		if r.Reachable() {
			answering++
			o := seen[shown.Address]
			shown.Unclaimed = o.Snapshot.Unclaimed
			if o.Err != nil {
				shown.Problem = o.Err.Error()
			}
		} else if r.Gone.IsZero() {
			view.Why = rest.Of(n.Replica(r.Address), r.Problem).Error()
		}
		view.Replicas = append(view.Replicas, shown)
	}
	switch {
	case answering > 0 && answering < there:
		view.State = rest.NodeDegraded
	case answering > 0:
		view.State = rest.NodeRunning
	case there == 0 && errors.Is(now.Problem, discovery.ErrNone):
		view.State, view.Why = rest.NodeStopped, now.Problem.Error()
	case there == 0 && now.Problem != nil:
		view.State, view.Why = rest.NodeUnreachable, now.Problem.Error()
	default:
		view.State = rest.NodeUnreachable
	}
	if n.IsJob() {
		showJob(&view, n, now.Problem)
	}
	for _, c := range n.Components {
		view.Components = append(view.Components, OfComponent(l, c, seen))
	}
	return view
}

// showJob adds the known state of a job's container; the job's outcome is unknown.
func showJob(view *rest.Node, n *topology.Node, problem error) {
	view.Kind, view.Job, view.Why = rest.Job, n.Model.Job, "a job, run by its orchestrator"
	if errors.Is(problem, discovery.ErrNone) || errors.Is(problem, discovery.ErrUnanswered) {
		view.State = rest.NodeStopped
	}
	switch view.State {
	case rest.NodeStopped:
		view.Why += ": it has ended, or has not begun"
	case rest.NodeUnreachable:
		view.Why += fmt.Sprintf(": whether it runs is not known: %v", problem)
	}
}

func ofReplica(r *mirror.Replica) rest.Replica {
	view := rest.Replica{Address: r.Address.String(), Instance: r.Instance, Booted: r.Booted, Labels: r.Labels, Gone: r.Gone}
	if r.Problem != nil {
		view.Problem, view.Since, view.Heard = r.Problem.Error(), r.Since, r.Heard()
	}
	if !r.Gone.IsZero() {
		view.Heard = r.Heard()
	}
	return view
}
