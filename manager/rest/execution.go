package rest

import (
	"errors"
	"fmt"
	"time"

	"github.com/toskose/toskose/manager/reason"
	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/wire"
)

// The outcomes of a run that are in no journal.
const (
	Refused     wire.Outcome = "refused"     // the unit did not start it
	Unreachable wire.Outcome = "unreachable" // it is unknown whether it ran or how it ended
)

// Execution is one run of an operation on the replicas of its node.
type Execution struct {
	ID        string       `json:"id"`
	Node      string       `json:"node"`
	Component string       `json:"component"`
	Interface string       `json:"interface"`
	Operation string       `json:"operation"`
	By        string       `json:"by,omitempty"`
	Inputs    []string     `json:"inputs,omitempty"` // names of the overridden inputs
	Part      *wire.Part   `json:"part,omitempty"`   // of a Task
	Outcome   wire.Outcome `json:"outcome"`          // of the worst run; running until all runs have ended
	Started   time.Time    `json:"started"`
	Ended     time.Time    `json:"ended,omitzero"`
	Runs      []Run        `json:"runs"`
	Degraded  []Lack       `json:"degraded,omitempty"` // requirements of others that became unmet since its start
}

// Run is the execution in one container.
type Run struct {
	Replica  string       `json:"replica"` // its address
	Instance string       `json:"instance,omitempty"`
	Outcome  wire.Outcome `json:"outcome"`
	Reason   string       `json:"reason,omitempty"`
	From     string       `json:"from,omitempty"` // the component's state before
	To       string       `json:"to,omitempty"`   // and after
	Started  time.Time    `json:"started,omitzero"`
	Ended    time.Time    `json:"ended,omitzero"`
	PID      int          `json:"pid,omitempty"`
	wire.Exit
	wire.Output
	Allowed []string `json:"allowed,omitempty"` // what the protocol allowed instead

	Why  string    `json:"why,omitempty"` // why it failed, or how the processes that it started ended unexpectedly
	Gone time.Time `json:"gone,omitzero"` // when these processes ended

	Removed time.Time `json:"removed,omitzero"` // when the container was removed, in the history

	kind error // of its failure; nil while it runs and if it succeeded
}

// Fill copies the unit's response.
func (r *Run) Fill(x wire.Execution) {
	r.Instance, r.Outcome, r.Reason, r.From, r.To = x.Instance, x.Outcome, x.Reason, x.From, x.To
	r.Started, r.Ended, r.PID, r.Exit = x.Started, x.Ended, x.PID, x.Exit
	r.Output = x.Output
	r.Why, r.Gone = "", x.Gone
	if reason.Failed(&x) || reason.Died(&x) {
		r.Why = reason.Failure(&x, 1)
	}
	switch x.Outcome {
	case wire.OutcomeRunning, wire.OutcomeSucceeded:
		r.kind = nil
	case wire.OutcomeTimeout:
		r.kind = ErrTimeLimit
	default:
		r.kind = ErrFailed
	}
}

// sentence describes how the run ended.
func (r *Run) sentence() string {
	s := string(r.Outcome)
	switch {
	case r.ExitCode != nil:
		s = fmt.Sprintf("%s with exit code %d", s, *r.ExitCode)
	case r.Signal != "":
		s = fmt.Sprintf("%s by %s", s, r.Signal)
	}
	if r.Reason != "" {
		s += ": " + r.Reason
	}
	return s
}

// Worst returns the run that decides the outcome, if there is one.
func (x *Execution) Worst() *Run {
	var worst *Run
	for i := range x.Runs {
		if worst == nil || Rank(x.Runs[i].kind) > Rank(worst.kind) {
			worst = &x.Runs[i]
		}
	}
	return worst
}

// Err returns nil while the execution is running or if it succeeded on every replica, and otherwise an *Error of
// the worst run's kind.
func (x *Execution) Err() error {
	worst := x.Worst()
	if !x.Outcome.Done() || worst == nil || worst.kind == nil {
		return nil
	}
	e := &Error{
		Kind: worst.kind, State: worst.From, Allowed: worst.Allowed, Execution: x,
		Detail: fmt.Sprintf("operation %s of component %q on replica %s of node %q: %s",
			protocol.Operation{Interface: x.Interface, Name: x.Operation}, x.Component, worst.Replica, x.Node, worst.sentence()),
	}
	if errors.Is(worst.kind, ErrNotAllowed) && e.Allowed == nil {
		e.Allowed = []string{}
	}
	return e
}

// Finish derives the outcome and the end time from the runs.
func (x *Execution) Finish() {
	x.Outcome = wire.OutcomeRunning
	for i := range x.Runs {
		if !x.Runs[i].Outcome.Done() {
			return
		}
		if x.Runs[i].Ended.After(x.Ended) {
			x.Ended = x.Runs[i].Ended
		}
	}
	if worst := x.Worst(); worst != nil {
		x.Outcome = worst.Outcome
	}
}

// Fail records an error that the operation did not cause.
func (r *Run) Fail(err error, now time.Time) {
	e := Of("", err)
	r.kind, r.Reason, r.Ended, r.Outcome = e.Kind, e.Detail, now, Refused
	if e.State != "" {
		r.From = e.State
	}
	r.Allowed = e.Allowed
	if errors.Is(e, ErrUnreachable) || errors.Is(e, ErrBadAnswer) {
		r.Outcome = Unreachable
	}
}

// Join adds the run of one unit.
func (x *Execution) Join(node, replica string, known wire.Execution) {
	if x.ID == "" {
		*x = Execution{
			ID: known.ID, Node: node, Component: known.Component, Interface: known.Interface,
			Operation: known.Operation, By: known.By, Inputs: known.Inputs, Part: known.Part, Started: known.Started,
		}
	}
	run := Run{Replica: replica}
	run.Fill(known)
	x.Runs = append(x.Runs, run)
}
