package manager

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/toskose/toskose/tosca/protocol"
	"github.com/toskose/toskose/unit/wire"
)

// The outcomes of a run that no journal has.
const (
	OutcomeRefused     wire.Outcome = "refused"     // the unit did not begin it
	OutcomeUnreachable wire.Outcome = "unreachable" // whether it ran, or how it ended, is not known
)

// Execution is one run of an operation on the replicas of its node.
type Execution struct {
	ID        string       `json:"id"`
	Node      string       `json:"node"`
	Component string       `json:"component"`
	Interface string       `json:"interface"`
	Operation string       `json:"operation"`
	By        string       `json:"by,omitempty"`
	Inputs    []string     `json:"inputs,omitempty"` // names of those overridden
	Outcome   wire.Outcome `json:"outcome"`          // of the worst run; running until all have ended
	Started   time.Time    `json:"started"`
	Ended     time.Time    `json:"ended,omitzero"`
	Runs      []Run        `json:"runs"`
	Degraded  []Lack       `json:"degraded,omitempty"` // what others require and lack since it was begun
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
	Stdout  string   `json:"stdout,omitempty"`  // the end of its output
	Stderr  string   `json:"stderr,omitempty"`  //
	Allowed []string `json:"allowed,omitempty"` // what the protocol allowed instead

	kind error // of its failure; nil while it runs and if it succeeded
}

// fill copies what the unit answered.
func (r *Run) fill(x wire.Execution) {
	r.Instance, r.Outcome, r.Reason, r.From, r.To = x.Instance, x.Outcome, x.Reason, x.From, x.To
	r.Started, r.Ended, r.PID, r.Exit = x.Started, x.Ended, x.PID, x.Exit
	r.Stdout, r.Stderr = x.Stdout, x.Stderr
	switch x.Outcome {
	case wire.OutcomeRunning, wire.OutcomeSucceeded:
		r.kind = nil
	case wire.OutcomeTimeout:
		r.kind = ErrTimeLimit
	default:
		r.kind = ErrFailed
	}
}

// sentence says how the run ended.
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
		if worst == nil || rank(x.Runs[i].kind) > rank(worst.kind) {
			worst = &x.Runs[i]
		}
	}
	return worst
}

// Err returns nil while the execution runs and if it succeeded on every replica,
// and otherwise an *Error of the worst run's kind.
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

// finish derives the outcome and the end from the runs.
func (x *Execution) finish() {
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

// record is an execution that this manager began.
type record struct {
	mu       sync.Mutex
	now      Execution
	before   []Lack        // of those who require something of the component
	begin    int           // number of runs that were neither accepted nor refused yet
	pending  int           // number of runs that have not ended
	accepted chan struct{} // closed when begin is 0
	done     chan struct{} // closed when pending is 0
}

func newRecord(x Execution) *record {
	return &record{
		now: x, begin: len(x.Runs), pending: len(x.Runs),
		accepted: make(chan struct{}), done: make(chan struct{}),
	}
}

// snapshot returns the execution as it is now.
func (r *record) snapshot() Execution {
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.now
	x.Runs = slices.Clone(x.Runs)
	return x
}

// update changes a run.
func (r *record) update(i int, change func(*Run)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.now.Runs[i])
}

// hasBegun counts a run that was accepted or refused.
func (r *record) hasBegun() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.begin--; r.begin == 0 {
		close(r.accepted)
	}
}

// hasEnded counts a run that ended, and reports whether it was the last one.
func (r *record) hasEnded(now time.Time, degraded []Lack) (last bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pending--; r.pending > 0 {
		return false
	}
	r.now.Ended, r.now.Degraded = now, degraded
	r.now.finish()
	close(r.done)
	return true
}

// memory keeps the executions that this manager began: those that are running,
// and the latest that ended.
type memory struct {
	mu      sync.Mutex
	limit   int
	records map[string]*record
	ended   []string // oldest first
}

func newMemory(limit int) *memory { return &memory{limit: limit, records: map[string]*record{}} }

func (m *memory) get(id string) (*record, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.records[id]
	return r, ok
}

func (m *memory) add(id string, r *record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.records[id] = r
}

// end counts an execution among the ended, and forgets the oldest of them.
func (m *memory) end(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended = append(m.ended, id); len(m.ended) > m.limit {
		delete(m.records, m.ended[0])
		m.ended = slices.Delete(m.ended, 0, 1)
	}
}

// Execution returns an execution by its id. It asks all units for one that this
// manager does not remember.
func (a *App) Execution(ctx context.Context, id string) (Execution, error) {
	if r, ok := a.executions.get(id); ok {
		return r.snapshot(), nil
	}
	var replicas []replica
	var silent *Error
	for _, n := range a.nodes {
		if !n.toskosed {
			continue
		}
		found, err := a.replicas(ctx, n, "")
		if err != nil {
			silent = unitError("", err)
			continue
		}
		replicas = append(replicas, found...)
	}
	type answer struct {
		x   wire.Execution
		err error
	}
	var x Execution
	for i, got := range each(replicas, func(r replica) answer {
		x, err := r.unit.Execution(ctx, id, 0)
		return answer{x, err}
	}) {
		code, _ := wire.FaultCodeOf(got.err)
		switch {
		case got.err == nil:
			x.join(replicas[i], got.x)
		case code != wire.NoExecution:
			silent = unitError(replicas[i].String(), got.err)
		}
	}
	if x.ID == "" && silent != nil {
		return x, &Error{Kind: silent.Kind, cause: silent, Detail: fmt.Sprintf(
			"no unit that answers knows execution %q, but not all answer: %s", id, silent.Detail)}
	}
	if x.ID == "" {
		return x, &Error{Kind: ErrUnknownExecution, Detail: fmt.Sprintf("no unit knows execution %q", id)}
	}
	x.finish()
	return x, nil
}

// join adds the run that one unit knows.
func (x *Execution) join(r replica, known wire.Execution) {
	if x.ID == "" {
		*x = Execution{
			ID: known.ID, Node: r.node.name(), Component: known.Component, Interface: known.Interface,
			Operation: known.Operation, By: known.By, Inputs: known.Inputs, Started: known.Started,
		}
	}
	run := Run{Replica: r.addr.String()}
	run.fill(known)
	x.Runs = append(x.Runs, run)
}
