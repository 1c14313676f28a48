package execute

import (
	"context"
	"fmt"

	"github.com/toskose/toskose/manager/fleet"
	"github.com/toskose/toskose/manager/outcome"
	"github.com/toskose/toskose/unit/wire"
)

// Cancel ends an execution on all replicas where it runs, whichever client started it, and returns its final
// state.
func (e *Engine) Cancel(ctx context.Context, id string) (outcome.Execution, error) {
	if rec, ok := e.records.get(id); ok {
		select {
		case <-rec.accepted: // so that it does not start after the cancellation
		case <-ctx.Done():
		}
	}
	x, err := e.Execution(ctx, id, 0)
	if err != nil {
		return x, err
	}
	if x.Outcome.Done() {
		return x, &outcome.Error{Kind: outcome.ErrNotRunning, Detail: fmt.Sprintf("execution %q has ended: %s", id, x.Outcome)}
	}
	at := map[string]bool{}
	for _, run := range x.Runs {
		at[run.Replica] = !run.Outcome.Done()
	}
	var replicas []fleet.Replica
	for _, n := range e.nodes {
		if n.Name() != x.Node {
			continue
		}
		found, err := e.fleet.Replicas(ctx, n, "")
		if err != nil {
			return x, err
		}
		for _, r := range found {
			if at[r.Addr.String()] {
				replicas = append(replicas, r)
			}
		}
	}
	detached, stop := e.fleet.Detached(ctx)
	defer stop()
	for i, err := range fleet.Each(replicas, func(r fleet.Replica) error {
		ended, err := r.Unit.Cancel(detached, id)
		if err == nil {
			e.fleet.Settle(detached, r, ended.Instance, ended.Seq)
		}
		return err
	}) {
		if code, _ := wire.FaultCodeOf(err); err != nil && code != wire.NoExecution {
			return x, outcome.Of(replicas[i].String(), err)
		}
	}
	return e.Wait(ctx, id)
}
