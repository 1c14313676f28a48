package manager

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/toskose/toskose/manager/fleet"
	"github.com/toskose/toskose/manager/mirror"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/manager/topology"
	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/wire"
)

// Control stops and signals operations.
type Control struct {
	model *topology.Application
	fleet *fleet.Fleet
}

// Stop stops an operation and its remaining processes, on all replicas or one, and waits until they have exited.
// It cancels a running execution.
func (c *Control) Stop(ctx context.Context, nodeName, componentName, name, which string) ([]rest.Result, error) {
	op, err := c.model.Operation(nodeName, componentName, name)
	if err != nil {
		return nil, err
	}
	subject := fmt.Sprintf("operation %s of component %q", op.Name, componentName)
	return c.fleet.On(ctx, op.Component.Node, which, subject, func(ctx context.Context, r fleet.Replica) rest.Result {
		err := stop(ctx, c.fleet, op, r)
		c.fleet.CatchUp(ctx, r)
		return rest.Result{Err: err}
	})
}

func stop(ctx context.Context, f *fleet.Fleet, op topology.Operation, r fleet.Replica) error {
	var c *mirror.Component
	if at := f.Snapshot().Node(r.Node.Name()).At(r.Addr); at != nil {
		c = at.Component(op.Component.Name())
	}
	if c != nil {
		x := c.Executing()
		if x != nil && op.Name == (protocol.Operation{Interface: x.Interface, Name: x.Operation}) {
			_, err := r.Unit.Cancel(ctx, x.ID)
			return err
		}
	}
	if !op.HasProcess() {
		return &rest.Error{Kind: rest.ErrNotRunning, Detail: "it has no process"}
	}
	return r.Unit.Stop(ctx, op.Process())
}

// StopAll stops every running operation of a node, on all replicas or one.
func (c *Control) StopAll(ctx context.Context, nodeName, which string) ([]rest.Result, error) {
	n, err := c.model.Node(nodeName)
	if err != nil {
		return nil, err
	}
	return c.fleet.On(ctx, n, which, "all operations", func(ctx context.Context, r fleet.Replica) rest.Result {
		stopped, err := r.Unit.StopAll(ctx)
		c.fleet.CatchUp(ctx, r)
		return rest.Result{Statuses: stopped, Err: errors.Join(err, notStopped(stopped))}
	})
}

// notStopped returns an error that names the processes that could not be stopped, except for processes that had
// already exited.
func notStopped(statuses []wire.ProcessStatus) error {
	var names []string
	for _, s := range statuses {
		if s.Status != wire.Success && s.Status != wire.NotRunning {
			names = append(names, fmt.Sprintf("%s:%s (%s)", s.Group, s.Name, s.Description))
		}
	}
	if names == nil {
		return nil
	}
	return &rest.Error{Kind: rest.ErrFailed, Detail: "cannot stop " + strings.Join(names, ", ")}
}

// Signal sends a signal, by name with or without SIG, to an operation's main process.
func (c *Control) Signal(ctx context.Context, nodeName, componentName, name, which, signal string) ([]rest.Result, error) {
	op, err := c.model.Operation(nodeName, componentName, name)
	if err != nil {
		return nil, err
	}
	short := strings.TrimPrefix(strings.ToUpper(signal), "SIG")
	if unix.SignalNum("SIG"+short) == 0 {
		return nil, &rest.Error{Kind: rest.ErrInvalid, Detail: fmt.Sprintf("%q is not the name of a signal such as TERM or SIGHUP", signal)}
	}
	subject := fmt.Sprintf("operation %s of component %q", op.Name, componentName)
	return c.fleet.On(ctx, op.Component.Node, which, subject, func(ctx context.Context, r fleet.Replica) rest.Result {
		if !op.HasProcess() {
			return rest.Result{Err: &rest.Error{Kind: rest.ErrNotRunning, Detail: "it has no process"}}
		}
		return rest.Result{Err: r.Unit.Signal(ctx, op.Process(), short)}
	})
}

// Reload makes all units read their configuration again, and returns the groups that differ from the active
// configuration. Changes that need no restart take effect; nothing is started or stopped.
func (c *Control) Reload(ctx context.Context) ([]rest.Result, error) {
	var results []rest.Result
	for _, part := range fleet.Each(c.model.Toskosed, func(n *topology.Node) []rest.Result {
		part, err := c.fleet.Attempt(ctx, n, "", func(ctx context.Context, r fleet.Replica) rest.Result {
			added, changed, removed, err := r.Unit.Reload(ctx)
			return rest.Result{Added: added, Changed: changed, Removed: removed, Err: err}
		})
		if err != nil {
			part = []rest.Result{{Node: n.Name(), Detail: err.Error(), Err: err}}
		}
		return part
	}) {
		results = append(results, part...)
	}
	return results, rest.Worst("reload", results)
}
