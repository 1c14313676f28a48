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
	Force           bool              // even if it requires what nothing offers
	Strict          bool              // not if it takes from others what they require

	forced bool // it was needed
}

// by is who asks, and whether he knew better.
func (r RunRequest) by() string {
	if r.forced {
		return strings.TrimSpace(r.By + " (forced)")
	}
	return r.By
}

// Start begins an execution and returns it once every replica has accepted or
// refused it, or ctx ends, which cancels nothing. The error is about the request;
// the execution's own is its Err.
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
	before, err := a.check(ctx, op, replicas, &req)
	if err != nil {
		return Execution{}, err
	}
	x := Execution{
		ID: rand.Text(), Node: req.Node, Component: req.Component, Interface: op.name.Interface, Operation: op.name.Name,
		By: req.by(), Inputs: slices.Sorted(maps.Keys(req.Inputs)), Outcome: wire.OutcomeRunning, Started: time.Now(),
	}
	for _, r := range replicas {
		x.Runs = append(x.Runs, Run{Replica: r.addr.String(), Outcome: wire.OutcomeRunning})
	}
	rec := newRecord(x)
	rec.before = before
	a.executions.add(x.ID, rec)
	a.log.Info("execution begins", "execution", x.ID, "node", x.Node, "component", x.Component, "operation", op.name.String(), "by", x.By)
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

// Wait waits for the end of an execution that this manager began. If ctx or the
// App ends first, it returns the execution as it is, and an error.
func (a *App) Wait(ctx context.Context, id string) (Execution, error) {
	rec, ok := a.executions.get(id)
	if !ok {
		return a.Execution(ctx, id)
	}
	select {
	case <-rec.done:
		return rec.snapshot(), nil
	case <-ctx.Done():
		return rec.snapshot(), fmt.Errorf("execution %s continues: %w", id, ctx.Err())
	case <-a.life.Done():
		x := rec.snapshot()
		return x, &Error{Kind: ErrUnavailable, Execution: &x, Detail: fmt.Sprintf("the manager is shutting down; execution %s continues", id)}
	}
}

// checkInputs returns an error that names all inputs that the operation does not
// declare; the unit would name the first.
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
			return &Error{Kind: ErrInvalid, Detail: fmt.Sprintf("the value of input %q contains a zero byte, which no environment variable can", name)}
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
		o.name, req.Component, strings.Join(undeclared, ", "), has)}
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

// run follows one run to its end. If the App ends first, it leaves the run as it
// is: the unit continues, and its journal has the rest.
func (a *App) run(request context.Context, r *run) {
	ctx, cancel := a.detached(request)
	defer cancel()
	x, err := a.begin(ctx, r)
	r.rec.hasBegun()
	if err == nil {
		x, err = a.await(ctx, r, x)
	}
	if err == nil {
		a.settle(ctx, r.replica, x.Instance, x.Seq)
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
	s, _ := a.rules.situation(a.mirror.Snapshot())
	if !r.rec.hasEnded(time.Now(), added(r.rec.before, a.left(s, r.op.component))) {
		return
	}
	a.executions.end(r.id)
	ended := r.rec.snapshot()
	a.log.Info("execution ended", "execution", ended.ID, "node", ended.Node, "component", ended.Component,
		"operation", r.op.name.String(), "outcome", ended.Outcome)
}

// fail records an error that is not the operation's.
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

// variables returns inputs under the names that units use: those of the
// variables, without INPUT_. The packager ensures that no two differ only in case.
func variables(inputs map[string]string) map[string]string {
	if inputs == nil {
		return nil
	}
	byVariable := make(map[string]string, len(inputs))
	for name, value := range inputs {
		byVariable[strings.ToUpper(name)] = value
	}
	return byVariable
}

// begin executes on the instance that is known at the replica's address, as its
// component is known to be. If an answer gets lost, it sends the same request
// again, which never runs anything twice. If another instance refuses, or there is
// a newer entry, nothing has run.
func (a *App) begin(ctx context.Context, r *run) (x wire.Execution, err error) {
	at, err := a.expected(r.replica, r.op.component.name())
	if err != nil {
		return x, err
	}
	for tries := 0; ; tries++ {
		r.rec.update(r.index, func(run *Run) { run.Instance = at.instance })
		err = a.insist(ctx, false, func() (err error) {
			x, err = r.replica.unit.Execute(ctx, wire.ExecuteRequest{
				ID: r.id, Component: r.op.component.name(), Operation: r.op.name.String(), By: r.req.by(),
				Timeout: r.req.Timeout.Seconds(), Inputs: variables(r.req.Inputs), Instance: at.instance, After: at.after,
			})
			return err
		})
		if err == nil {
			a.settle(ctx, r.replica, at.instance, x.Seq)
			r.rec.update(r.index, func(run *Run) { run.fill(x) })
			return x, nil
		}
		var fault *wire.Fault
		if !errors.As(err, &fault) || tries == maxTries || !at.move(fault, r.replica.pinned) {
			return x, r.refused(err)
		}
		if at.after != nil {
			a.settle(ctx, r.replica, at.instance, *at.after)
		}
	}
}

// maxTries is how often an execution is sent again to what has changed meanwhile.
const maxTries = 5

// expectation is how a component is known to be.
type expectation struct {
	instance string
	after    *uint64 // the number of its last entry, 0: it has none; nil: nothing is known
}

func (a *App) expected(r replica, component string) (expectation, error) {
	at := a.mirror.Snapshot().Node(r.node.name()).At(r.addr)
	switch {
	case at == nil:
		return expectation{}, &Error{Kind: ErrUnreachable, Detail: fmt.Sprintf("%s: it is no longer found", r)}
	case at.Instance == "":
		return expectation{}, r.node.unheard(at)
	case r.pinned != "" && r.pinned != at.Instance:
		return expectation{instance: r.pinned}, nil
	}
	e := expectation{instance: at.Instance}
	if c := at.Component(component); c != nil {
		e.after = &c.Seq
	}
	return e, nil
}

// move takes over how the component is by a refusal; false: that is no reason to
// send the execution again.
func (e *expectation) move(fault *wire.Fault, pinned string) bool {
	other := fault.Code == wire.OtherInstance && pinned == ""
	if !other && fault.Code != wire.NewerEntry {
		return false
	}
	e.instance, e.after = fault.Instance, nil
	if fault.Component != nil {
		e.after = &fault.Component.Seq
	}
	return true
}

// settle waits until reads show an entry, so that who was answered sees what he was
// told. It does not wait for a unit that is not heard.
func (a *App) settle(ctx context.Context, r replica, instance string, seq uint64) {
	ctx, cancel := context.WithTimeout(ctx, a.opts.Settle)
	defer cancel()
	_ = a.mirror.Await(ctx, r.node.name(), r.addr, instance, seq)
}

// refused explains a refusal with the component's state.
func (r *run) refused(err error) error {
	e := unitError(r.replica.String(), err)
	var fault *wire.Fault
	if !errors.As(err, &fault) || fault.Component == nil {
		return e
	}
	e.State = fault.Component.State
	switch {
	case errors.Is(e, ErrNotAllowed):
		e.Allowed = fault.Component.Allowed
		e.Detail = fmt.Sprintf("not allowed in state %q, which allows %s", e.State, oneOf(e.Allowed))
	case errors.Is(e, ErrBusy):
		e.Detail = "another operation of the component is under way"
	}
	return e
}

func oneOf(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}

// await asks the unit until the execution has ended.
func (a *App) await(ctx context.Context, r *run, x wire.Execution) (wire.Execution, error) {
	for !x.Outcome.Done() {
		asked := time.Now()
		var now wire.Execution
		err := a.insist(ctx, true, func() (err error) {
			now, err = r.replica.unit.Execution(ctx, x.ID, a.opts.Poll)
			return err
		})
		var fault *wire.Fault
		switch {
		case errors.As(err, &fault) && fault.Code == wire.NoExecution && fault.Instance != x.Instance:
			return lost(x), nil
		case err != nil:
			return x, unitError(r.replica.String(), err)
		case ctx.Err() != nil:
			return x, ctx.Err()
		}
		x = now
		if !x.Outcome.Done() && time.Since(asked) < a.opts.Poll/2 {
			a.sleep(ctx, a.opts.Backoff) // do not spin if the unit does not wait
		}
	}
	return x, nil
}

// lost returns an execution as it ended with its container.
func lost(x wire.Execution) wire.Execution {
	x.Outcome, x.Ended = wire.OutcomeLost, time.Now()
	x.Reason = "its container was replaced by another one"
	return x
}

// insist calls f until it succeeds or returns a fault, for as long as patience
// lasts. Unless something was sent before, it gives up at once if there is no
// connection: the unit has not received the request.
func (a *App) insist(ctx context.Context, sent bool, f func() error) error {
	var until time.Time
	for delay := a.opts.Backoff; ; delay = min(2*delay, 2*time.Second) {
		err := f()
		again := errors.Is(err, unitclient.ErrUnreachable) || errors.Is(err, unitclient.ErrBadAnswer)
		if !again || !sent && unitclient.NotConnected(err) {
			return err
		}
		if until.IsZero() {
			until = time.Now().Add(a.opts.Patience)
		}
		if ctx.Err() != nil || time.Now().After(until) {
			return err
		}
		sent = true
		a.sleep(ctx, delay)
	}
}

// sleep waits for d, or until ctx ends.
func (a *App) sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
