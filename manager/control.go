package manager

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/toskose/toskose/manager/mirror"
	"github.com/toskose/toskose/tosca/protocol"
	"github.com/toskose/toskose/unit/wire"
)

// Stop stops an operation and every process that it left, on all replicas or
// one, and waits for their end. It cancels an execution that is under way.
func (a *App) Stop(ctx context.Context, nodeName, componentName, name, which string) ([]Result, error) {
	op, err := a.operation(nodeName, componentName, name)
	if err != nil {
		return nil, err
	}
	subject := fmt.Sprintf("operation %s of component %q", op.name, componentName)
	return a.onReplicas(ctx, op.component.node, which, subject, func(ctx context.Context, r replica) Result {
		err := a.stop(ctx, op, r)
		a.catchUp(ctx, r)
		return Result{err: err}
	})
}

func (a *App) stop(ctx context.Context, o operation, r replica) error {
	var c *mirror.Component
	if at := a.mirror.Snapshot().Node(r.node.name()).At(r.addr); at != nil {
		c = at.Component(o.component.name())
	}
	if c != nil {
		x := c.Executing()
		if x != nil && o.name == (protocol.Operation{Interface: x.Interface, Name: x.Operation}) {
			_, err := r.unit.Cancel(ctx, x.ID)
			return err
		}
	}
	if o.model.Script == "" {
		return &Error{Kind: ErrNotRunning, Detail: "it has no script, so it has no process"}
	}
	return r.unit.Stop(ctx, o.process())
}

// catchUp waits until reads show all that the unit has written by now.
func (a *App) catchUp(ctx context.Context, r replica) {
	if id, err := r.unit.Identity(ctx); err == nil {
		a.settle(ctx, r, id.Instance, id.Seq)
	}
}

// StopAll stops every operation that runs on a node, on all replicas or one.
func (a *App) StopAll(ctx context.Context, nodeName, which string) ([]Result, error) {
	n, err := a.node(nodeName)
	if err != nil {
		return nil, err
	}
	return a.onReplicas(ctx, n, which, "all operations", func(ctx context.Context, r replica) Result {
		stopped, err := r.unit.StopAll(ctx)
		a.catchUp(ctx, r)
		return Result{Statuses: stopped, err: errors.Join(err, notStopped(stopped))}
	})
}

// notStopped returns an error that names the processes that could not be
// stopped, not counting those that had ended already.
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
	return &Error{Kind: ErrFailed, Detail: "cannot stop " + strings.Join(names, ", ")}
}

// Signal sends a signal, by name with or without SIG, to an operation's main process.
func (a *App) Signal(ctx context.Context, nodeName, componentName, name, which, signal string) ([]Result, error) {
	op, err := a.operation(nodeName, componentName, name)
	if err != nil {
		return nil, err
	}
	short := strings.TrimPrefix(strings.ToUpper(signal), "SIG")
	if unix.SignalNum("SIG"+short) == 0 {
		return nil, &Error{Kind: ErrInvalid, Detail: fmt.Sprintf("%q is not the name of a signal such as TERM or SIGHUP", signal)}
	}
	subject := fmt.Sprintf("operation %s of component %q", op.name, componentName)
	return a.onReplicas(ctx, op.component.node, which, subject, func(ctx context.Context, r replica) Result {
		if op.model.Script == "" {
			return Result{err: &Error{Kind: ErrNotRunning, Detail: "it has no script, so it has no process"}}
		}
		return Result{err: r.unit.Signal(ctx, op.process(), short)}
	})
}

// Reload makes all units read their configuration again, and returns the groups
// that differ from what is in use. What needs no restart takes effect; nothing is
// started or stopped.
func (a *App) Reload(ctx context.Context) ([]Result, error) {
	var results []Result
	var toskosed []*node
	for _, n := range a.nodes {
		if n.toskosed {
			toskosed = append(toskosed, n)
		}
	}
	for _, part := range each(toskosed, func(n *node) []Result {
		part, err := a.attempt(ctx, n, "", func(ctx context.Context, r replica) Result {
			added, changed, removed, err := r.unit.Reload(ctx)
			return Result{Added: added, Changed: changed, Removed: removed, err: err}
		})
		if err != nil {
			part = []Result{{Node: n.name(), Detail: err.Error(), err: err}}
		}
		return part
	}) {
		results = append(results, part...)
	}
	return results, worst("reload", results)
}

// onReplicas calls f for all replicas of a node, or for one, concurrently. It
// succeeds if f did for at least one and there was nothing to do on the others.
func (a *App) onReplicas(ctx context.Context, n *node, which, subject string, f func(context.Context, replica) Result) ([]Result, error) {
	results, err := a.attempt(ctx, n, which, f)
	if err != nil {
		return nil, err
	}
	return results, worst(subject, results)
}

func (a *App) attempt(ctx context.Context, n *node, which string, f func(context.Context, replica) Result) ([]Result, error) {
	replicas, err := a.replicas(ctx, n, which)
	if err != nil {
		return nil, err
	}
	ctx, cancel := a.detached(ctx)
	defer cancel()
	return each(replicas, func(r replica) Result {
		result := f(ctx, r)
		result.Node, result.Replica, result.Done = n.name(), r.addr.String(), result.err == nil
		if result.err != nil {
			result.err = unitError(r.String(), result.err)
			result.Detail = result.err.Error()
		}
		return result
	}), nil
}

// worst returns the most severe error of the replicas.
func worst(subject string, results []Result) error {
	var worst error
	done := false
	for _, r := range results {
		done = done || r.Done
		if rank(r.err) > rank(worst) {
			worst = r.err
		}
	}
	if worst == nil || done && errors.Is(worst, ErrNotRunning) {
		return nil
	}
	e := *unitError(subject, worst)
	e.Detail, e.Results = subject+": "+e.Detail, results
	return &e
}
