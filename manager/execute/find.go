package execute

import (
	"context"
	"fmt"

	"github.com/toskose/toskose/manager/fleet"
	"github.com/toskose/toskose/manager/outcome"
	"github.com/toskose/toskose/unit/wire"
)

// Execution returns an execution by its id. It asks all units for one that this
// manager does not remember.
func (e *Engine) Execution(ctx context.Context, id string) (outcome.Execution, error) {
	if r, ok := e.records.get(id); ok {
		return r.snapshot(), nil
	}
	var replicas []fleet.Replica
	var silent *outcome.Error
	for _, n := range e.nodes {
		found, err := e.fleet.Replicas(ctx, n, "")
		if err != nil {
			silent = outcome.Of("", err)
			continue
		}
		replicas = append(replicas, found...)
	}
	type answer struct {
		x   wire.Execution
		err error
	}
	var x outcome.Execution
	for i, got := range fleet.Each(replicas, func(r fleet.Replica) answer {
		x, err := r.Unit.Execution(ctx, id, 0)
		return answer{x, err}
	}) {
		code, _ := wire.FaultCodeOf(got.err)
		switch {
		case got.err == nil:
			x.Join(replicas[i].Node.Name(), replicas[i].Addr.String(), got.x)
		case code != wire.NoExecution:
			silent = outcome.Of(replicas[i].String(), got.err)
		}
	}
	if x.ID == "" && silent != nil {
		return x, &outcome.Error{Kind: silent.Kind, Cause: silent, Detail: fmt.Sprintf(
			"no unit that answers knows execution %q, but not all answer: %s", id, silent.Detail)}
	}
	if x.ID == "" {
		return x, &outcome.Error{Kind: outcome.ErrUnknownExecution, Detail: fmt.Sprintf("no unit knows execution %q", id)}
	}
	x.Finish()
	return x, nil
}
