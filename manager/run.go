package manager

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/toskose/toskose/manager/execute"
	"github.com/toskose/toskose/manager/fleet"
	"github.com/toskose/toskose/manager/history"
	"github.com/toskose/toskose/manager/outcome"
	"github.com/toskose/toskose/manager/topology"
	"github.com/toskose/toskose/manager/view"
)

// RunRequest is a request for one execution of an operation.
type RunRequest struct {
	Node, Component string
	Operation       string            // "interface.operation", or the bare name where it is unique
	ID              string            // chosen by the caller: the same id is the same execution; empty: a new execution
	Key             string            // idempotency key, from which the id is derived
	Replica         string            // address or instance; empty: all
	Inputs          map[string]string // override declared inputs
	Timeout         time.Duration     // 0: the operation's own limit, or none
	By              string            // the user, for the journals
	Force           bool              // even with unmet requirements
	Strict          bool              // not if it withdraws capabilities that others require
	MaxUnavailable  int               // maximum number of replicas at the same time; stops after a failure; 0: all
}

// Start starts an execution and returns it once every replica has accepted or refused it, or ctx ends, which
// cancels nothing. The error is about the request; the execution's own is its Err.
//
// Start waits while the node is drained. Capabilities of drained components count as available: they return when
// the drain ends.
func (a *App) Start(ctx context.Context, req RunRequest) (outcome.Execution, error) {
	op, err := a.model.Operation(req.Node, req.Component, req.Operation)
	if err != nil {
		return outcome.Execution{}, err
	}
	if err := op.CheckInputs(req.Inputs); err != nil {
		return outcome.Execution{}, err
	}
	for {
		leave, err := a.engine.Enter(ctx, op.Component.Node)
		if err != nil {
			return outcome.Execution{}, err
		}
		x, err := a.start(ctx, req, op)
		leave()
		if !errors.Is(err, outcome.ErrUnmet) || !a.engine.AwaitDrain(ctx) {
			return x, err
		}
	}
}

func (a *App) start(ctx context.Context, req RunRequest, op topology.Operation) (outcome.Execution, error) {
	replicas, err := a.fleet.Replicas(ctx, op.Component.Node, req.Replica)
	if err != nil {
		return outcome.Execution{}, err
	}
	run := execute.Request{
		ID: req.ID, Same: req.same(op), Operation: op, Replicas: replicas, Inputs: req.Inputs, Timeout: req.Timeout, By: req.By,
		MaxUnavailable: req.MaxUnavailable,
	}
	if err := a.index(&run, a.rules.At(a.fleet.Complete(ctx)), req.Replica != ""); err != nil {
		return outcome.Execution{}, err
	}
	fresh := run.Replicas
	if run.ID, err = chosen(a.engine, req, run.Same); err == nil && run.ID != "" {
		fresh, err = a.engine.Fresh(ctx, run)
	}
	if err != nil {
		return outcome.Execution{}, err
	}
	now := a.rules.At(a.fleet.Complete(ctx))
	forced, err := now.Check(view.Request{Operation: op, Targets: addresses(fresh), Force: req.Force, Strict: req.Strict})
	if err != nil {
		return outcome.Execution{}, err
	}
	if forced {
		run.By = strings.TrimSpace(req.By + " (forced)")
	}
	before := now.Lacking(req.Component)
	run.Degraded = func() []outcome.Lack {
		return view.Added(before, a.rules.At(a.fleet.Snapshot()).Lacking(req.Component))
	}
	return a.engine.Start(ctx, run)
}

func addresses(replicas []fleet.Replica) []netip.AddrPort {
	all := make([]netip.AddrPort, len(replicas))
	for i, r := range replicas {
		all[i] = r.Addr
	}
	return all
}

// same returns a string that is equal for identical requests.
func (r RunRequest) same(op topology.Operation) string {
	inputs, _ := json.Marshal(r.Inputs) // names are sorted; strings always encode
	return fmt.Sprintf("%q %q %q %q %s %s %d %t %t", r.Node, r.Component, op.Name, r.Replica, inputs, r.Timeout, r.MaxUnavailable, r.Force, r.Strict)
}

// chosen returns the client's id, or the id derived from its idempotency key; empty if there is neither.
func chosen(e *execute.Engine, req RunRequest, same string) (string, error) {
	switch {
	case req.ID != "" && req.Key != "":
		return "", &outcome.Error{Kind: outcome.ErrInvalid, Detail: "an execution has an id or an Idempotency-Key, and not both"}
	case req.ID != "":
		return req.ID, execute.CheckID(req.ID)
	case req.Key == "":
		return "", nil
	}
	id, prefix := execute.KeyID(req.By, req.Key, same)
	if e.Taken(prefix, id) {
		return "", &outcome.Error{Kind: outcome.ErrReused, Detail: "another request had this Idempotency-Key"}
	}
	return id, nil
}

// Wait waits for the end of an execution that this manager started. If ctx or the App ends first, it returns the
// execution's current state and an error.
func (a *App) Wait(ctx context.Context, id string) (outcome.Execution, error) {
	return a.engine.Wait(ctx, id)
}

// Execution returns an execution by its id, once it has ended or the wait is over. It queries all units for an
// execution that this manager does not remember.
func (a *App) Execution(ctx context.Context, id string, wait time.Duration) (outcome.Execution, error) {
	return a.engine.Execution(ctx, id, wait)
}

// Cancel ends an execution, whichever client started it, and returns its final state.
func (a *App) Cancel(ctx context.Context, id string) (outcome.Execution, error) {
	return a.engine.Cancel(ctx, id)
}

// History returns past executions, the latest first.
func (a *App) History(ctx context.Context, q history.Query) (history.Page, error) {
	return a.history.List(ctx, q)
}
