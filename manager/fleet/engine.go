package fleet

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/manager/topology"
	"github.com/toskose/toskose/unit/wire"
)

// Invocation is a request to run an operation, with the operation and the replicas that its names resolve to.
type Invocation struct {
	Request   rest.RunRequest
	Operation topology.Operation
	Replicas  []Replica
	Part      *wire.Part // of a Task
	// Degraded returns the requirements that became unmet since the execution started.
	Degraded func() []rest.Lack
}

// Engine runs operations: at most once on each replica, in the known state of their components, even if units'
// responses get lost. The units' journals are the source of truth; an Engine only keeps a bounded memory of the
// executions that it started. They outlive the request that started them.
type Engine struct {
	fleet   *Fleet
	records *records
	drains  *drains
}

// NewEngine returns an Engine that remembers up to remember ended executions.
func NewEngine(f *Fleet, remember int) *Engine {
	return &Engine{fleet: f, records: newRecords(remember), drains: newDrains()}
}

// Start starts an execution and returns it once every replica in the first batch has accepted or refused it, or
// ctx ends, which cancels nothing. The error is about the request; the execution's own is its Err.
func (e *Engine) Start(ctx context.Context, inv Invocation) (rest.Execution, error) {
	if e.fleet.life.Err() != nil {
		return rest.Execution{}, &rest.Error{Kind: rest.ErrUnavailable, Detail: "the manager is shutting down"}
	}
	if inv.Request.ID == "" {
		inv.Request.ID = rand.Text()
	}
	rec, isNew, err := e.records.claim(inv)
	if err != nil {
		return rest.Execution{}, err
	}
	if isNew {
		e.drains.addStarted(inv.node())
		x := rec.snapshot()
		e.fleet.opts.Logger.Info("execution started", "execution", x.ID, "node", x.Node, "component", x.Component,
			"operation", inv.Operation.Name.String(), "by", x.By)
		runs := make([]*run, len(inv.Replicas))
		for i, r := range inv.Replicas {
			runs[i] = &run{Invocation: &inv, rec: rec, index: i, replica: r, first: i < inv.batch()}
		}
		e.fleet.Go(func(life context.Context) { e.roll(ctx, life, runs, inv.batch()) })
	}
	select {
	case <-rec.accepted:
	case <-ctx.Done():
	case <-e.fleet.life.Done():
	}
	return rec.snapshot(), nil
}

func (inv *Invocation) node() string { return inv.Operation.Component.Node.Name() }

// batch returns the maximum number of replicas on which the operation runs at the same time.
func (inv *Invocation) batch() int {
	if limit := inv.Request.MaxUnavailable; limit > 0 {
		return min(len(inv.Replicas), limit)
	}
	return len(inv.Replicas)
}

// fingerprint returns a string that is equal for identical requests.
func (inv *Invocation) fingerprint() string {
	r := &inv.Request
	inputs, _ := json.Marshal(r.Inputs) // names are sorted; strings always encode
	return fmt.Sprintf("%q %q %q %q %s %s %d %t %t",
		r.Node, r.Component, inv.Operation.Name, r.Replica, inputs, seconds(r.Timeout), r.MaxUnavailable, r.Force, r.Strict)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// initial returns the execution before any replica has responded.
func (inv *Invocation) initial() rest.Execution {
	op := inv.Operation
	x := rest.Execution{
		ID: inv.Request.ID, Node: inv.node(), Component: op.Component.Name(), Interface: op.Name.Interface, Operation: op.Name.Name,
		By: inv.Request.By, Inputs: slices.Sorted(maps.Keys(inv.Request.Inputs)), Part: inv.Part, Outcome: wire.OutcomeRunning, Started: time.Now(),
	}
	for _, r := range inv.Replicas {
		x.Runs = append(x.Runs, rest.Run{Replica: r.Addr.String(), Outcome: wire.OutcomeRunning})
	}
	return x
}

// Wait waits for the end of an execution that this manager started. If ctx or the fleet ends first, it returns the
// execution's current state and an error.
func (e *Engine) Wait(ctx context.Context, id string) (rest.Execution, error) {
	rec, ok := e.records.get(id)
	if !ok {
		return e.Execution(ctx, id, 0)
	}
	select {
	case <-rec.done:
		return rec.snapshot(), nil
	case <-ctx.Done():
		return rec.snapshot(), fmt.Errorf("execution %s continues: %w", id, ctx.Err())
	case <-e.fleet.life.Done():
		x := rec.snapshot()
		return x, &rest.Error{
			Kind: rest.ErrUnavailable, Execution: &x,
			Detail: fmt.Sprintf("the manager is shutting down; execution %s continues", id),
		}
	}
}

// Run executes a request on a unit and returns when it has ended.
func (e *Engine) Run(ctx context.Context, r Replica, req wire.ExecuteRequest) (x wire.Execution, err error) {
	node := r.Node.Name()
	if err := e.drains.addOn(node, req.Instance); err != nil {
		return x, err
	}
	defer e.drains.leave(node)
	err = e.fleet.retry(ctx, false, func() (err error) {
		x, err = r.Unit.Execute(ctx, req)
		return err
	})
	if err == nil {
		x, err = e.await(ctx, r, x)
	}
	if err != nil {
		return x, rest.Of(r.String(), err)
	}
	return x, nil
}
