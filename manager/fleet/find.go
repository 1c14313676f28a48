package fleet

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/unit/wire"
)

// Execution returns an execution by its id, once it has ended or the wait is over. It queries all units for an
// execution that this manager does not remember, and adds runs that ended in removed containers while the mirror
// still shows them.
func (e *Engine) Execution(ctx context.Context, id string, wait time.Duration) (rest.Execution, error) {
	if r, ok := e.records.get(id); ok {
		waiting, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		select {
		case <-r.done:
		case <-waiting.Done():
		case <-e.fleet.life.Done():
		}
		return r.snapshot(), nil
	}
	var replicas []Replica
	var unresponsive *rest.Error
	for _, n := range e.fleet.opts.Model.Toskosed {
		found, err := e.fleet.Replicas(ctx, n, "")
		if err != nil {
			unresponsive = rest.Of("", err)
			continue
		}
		replicas = append(replicas, found...)
	}
	x, err := executionOn(ctx, id, 0, replicas)
	if err == nil && wait > 0 && !x.Outcome.Done() {
		knowing := slices.DeleteFunc(replicas, func(r Replica) bool {
			return !slices.ContainsFunc(x.Runs, func(run rest.Run) bool { return run.Replica == r.Addr.String() })
		})
		x, err = executionOn(ctx, id, wait, knowing)
	}
	if e.joinRemoved(&x, id); x.ID != "" {
		return x, nil
	}
	if err == nil && unresponsive != nil {
		err = unknownExecution(id, unresponsive)
	}
	if err == nil {
		err = &rest.Error{Kind: rest.ErrUnknownExecution, Detail: fmt.Sprintf("no unit knows execution %q", id)}
	}
	return x, err
}

// joinRemoved adds the runs that ended in removed containers, in their last reported state and without their
// output.
func (e *Engine) joinRemoved(x *rest.Execution, id string) {
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

// executionOn queries replicas for an execution. It has no id if all replicas respond and none knows it.
func executionOn(ctx context.Context, id string, wait time.Duration, replicas []Replica) (x rest.Execution, err error) {
	type answer struct {
		x   wire.Execution
		err error
	}
	var unresponsive *rest.Error
	for i, got := range Each(replicas, func(r Replica) answer {
		x, err := r.Unit.Execution(ctx, id, wait)
		return answer{x, err}
	}) {
		code, _ := wire.FaultCodeOf(got.err)
		switch {
		case got.err == nil:
			x.Join(replicas[i].Node.Name(), replicas[i].Addr.String(), got.x)
		case code != wire.NoExecution:
			unresponsive = rest.Of(replicas[i].String(), got.err)
		}
	}
	if x.ID == "" && unresponsive != nil {
		return x, unknownExecution(id, unresponsive)
	}
	x.Finish()
	return x, nil
}

func unknownExecution(id string, unresponsive *rest.Error) error {
	return &rest.Error{Kind: unresponsive.Kind, Cause: unresponsive, Detail: fmt.Sprintf(
		"no unit that answers knows execution %q, but not all answer: %s", id, unresponsive.Detail)}
}

// Cancel ends an execution on all replicas where it runs, whichever client started it, and returns its final
// state.
func (e *Engine) Cancel(ctx context.Context, id string) (rest.Execution, error) {
	if rec, ok := e.records.get(id); ok {
		select {
		case <-rec.accepted: // otherwise it might start after the cancellation
		case <-ctx.Done():
		}
	}
	x, err := e.Execution(ctx, id, 0)
	if err != nil {
		return x, err
	}
	if x.Outcome.Done() {
		return x, &rest.Error{Kind: rest.ErrNotRunning, Detail: fmt.Sprintf("execution %q has ended: %s", id, x.Outcome)}
	}
	at := map[string]bool{}
	for _, run := range x.Runs {
		at[run.Replica] = !run.Outcome.Done()
	}
	var replicas []Replica
	for _, n := range e.fleet.opts.Model.Toskosed {
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
	for i, err := range Each(replicas, func(r Replica) error {
		ended, err := r.Unit.Cancel(detached, id)
		if err == nil {
			e.fleet.settle(detached, r, ended.Instance, ended.Seq)
		}
		return err
	}) {
		if code, _ := wire.FaultCodeOf(err); err != nil && code != wire.NoExecution {
			return x, rest.Of(replicas[i].String(), err)
		}
	}
	return e.Wait(ctx, id)
}
