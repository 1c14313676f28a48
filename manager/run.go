package manager

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"time"

	"github.com/toskose/toskose/manager/fleet"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/manager/topology"
	"github.com/toskose/toskose/manager/view"
)

// Start starts an execution and returns it once every replica has accepted or refused it, or ctx ends, which
// cancels nothing. The error is about the request; the execution's own is its Err.
//
// Start waits while the node is drained. Capabilities of drained components count as available: they return when
// the drain ends.
func (a *App) Start(ctx context.Context, req rest.RunRequest) (rest.Execution, error) {
	op, err := a.model.Operation(req.Node, req.Component, req.Operation)
	if err != nil {
		return rest.Execution{}, err
	}
	req.Component = op.Component.Name()
	if err := op.CheckInputs(req.Inputs); err != nil {
		return rest.Execution{}, err
	}
	for {
		leave, err := a.engine.Enter(ctx, op.Component.Node)
		if err != nil {
			return rest.Execution{}, err
		}
		x, err := a.start(ctx, req, op)
		leave()
		if !errors.Is(err, rest.ErrUnmet) || !a.engine.AwaitDrain(ctx) {
			return x, err
		}
	}
}

func (a *App) start(ctx context.Context, req rest.RunRequest, op topology.Operation) (rest.Execution, error) {
	replicas, err := a.fleet.Replicas(ctx, op.Component.Node, req.Replica)
	if err != nil {
		return rest.Execution{}, err
	}
	inv := fleet.Invocation{Request: req, Operation: op, Replicas: replicas}
	if err := a.assignIndex(&inv, a.rules.At(a.fleet.Complete(ctx))); err != nil {
		return rest.Execution{}, err
	}
	fresh, err := a.engine.Identify(ctx, &inv)
	if err != nil {
		return rest.Execution{}, err
	}
	now := a.rules.At(a.fleet.Complete(ctx))
	forced, err := now.Check(op, addresses(fresh), req.Force, req.Strict)
	if err != nil {
		return rest.Execution{}, err
	}
	if forced {
		inv.Request.By = strings.TrimSpace(req.By + " (forced)")
	}
	before := now.UnmetOfUsers(req.Component)
	inv.Degraded = func() []rest.Lack {
		return view.Added(before, a.rules.At(a.fleet.Snapshot()).UnmetOfUsers(req.Component))
	}
	return a.engine.Start(ctx, inv)
}

func addresses(replicas []fleet.Replica) []netip.AddrPort {
	all := make([]netip.AddrPort, len(replicas))
	for i, r := range replicas {
		all[i] = r.Addr
	}
	return all
}

// Wait waits for the end of an execution that this manager started. If ctx or the App ends first, it returns the
// execution's current state and an error.
func (a *App) Wait(ctx context.Context, id string) (rest.Execution, error) {
	return a.engine.Wait(ctx, id)
}

// Execution returns an execution by its id, once it has ended or the wait is over. It queries all units for an
// execution that this manager does not remember.
func (a *App) Execution(ctx context.Context, id string, wait time.Duration) (rest.Execution, error) {
	return a.engine.Execution(ctx, id, wait)
}

// Cancel ends an execution, whichever client started it, and returns its final state.
func (a *App) Cancel(ctx context.Context, id string) (rest.Execution, error) {
	return a.engine.Cancel(ctx, id)
}

// History returns past executions, the latest first.
func (a *App) History(ctx context.Context, q rest.HistoryQuery) (rest.History, error) {
	return a.fleet.History(ctx, q)
}
