package manager

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/toskose/toskose/unit/wire"
)

// Stop stops an operation and every process that it left, on all replicas or
// one, and waits for the end. An execution of it that is under way is cancelled.
func (a *App) Stop(ctx context.Context, nodeName, componentName, name, which string) ([]Result, error) {
	op, err := a.operation(nodeName, componentName, name)
	if err != nil {
		return nil, err
	}
	subject := fmt.Sprintf("operation %s of component %q", op.qualified(), componentName)
	return a.onReplicas(ctx, op.component.node, which, subject, func(ctx context.Context, r replica) Result {
		return Result{err: op.stop(ctx, r)}
	})
}

func (o operation) stop(ctx context.Context, r replica) error {
	seen := observe(ctx, r)
	if seen.err != nil {
		return seen.err
	}
	c, _ := seen.component(o.component.name())
	if c.Executing != "" {
		x, err := r.unit.Execution(ctx, c.Executing)
		if err == nil && x.Interface == o.iface && x.Operation == o.model.Name {
			_, err = r.unit.Cancel(ctx, x.ID)
			return err
		}
	}
	if o.model.Script == "" {
		return &Error{Kind: ErrNotRunning, Detail: "it has no script, so nothing of it runs"}
	}
	return r.unit.Stop(ctx, o.process())
}

// StopAll stops every operation that runs on a node, on all replicas or one.
func (a *App) StopAll(ctx context.Context, nodeName, which string) ([]Result, error) {
	n, err := a.node(nodeName)
	if err != nil {
		return nil, err
	}
	return a.onReplicas(ctx, n, which, "all operations", func(ctx context.Context, r replica) Result {
		stopped, err := r.unit.StopAll(ctx)
		return Result{Statuses: stopped, err: errors.Join(err, notStopped(stopped))}
	})
}

// notStopped is an error of the processes that a stop of all could not stop. One
// that had ended already is none of them.
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
		return nil, &Error{Kind: ErrInvalid, Detail: fmt.Sprintf("%q is no name of a signal, such as TERM or SIGHUP", signal)}
	}
	subject := fmt.Sprintf("operation %s of component %q", op.qualified(), componentName)
	return a.onReplicas(ctx, op.component.node, which, subject, func(ctx context.Context, r replica) Result {
		if op.model.Script == "" {
			return Result{err: &Error{Kind: ErrNotRunning, Detail: "it has no script, so nothing of it runs"}}
		}
		return Result{err: r.unit.Signal(ctx, op.process(), short)}
	})
}

// Reload makes the units of all nodes read their configuration again, and gives
// the groups that differ from what is in use. What takes no restart is in use
// then; nothing is started or stopped.
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

// onReplicas does something to all replicas of a node, or to one, at the same
// time. It succeeded when it did on one at least and on the others there was
// nothing to do.
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

// worst is the error of the replica that it went worst with.
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
