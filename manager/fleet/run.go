package fleet

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/unit/wire"
)

// run is the execution on one replica.
type run struct {
	*Invocation
	rec     *record
	index   int
	replica Replica
	first   bool // it is in the first batch
}

// follow follows one run until it ends. If the fleet ends first, it leaves the run unchanged: the unit continues,
// and its journal records the outcome.
func (e *Engine) follow(request context.Context, r *run) {
	ctx, cancel := e.fleet.Detached(request)
	defer cancel()
	x, err := e.start(ctx, r)
	if r.first {
		r.rec.runAccepted()
	}
	if err == nil {
		x, err = e.await(ctx, r.replica, x)
	}
	if err == nil {
		e.fleet.settle(ctx, r.replica, x.Instance, x.Seq)
	}
	if ctx.Err() == nil {
		e.end(r, x, err)
	}
}

// end records the outcome of a run.
func (e *Engine) end(r *run, x wire.Execution, err error) {
	r.rec.update(r.index, func(run *rest.Run) {
		if err == nil {
			run.Fill(x)
		} else {
			run.Fail(err, time.Now())
		}
	})
	if !r.rec.runEnded(time.Now(), r.Degraded) {
		return
	}
	e.records.end(r.Request.ID)
	e.drains.leave(r.node())
	ended := r.rec.snapshot()
	e.fleet.opts.Logger.Info("execution ended", "execution", ended.ID, "node", ended.Node, "component", ended.Component,
		"operation", r.Operation.Name.String(), "outcome", ended.Outcome)
}

// variables returns inputs under their names in the unit's API: the variables' names without INPUT_. The packager
// ensures that no two differ only in case.
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

// start starts the execution on the instance known at the replica's address, in the component's known state. If a
// response gets lost, it sends the same request again, which never runs an operation twice. A refusal because of
// another instance or a newer entry means that nothing has run.
func (e *Engine) start(ctx context.Context, r *run) (x wire.Execution, err error) {
	at, err := e.expected(r.replica, r.Operation.Component.Name())
	if err != nil {
		return x, err
	}
	for tries := 0; ; tries++ {
		r.rec.update(r.index, func(run *rest.Run) { run.Instance = at.instance })
		err = e.fleet.retry(ctx, false, func() (err error) {
			x, err = r.replica.Unit.Execute(ctx, wire.ExecuteRequest{
				ID: r.Request.ID, Component: r.Operation.Component.Name(), Operation: r.Operation.Name.String(), By: r.Request.By,
				Timeout: r.Request.Timeout, Inputs: variables(r.Request.Inputs), Instance: at.instance, After: at.after, Part: r.Part,
			})
			return err
		})
		if err == nil {
			e.fleet.settle(ctx, r.replica, at.instance, x.Seq)
			r.rec.update(r.index, func(run *rest.Run) { run.Fill(x) })
			return x, nil
		}
		var fault *wire.Fault
		if !errors.As(err, &fault) || tries == maxTries || !at.update(fault, r.replica.Pinned) {
			return x, r.refused(err)
		}
		if at.after != nil {
			e.fleet.settle(ctx, r.replica, at.instance, *at.after)
		}
	}
}

// maxTries is how often a request is sent again after its expectation turned out to be stale.
const maxTries = 5

// expectation is the instance and component state that a request assumes.
type expectation struct {
	instance string
	after    *uint64 // the number of its last entry; 0: none; nil: unknown
}

func (e *Engine) expected(r Replica, component string) (expectation, error) {
	at := e.fleet.Snapshot().Node(r.Node.Name()).At(r.Addr)
	switch {
	case at == nil:
		return expectation{}, &rest.Error{Kind: rest.ErrUnreachable, Detail: fmt.Sprintf("%s: it is no longer found", r)}
	case at.Instance == "":
		return expectation{}, rest.Of(r.String(), at.Problem)
	case r.Pinned != "" && r.Pinned != at.Instance:
		return expectation{instance: r.Pinned}, nil
	}
	expected := expectation{instance: at.Instance}
	if c := at.Component(component); c != nil {
		expected.after = &c.Seq
	}
	return expected, nil
}

// update corrects the expectation after a refusal. It returns false if the refusal has another reason, so that the
// request must not be sent again.
func (e *expectation) update(fault *wire.Fault, pinned string) bool {
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

// refused adds the component's state to a refusal.
func (r *run) refused(err error) error {
	e := rest.Of(r.replica.String(), err)
	var fault *wire.Fault
	if !errors.As(err, &fault) || fault.Component == nil {
		return e
	}
	e.State = fault.Component.State
	switch {
	case errors.Is(e, rest.ErrNotAllowed):
		e.Allowed = fault.Component.Allowed
		e.Detail = fmt.Sprintf("not allowed in state %q, which allows %s", e.State, rest.OneOf(e.Allowed))
	case errors.Is(e, rest.ErrBusy):
		e.Detail = "another operation of the component is running"
	}
	return e
}

// await polls the unit until the execution has ended.
func (e *Engine) await(ctx context.Context, r Replica, x wire.Execution) (wire.Execution, error) {
	if x.Outcome.Done() {
		return x, nil
	}
	err := e.fleet.poll(ctx, func(wait time.Duration) (again bool, err error) {
		var now wire.Execution
		err = e.fleet.retry(ctx, true, func() (err error) {
			now, err = r.Unit.Execution(ctx, x.ID, wait)
			return err
		})
		var fault *wire.Fault
		switch {
		case errors.As(err, &fault) && fault.Code == wire.NoExecution && fault.Instance != x.Instance:
			x = lost(x)
			return false, nil
		case err != nil:
			return false, rest.Of(r.String(), err)
		}
		x = now
		return !x.Outcome.Done(), nil
	})
	return x, err
}

// lost returns an execution that ended because its container was removed.
func lost(x wire.Execution) wire.Execution {
	x.Outcome, x.Ended = wire.OutcomeLost, time.Now()
	x.Reason = "its container was replaced by another one"
	return x
}

// roll follows runs in their order, at most batch of them at the same time. After a failure it starts no further
// runs.
func (e *Engine) roll(request, life context.Context, runs []*run, batch int) {
	ended := make(chan *run, len(runs)) // nil: the slot was never used
	for range batch {
		ended <- nil
	}
	var failed *run
	for _, r := range runs {
		if failed == nil {
			select {
			case before := <-ended:
				if before != nil && !before.succeeded() {
					failed = before
				}
			case <-life.Done():
				return
			}
		}
		if failed != nil {
			e.end(r, wire.Execution{}, &rest.Error{
				Kind: rest.ErrNotBegun, Detail: fmt.Sprintf("not begun, because it did not succeed on replica %s", failed.replica.Addr),
			})
			continue
		}
		e.fleet.Go(func(context.Context) {
			e.follow(request, r)
			ended <- r
		})
	}
}

// succeeded reports whether a run has succeeded.
func (r *run) succeeded() bool {
	return r.rec.snapshot().Runs[r.index].Outcome == wire.OutcomeSucceeded
}
