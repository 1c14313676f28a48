// Package execute runs operations on replicas: at most once on each, in the known state of their components, even
// if units' responses get lost. The units' journals are the source of truth; this package only keeps a bounded
// memory of the executions that this manager started.
//
// An Engine owns one goroutine for each replica on which one of its executions runs. They outlive the request that
// started them and end with the execution or with the Engine's fleet.
package execute

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/toskose/toskose/manager/fleet"
	"github.com/toskose/toskose/manager/outcome"
	"github.com/toskose/toskose/manager/topology"
	"github.com/toskose/toskose/unit/wire"
)

// Request is a request for one execution of an operation.
type Request struct {
	ID        string // chosen by the caller: the same id is the same execution; empty: a new execution
	Same      string // equal for identical requests
	Operation topology.Operation
	Replicas  []fleet.Replica
	Inputs    map[string]string // override declared inputs
	Part      *wire.Part        // of a Task
	Timeout   time.Duration     // 0: the operation's own limit, or none
	By        string            // the user, for the journals
	// MaxUnavailable is the maximum number of replicas on which the operation runs at the same time. After a failure
	// it starts on no further replica. 0: on all at once.
	MaxUnavailable int
	// Degraded returns the requirements that became unmet since the execution started.
	Degraded func() []outcome.Lack
}

// Engine runs the operations of one application. Its methods are safe for
// concurrent use.
type Engine struct {
	fleet   *fleet.Fleet
	nodes   []*topology.Node // that have units
	records *memory
	drains  *drains
	log     *slog.Logger
}

// New returns an Engine that remembers up to remember ended executions.
func New(f *fleet.Fleet, nodes []*topology.Node, remember int, log *slog.Logger) *Engine {
	return &Engine{fleet: f, nodes: nodes, records: newMemory(remember), drains: newDrains(), log: log}
}

// Start starts an execution and returns it once every replica in the first batch has accepted or refused it, or
// ctx ends, which cancels nothing. The error is about the request; the execution's own is its Err.
func (e *Engine) Start(ctx context.Context, req Request) (outcome.Execution, error) {
	life := e.fleet.Life()
	if life.Err() != nil {
		return outcome.Execution{}, &outcome.Error{Kind: outcome.ErrUnavailable, Detail: "the manager is shutting down"}
	}
	if req.ID == "" {
		req.ID = rand.Text()
	}
	rec, isNew, err := e.records.claim(req)
	if err != nil {
		return outcome.Execution{}, err
	}
	if isNew {
		e.drains.more(req.Operation.Component.Node.Name())
		x := rec.snapshot()
		e.log.Info("execution begins", "execution", x.ID, "node", x.Node, "component", x.Component,
			"operation", req.Operation.Name.String(), "by", x.By)
		runs := make([]*run, len(req.Replicas))
		for i, r := range req.Replicas {
			runs[i] = &run{rec: rec, index: i, replica: r, req: req, id: x.ID, first: i < req.most()}
		}
		e.fleet.Go(func(life context.Context) { e.roll(ctx, life, runs, req.most()) })
	}
	select {
	case <-rec.accepted:
	case <-ctx.Done():
	case <-life.Done():
	}
	return rec.snapshot(), nil
}

// most returns the maximum number of replicas on which it runs at the same time.
func (req Request) most() int {
	if req.MaxUnavailable > 0 {
		return min(len(req.Replicas), req.MaxUnavailable)
	}
	return len(req.Replicas)
}

// begun returns the execution in its initial state.
func (req Request) begun() outcome.Execution {
	op := req.Operation
	x := outcome.Execution{
		ID: req.ID, Node: op.Component.Node.Name(), Component: op.Component.Name(), Interface: op.Name.Interface, Operation: op.Name.Name,
		By: req.By, Inputs: slices.Sorted(maps.Keys(req.Inputs)), Part: req.Part, Outcome: wire.OutcomeRunning, Started: time.Now(),
	}
	for _, r := range req.Replicas {
		x.Runs = append(x.Runs, outcome.Run{Replica: r.Addr.String(), Outcome: wire.OutcomeRunning})
	}
	return x
}

// Wait waits for the end of an execution that this manager started. If ctx or the fleet ends first, it returns the
// execution's current state and an error.
func (e *Engine) Wait(ctx context.Context, id string) (outcome.Execution, error) {
	rec, ok := e.records.get(id)
	if !ok {
		return e.Execution(ctx, id, 0)
	}
	select {
	case <-rec.done:
		return rec.snapshot(), nil
	case <-ctx.Done():
		return rec.snapshot(), fmt.Errorf("execution %s continues: %w", id, ctx.Err())
	case <-e.fleet.Life().Done():
		x := rec.snapshot()
		return x, &outcome.Error{
			Kind: outcome.ErrUnavailable, Execution: &x,
			Detail: fmt.Sprintf("the manager is shutting down; execution %s continues", id),
		}
	}
}

// Run executes a request on a unit and returns when it has ended.
func (e *Engine) Run(ctx context.Context, r fleet.Replica, req wire.ExecuteRequest) (x wire.Execution, err error) {
	leave, err := e.counted(r, req.Instance)
	if err != nil {
		return x, err
	}
	defer leave()
	err = e.fleet.Insist(ctx, false, func() (err error) {
		x, err = r.Unit.Execute(ctx, req)
		return err
	})
	if err == nil {
		x, err = e.await(ctx, r, x)
	}
	if err != nil {
		return x, outcome.Of(r.String(), err)
	}
	return x, nil
}
