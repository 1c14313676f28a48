package manager

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/toskose/toskose/manager/unitclient"
	"github.com/toskose/toskose/unit/wire"
)

// RunRequest asks for one execution of an operation.
type RunRequest struct {
	Node, Component string
	Operation       string            // "interface.operation", or the bare name where it is unique
	Replica         string            // address or instance; empty: all
	Inputs          map[string]string // override declared inputs
	Timeout         time.Duration     // 0: the operation's own limit, or none
	By              string            // who asks, for the journals
}

// Start begins an execution and gives it once every replica has accepted or
// refused it, or ctx ends; in neither case does it end what has begun. The
// error is about the request; how the execution ends is its Err.
func (a *App) Start(ctx context.Context, req RunRequest) (Execution, error) {
	op, err := a.operation(req.Node, req.Component, req.Operation)
	if err != nil {
		return Execution{}, err
	}
	if err := op.checkInputs(req); err != nil {
		return Execution{}, err
	}
	replicas, err := a.replicas(ctx, op.component.node, req.Replica)
	if err != nil {
		return Execution{}, err
	}
	if a.life.Err() != nil {
		return Execution{}, &Error{Kind: ErrUnavailable, Detail: "the manager is shutting down"}
	}
	x := Execution{
		ID: rand.Text(), Node: req.Node, Component: req.Component, Interface: op.iface, Operation: op.model.Name,
		By: req.By, Inputs: slices.Sorted(maps.Keys(req.Inputs)), Outcome: wire.OutcomeRunning, Started: time.Now(),
	}
	for _, r := range replicas {
		x.Runs = append(x.Runs, Run{Replica: r.addr.String(), Outcome: wire.OutcomeRunning})
	}
	rec := newRecord(x)
	a.executions.add(x.ID, rec)
	a.log.Info("execution begins", "execution", x.ID, "node", x.Node, "component", x.Component, "operation", op.qualified(), "by", x.By)
	for i, r := range replicas {
		a.running.Go(func() { a.run(ctx, &run{rec: rec, index: i, replica: r, op: op, req: req, id: x.ID}) })
	}
	select {
	case <-rec.accepted:
	case <-ctx.Done():
	case <-a.life.Done():
	}
	return rec.snapshot(), nil
}

// Wait waits for an execution that this manager began to end. When ctx or the
// App ends first, it gives the execution as it is with an error.
func (a *App) Wait(ctx context.Context, id string) (Execution, error) {
	rec, ok := a.executions.get(id)
	if !ok {
		return a.Execution(ctx, id)
	}
	select {
	case <-rec.done:
		return rec.snapshot(), nil
	case <-ctx.Done():
		return rec.snapshot(), fmt.Errorf("execution %s goes on: %w", id, ctx.Err())
	case <-a.life.Done():
		x := rec.snapshot()
		return x, &Error{Kind: ErrUnavailable, Execution: &x, Detail: fmt.Sprintf("the manager is shutting down; execution %s goes on", id)}
	}
}

// checkInputs refuses inputs that the operation does not declare: the unit
// would too, but here all of them are named.
func (o operation) checkInputs(req RunRequest) error {
	var declared, undeclared []string
	for _, input := range o.model.Inputs {
		declared = append(declared, input.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(req.Inputs)) {
		if !slices.Contains(declared, name) {
			undeclared = append(undeclared, fmt.Sprintf("%q", name))
		}
		if strings.ContainsRune(req.Inputs[name], 0) {
			return &Error{Kind: ErrInvalid, Detail: fmt.Sprintf("the value of input %q has a zero byte, which no environment can hold", name)}
		}
	}
	if undeclared == nil {
		return nil
	}
	has := "none"
	if declared != nil {
		has = strings.Join(declared, ", ")
	}
	return &Error{Kind: ErrInvalid, Candidates: declared, Detail: fmt.Sprintf(
		"operation %s of component %q does not declare the input %s (it declares %s)",
		o.qualified(), req.Component, strings.Join(undeclared, ", "), has)}
}

// run is the execution on one replica.
type run struct {
	rec     *record
	index   int
	replica replica
	op      operation
	req     RunRequest
	id      string
}

// run sees one run to its end. It leaves the run as it is when the App ends
// first: the unit goes on and its journal knows the rest.
func (a *App) run(request context.Context, r *run) {
	ctx, cancel := a.detached(request)
	defer cancel()
	x, err := a.begin(ctx, r)
	r.rec.hasBegun()
	if err == nil {
		x, err = a.await(ctx, r, x)
	}
	if ctx.Err() != nil {
		return
	}
	r.rec.update(r.index, func(run *Run) {
		if err == nil {
			run.fill(x)
		} else {
			run.fail(err, time.Now())
		}
	})
	if !r.rec.hasEnded(time.Now()) {
		return
	}
	a.executions.end(r.id)
	ended := r.rec.snapshot()
	a.log.Info("execution ended", "execution", ended.ID, "node", ended.Node, "component", ended.Component,
		"operation", r.op.qualified(), "outcome", ended.Outcome)
}

// fail notes an error that is not the operation's.
func (r *Run) fail(err error, now time.Time) {
	e := unitError("", err)
	r.kind, r.Reason, r.Ended, r.Outcome = e.Kind, e.Detail, now, OutcomeRefused
	if e.State != "" {
		r.From = e.State
	}
	r.Allowed = e.Allowed
	if errors.Is(err, ErrUnreachable) || errors.Is(err, ErrBadAnswer) {
		r.Outcome = OutcomeUnreachable
	}
}

// variables gives inputs by the names that a unit has for them: those of the
// variables, without INPUT_. No two inputs differ by case only (the packager).
func variables(inputs map[string]string) map[string]string {
	if inputs == nil {
		return nil
	}
	named := make(map[string]string, len(inputs))
	for name, value := range inputs {
		named[strings.ToUpper(name)] = value
	}
	return named
}

// begin learns the instance and executes on it. A lost answer is asked for
// again with the same id and instance, which never runs anything twice.
func (a *App) begin(ctx context.Context, r *run) (wire.Execution, error) {
	var x wire.Execution
	for tries := 0; ; tries++ {
		seen := observe(ctx, r.replica)
		if seen.err != nil {
			return x, seen.err
		}
		r.rec.update(r.index, func(run *Run) { run.Instance = seen.snapshot.Instance })
		err := a.insist(ctx, func() (err error) {
			x, err = r.replica.unit.Execute(ctx, wire.ExecuteRequest{
				ID: r.id, Component: r.op.component.name(), Operation: r.op.qualified(), By: r.req.By,
				Timeout: r.req.Timeout.Seconds(), Inputs: variables(r.req.Inputs), Instance: seen.snapshot.Instance,
			})
			return err
		})
		code, _ := wire.FaultCodeOf(err)
		if code == wire.OtherInstance && tries < 3 {
			continue // the container was replaced in between, so nothing has run
		}
		if err != nil {
			return x, r.refused(seen, err)
		}
		r.rec.update(r.index, func(run *Run) { run.fill(x) })
		return x, nil
	}
}

// refused names the state and what would be allowed, where that is the matter.
func (r *run) refused(seen observed, err error) error {
	e := unitError(r.replica.String(), err)
	if c, ok := seen.component(r.op.component.name()); ok {
		switch {
		case errors.Is(e, ErrNotAllowed):
			e.State, e.Allowed = c.State, c.Allowed
			e.Detail = fmt.Sprintf("not allowed in state %q, which allows %s", c.State, oneOf(c.Allowed))
		case errors.Is(e, ErrBusy):
			e.State = c.State
			e.Detail = "another operation of the component is under way"
		}
	}
	return e
}

func oneOf(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}

// await follows the unit's journal until the execution has ended.
func (a *App) await(ctx context.Context, r *run, x wire.Execution) (wire.Execution, error) {
	seq := x.Seq
	for !x.Outcome.Done() {
		asked := time.Now()
		var page unitclient.Page
		err := a.insist(ctx, func() (err error) {
			page, err = r.replica.unit.Journal(ctx, unitclient.Cursor(x.Instance, seq), a.opts.Poll)
			return err
		})
		if err != nil {
			return x, unitError(r.replica.String(), err)
		}
		if page.Instance != x.Instance {
			return lost(x), nil
		}
		for _, entry := range page.Entries {
			seq = max(seq, entry.Seq)
			if e := entry.Execution; e != nil && e.ID == x.ID && e.Outcome.Done() {
				x = *e
			}
		}
		// The journal's entries lack the output. An empty answer, and one that
		// begins behind what was asked for, are reasons to ask, too: whoever
		// waits without an end must not rely on one entry.
		if x.Outcome.Done() || page.Reset || len(page.Entries) == 0 {
			if now, err := r.replica.unit.Execution(ctx, x.ID); err == nil && (now.Outcome.Done() || !x.Outcome.Done()) {
				x = now
			}
		}
		if len(page.Entries) == 0 && time.Since(asked) < a.opts.Poll/2 {
			a.sleep(ctx, a.opts.Backoff)
		}
		if ctx.Err() != nil {
			return x, ctx.Err()
		}
	}
	return x, nil
}

// lost ends an execution whose container is gone.
func lost(x wire.Execution) wire.Execution {
	x.Outcome, x.Ended = wire.OutcomeLost, time.Now()
	x.Reason = "its container was replaced by another one"
	return x
}

// insist calls f until it succeeds or answers a fault, or until it has failed to
// for as long as patience goes.
func (a *App) insist(ctx context.Context, f func() error) error {
	var until time.Time
	for delay := a.opts.Backoff; ; delay = min(2*delay, 2*time.Second) {
		err := f()
		if !errors.Is(err, unitclient.ErrUnreachable) && !errors.Is(err, unitclient.ErrBadAnswer) {
			return err
		}
		if until.IsZero() {
			until = time.Now().Add(a.opts.Patience)
		}
		if ctx.Err() != nil || time.Now().After(until) {
			return err
		}
		a.sleep(ctx, delay)
	}
}

// sleep waits, or until ctx ends.
func (a *App) sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
