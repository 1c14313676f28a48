package execute

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/toskose/toskose/manager/fleet"
	"github.com/toskose/toskose/manager/outcome"
	"github.com/toskose/toskose/unit/wire"
)

// Execution returns an execution by its id, once it has ended or the wait is over. It queries all units for an
// execution that this manager does not remember, and adds runs that ended in removed containers while the mirror
// still shows them.
func (e *Engine) Execution(ctx context.Context, id string, wait time.Duration) (outcome.Execution, error) {
	if r, ok := e.records.get(id); ok {
		waiting, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		select {
		case <-r.done:
		case <-waiting.Done():
		case <-e.fleet.Life().Done():
		}
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
	x, err := ask(ctx, id, 0, replicas)
	if err == nil && wait > 0 && !x.Outcome.Done() {
		knowing := slices.DeleteFunc(replicas, func(r fleet.Replica) bool {
			return !slices.ContainsFunc(x.Runs, func(run outcome.Run) bool { return run.Replica == r.Addr.String() })
		})
		x, err = ask(ctx, id, wait, knowing)
	}
	if e.joinDeparted(&x, id); x.ID != "" {
		return x, nil
	}
	if err == nil && silent != nil {
		err = unknown(id, silent)
	}
	if err == nil {
		err = &outcome.Error{Kind: outcome.ErrUnknownExecution, Detail: fmt.Sprintf("no unit knows execution %q", id)}
	}
	return x, err
}

// joinDeparted adds the runs that ended in removed containers, in their last reported state and without their
// output.
func (e *Engine) joinDeparted(x *outcome.Execution, id string) {
	ended := func(known wire.Execution) bool { return known.ID == id && known.Outcome.Done() }
	for _, n := range e.fleet.Snapshot().Nodes {
		for _, r := range n.Replicas {
			if r.Gone.IsZero() {
				continue
			}
			for _, c := range r.Components {
				if i := slices.IndexFunc(c.Recent, ended); i >= 0 {
					x.Join(n.Name, r.Address.String(), c.Recent[i])
				}
			}
		}
	}
	x.Finish()
}

// ask queries replicas for an execution. It has no id if all replicas respond and none knows it.
func ask(ctx context.Context, id string, wait time.Duration, replicas []fleet.Replica) (x outcome.Execution, err error) {
	type answer struct {
		x   wire.Execution
		err error
	}
	var silent *outcome.Error
	for i, got := range fleet.Each(replicas, func(r fleet.Replica) answer {
		x, err := r.Unit.Execution(ctx, id, wait)
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
		return x, unknown(id, silent)
	}
	x.Finish()
	return x, nil
}

func unknown(id string, silent *outcome.Error) error {
	return &outcome.Error{Kind: silent.Kind, Cause: silent, Detail: fmt.Sprintf(
		"no unit that answers knows execution %q, but not all answer: %s", id, silent.Detail)}
}
