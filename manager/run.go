package manager

import (
	"context"
	"net/netip"
	"strings"
	"time"

	"github.com/toskose/toskose/manager/execute"
	"github.com/toskose/toskose/manager/outcome"
	"github.com/toskose/toskose/manager/view"
)

// RunRequest asks for one execution of an operation.
type RunRequest struct {
	Node, Component string
	Operation       string            // "interface.operation", or the bare name where it is unique
	Replica         string            // address or instance; empty: all
	Inputs          map[string]string // override declared inputs
	Timeout         time.Duration     // 0: the operation's own limit, or none
	By              string            // who asks, for the journals
	Force           bool              // even if it requires what nothing offers
	Strict          bool              // not if it takes from others what they require
	MaxUnavailable  int               // on how many replicas at the same time, and no further after a failure; 0: all
}

// Start begins an execution and returns it once every replica has accepted or
// refused it, or ctx ends, which cancels nothing. The error is about the request;
// the execution's own is its Err.
func (a *App) Start(ctx context.Context, req RunRequest) (outcome.Execution, error) {
	op, err := a.model.Operation(req.Node, req.Component, req.Operation)
	if err != nil {
		return outcome.Execution{}, err
	}
	if err := op.CheckInputs(req.Inputs); err != nil {
		return outcome.Execution{}, err
	}
	replicas, err := a.fleet.Replicas(ctx, op.Component.Node, req.Replica)
	if err != nil {
		return outcome.Execution{}, err
	}
	targets := make([]netip.AddrPort, len(replicas))
	for i, r := range replicas {
		targets[i] = r.Addr
	}
	now := a.rules.At(a.fleet.Complete(ctx))
	forced, err := now.Check(view.Request{Operation: op, Targets: targets, Force: req.Force, Strict: req.Strict})
	if err != nil {
		return outcome.Execution{}, err
	}
	if forced {
		req.By = strings.TrimSpace(req.By + " (forced)")
	}
	before := now.Lacking(req.Component)
	return a.engine.Start(ctx, execute.Request{
		Operation: op, Replicas: replicas, Inputs: req.Inputs, Timeout: req.Timeout, By: req.By, MaxUnavailable: req.MaxUnavailable,
		Degraded: func() []outcome.Lack {
			return view.Added(before, a.rules.At(a.fleet.Snapshot()).Lacking(req.Component))
		},
	})
}

// Wait waits for the end of an execution that this manager began. If ctx or the
// App ends first, it returns the execution as it is, and an error.
func (a *App) Wait(ctx context.Context, id string) (outcome.Execution, error) {
	return a.engine.Wait(ctx, id)
}

// Execution returns an execution by its id. It asks all units for one that this
// manager does not remember.
func (a *App) Execution(ctx context.Context, id string) (outcome.Execution, error) {
	return a.engine.Execution(ctx, id)
}
