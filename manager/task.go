package manager

import (
	"context"
	"fmt"
	"strconv"

	"github.com/toskose/toskose/manager/fleet"
	"github.com/toskose/toskose/manager/keep"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/manager/topology"
	"github.com/toskose/toskose/manager/view"
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
)

// RunTask makes the completion of a Task part of the goal. Failed indexes are retried once; with again, all
// indexes run once more, including completed ones.
func (a *App) RunTask(ctx context.Context, name string, again bool, by string) (view rest.Goal, kept bool, err error) {
	c, err := a.model.Named(name)
	if err != nil {
		return view, false, err
	}
	if c.Model.Task == nil {
		return view, false, &rest.Error{Kind: rest.ErrInvalid, Detail: fmt.Sprintf("component %q is not a task; run its operations by their names", name)}
	}
	return a.spread(ctx, func(ctx context.Context) (keep.Status, error) {
		return a.keeper.RunTask(ctx, name, again, by, a.now())
	})
}

// assignIndex turns a person's request to run a Task into a run of one index, on that index's replica unless the
// request names another.
func (a *App) assignIndex(inv *fleet.Invocation, now view.Look) error {
	c := inv.Operation.Component
	if c.Model.Task == nil || inv.Operation.Name != protocol.TaskRun {
		return nil
	}
	index, err := indexOf(inv.Request.Inputs, c)
	if err != nil {
		return err
	}
	part := a.Goals.model.NextPart(now.Situation(), now.Goal(), c.Name(), index)
	inv.Part = &part
	if inv.Request.Replica == "" && len(inv.Replicas) > 1 {
		inv.Replicas = []fleet.Replica{inv.Replicas[index%len(inv.Replicas)]}
	}
	return nil
}

// indexOf reads which index of a Task is requested.
func indexOf(inputs map[string]string, c *topology.Component) (int, error) {
	task := c.Model.Task
	text, given := inputs[spec.TaskIndex]
	if !given && task.Completions == 1 {
		return 0, nil
	}
	index, err := strconv.Atoi(text)
	if err == nil && index >= 0 && index < task.Completions {
		return index, nil
	}
	what := fmt.Sprintf("and not %q", text)
	if !given {
		what = "and is missing"
	}
	return 0, &rest.Error{Kind: rest.ErrInvalid, Detail: fmt.Sprintf(
		"the input %s is the index to run, from 0 to %d, %s; `toskose run %s`, or POST /api/v1/app/tasks/%s/run, runs all of them",
		spec.TaskIndex, task.Completions-1, what, c.Name(), c.Name())}
}
