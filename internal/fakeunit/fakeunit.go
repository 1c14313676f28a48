// Package fakeunit is a unit for tests of its clients: the real server of package rpc in front of components that
// exist only in memory. The test determines how long executions take, and their journal is like a unit's.
package fakeunit

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit"
	"github.com/toskose/toskose/unit/logs"
	"github.com/toskose/toskose/unit/rpc"
	"github.com/toskose/toskose/unit/wire"
)

// The user and password of every fake unit.
const (
	User     = "admin"
	Password = "correct horse"
)

// End is how an operation ends.
type End struct {
	Outcome        wire.Outcome
	ExitCode       int
	Stdout, Stderr string
	Target         string // the component's state after a success
}

// Operation is what happens when an operation is executed.
type Operation struct {
	From []string        // the states that allow it
	Hold <-chan struct{} // it runs until this is closed; nil: it ends immediately
	End  End
}

// Unit is a fake unit. Its exported fields are set before Start.
type Unit struct {
	rpc.Unit // unimplemented methods panic

	Instance   string
	Digest     string                          // of its configuration
	Labels     map[string]string               // host=h1 unless given
	Operations map[string]map[string]Operation // by component and "interface.operation"
	Logs       map[string]string               // by process
	Files      map[string]*logs.File           // by process and stream, as "api:Standard.start stdout"
	UnitLog    string
	Reload     unit.Differences // the result of reloading the configuration
	ReloadErr  error
	Wrap       func(http.Handler) http.Handler // between the network and the unit

	mu         sync.Mutex
	states     map[string]string
	opened     map[string]string // the state in which an open component was started
	executing  map[string]string
	executions map[string]wire.Execution
	cancels    map[string]chan struct{}
	entries    []wire.Entry
	grown      chan struct{}
	documents  map[string]wire.Document
	executed   []string // "component:interface.operation input=value"
	signals    []string
	running    sync.WaitGroup
	over       chan struct{} // closed when the test ends
}

// Start serves until the test ends, and returns the unit's address.
func (u *Unit) Start(t *testing.T, states map[string]string) netip.AddrPort {
	t.Helper()
	u.states, u.executing, u.executions = maps.Clone(states), map[string]string{}, map[string]wire.Execution{}
	u.opened = map[string]string{}
	u.cancels, u.grown = map[string]chan struct{}{}, make(chan struct{})
	u.over = make(chan struct{})
	handler := rpc.New(rpc.Options{
		Unit: u, User: User, Password: Password, Logger: slog.New(slog.DiscardHandler),
	})
	if u.Wrap != nil {
		handler = u.Wrap(handler)
	}
	srv := httptest.NewServer(handler)
	u.append(wire.Entry{Kind: wire.EntryBoot})
	t.Cleanup(func() {
		close(u.over)
		srv.CloseClientConnections()
		srv.Close()
		u.running.Wait()
	})
	return netip.MustParseAddrPort(srv.Listener.Addr().String())
}

// Executed returns every operation that was run, in order and with repetitions.
func (u *Unit) Executed() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.executed)
}

// Signals returns the signals that were sent, as "process SIGNAL".
func (u *Unit) Signals() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.signals)
}

// Replace simulates a new container at the same address: another instance with an empty journal.
func (u *Unit) Replace(instance string, states map[string]string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.Instance, u.states, u.entries = instance, maps.Clone(states), nil
	u.executing, u.executions, u.opened = map[string]string{}, map[string]wire.Execution{}, map[string]string{}
	u.appendLocked(wire.Entry{Kind: wire.EntryBoot})
}

func (u *Unit) append(e wire.Entry) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.appendLocked(e)
}

func (u *Unit) appendLocked(e wire.Entry) uint64 {
	e.Seq, e.Instance, e.Time, e.StartedFrom = uint64(len(u.entries)+1), u.Instance, time.Now(), u.opened[e.Component]
	u.entries = append(u.entries, e)
	close(u.grown)
	u.grown = make(chan struct{})
	return e.Seq
}

// Fall ends the processes of a component's start.
func (u *Unit) Fall(component string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.states[component] = u.opened[component]
	delete(u.opened, component)
	u.appendLocked(wire.Entry{Kind: wire.EntryGone, Component: component, State: u.states[component], Why: "it died"})
}

// Execute starts an operation once per id.
func (u *Unit) Execute(_ context.Context, req wire.ExecuteRequest) (x wire.Execution, begun bool, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if known, ok := u.executions[req.ID]; ok {
		return known, false, nil
	}
	refuse := func(code wire.FaultCode, detail string) error {
		c := u.component(req.Component)
		return &wire.Fault{Code: code, Detail: detail, Instance: u.Instance, Component: &c}
	}
	if req.Instance != "" && req.Instance != u.Instance {
		return x, false, refuse(wire.OtherInstance, "this is "+u.Instance)
	}
	if last := u.last(req.Component); req.After != nil && last > *req.After {
		return x, false, refuse(wire.NewerEntry, fmt.Sprintf("the last entry is %d", last))
	}
	op, ok := u.Operations[req.Component][req.Operation]
	if !ok {
		return x, false, wire.NewFault(wire.BadName, req.Component+":"+req.Operation)
	}
	if u.executing[req.Component] != "" {
		return x, false, refuse(wire.Busy, u.executing[req.Component])
	}
	if !slices.Contains(op.From, u.states[req.Component]) {
		return x, false, refuse(wire.NotAllowed, "in state "+u.states[req.Component])
	}
	return u.begin(req, op), true, nil
}

func (u *Unit) begin(req wire.ExecuteRequest, op Operation) wire.Execution {
	name, _ := protocol.ParseOperation(req.Operation)
	x := wire.Execution{
		ID: req.ID, Instance: u.Instance, Component: req.Component, Interface: name.Interface, Operation: name.Name, By: req.By,
		Outcome: wire.OutcomeRunning, From: u.states[req.Component], Started: time.Now(), PID: 100 + len(u.executions),
	}
	ran := req.Component + ":" + req.Operation
	for _, input := range slices.Sorted(maps.Keys(req.Inputs)) {
		ran += fmt.Sprintf(" %s=%s", input, req.Inputs[input])
		x.Inputs = append(x.Inputs, input)
	}
	u.executed = append(u.executed, ran)
	x.Seq = u.appendLocked(wire.Entry{Kind: wire.EntryStart, Component: x.Component, State: x.From, Execution: &x})
	cancelled := make(chan struct{})
	u.executions[x.ID], u.executing[x.Component], u.cancels[x.ID] = x, x.ID, cancelled
	if op.Hold == nil {
		return u.end(x, op.End)
	}
	u.running.Go(func() {
		end := op.End
		var expired <-chan time.Time
		if req.Timeout > 0 {
			expired = time.After(time.Duration(req.Timeout * float64(time.Second)))
		}
		select {
		case <-op.Hold:
		case <-u.over:
		case <-cancelled:
			end = End{Outcome: wire.OutcomeCancelled}
		case <-expired:
			end = End{Outcome: wire.OutcomeTimeout}
		}
		u.mu.Lock()
		defer u.mu.Unlock()
		if _, known := u.executions[x.ID]; known {
			u.end(x, end)
		}
	})
	return x
}

// end ends an execution.
func (u *Unit) end(x wire.Execution, end End) wire.Execution {
	if end.Outcome == "" {
		end.Outcome = wire.OutcomeSucceeded
	}
	x.Outcome, x.To, x.Ended = end.Outcome, x.From, time.Now()
	if end.Outcome == wire.OutcomeSucceeded && end.Target != "" {
		x.To = end.Target
		u.states[x.Component] = end.Target
		switch (protocol.Operation{Interface: x.Interface, Name: x.Operation}).Kind() {
		case protocol.KindStart:
			u.opened[x.Component] = x.From
		case protocol.KindStop:
			delete(u.opened, x.Component)
		default:
		}
	}
	if end.Outcome == wire.OutcomeSucceeded || end.Outcome == wire.OutcomeFailed {
		x.ExitCode = &end.ExitCode
	} else {
		x.Signal = "SIGTERM"
	}
	delete(u.executing, x.Component)
	x.Stdout, x.Stderr = end.Stdout, end.Stderr
	entry := x
	x.Seq = u.appendLocked(wire.Entry{Kind: wire.EntryExit, Component: x.Component, State: x.To, Execution: &entry})
	u.executions[x.ID] = x
	return x
}

// Execution returns an execution by its id, once it has ended or the wait is over.
func (u *Unit) Execution(ctx context.Context, id string, wait time.Duration) (wire.Execution, error) {
	timeout := time.NewTimer(wait)
	defer timeout.Stop()
	for {
		u.mu.Lock()
		x, known := u.executions[id]
		instance, grown := u.Instance, u.grown
		u.mu.Unlock()
		if !known {
			return x, &wire.Fault{Code: wire.NoExecution, Detail: id, Instance: instance}
		}
		if x.Outcome.Done() || wait == 0 {
			return x, nil
		}
		select {
		case <-grown:
		case <-timeout.C:
			return x, nil
		case <-ctx.Done():
			return x, ctx.Err()
		}
	}
}

// Cancel ends an execution and waits until it has ended.
func (u *Unit) Cancel(ctx context.Context, id string) (wire.Execution, error) {
	u.mu.Lock()
	if cancel, ok := u.cancels[id]; ok {
		delete(u.cancels, id)
		close(cancel)
	}
	u.mu.Unlock()
	return u.Execution(ctx, id, time.Hour)
}

// Identity returns the identity of the journal.
func (u *Unit) Identity() wire.Identity {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.identity()
}

func (u *Unit) identity() wire.Identity {
	labels := u.Labels
	if labels == nil {
		labels = map[string]string{"host": "h1"}
	}
	return wire.Identity{Instance: u.Instance, Digest: u.Digest, Seq: uint64(len(u.entries)), Booted: time.Unix(1e9, 5), Labels: labels}
}

// hello returns the first entry, with the complete state.
func (u *Unit) hello() wire.Entry {
	id := u.identity()
	e := wire.Entry{Kind: wire.EntryHello, Seq: id.Seq, Instance: id.Instance, Time: time.Now(), Unit: &id}
	for _, name := range slices.Sorted(maps.Keys(u.states)) {
		c := wire.Checkpointed{Component: name, State: u.states[name], Since: time.Unix(1e9, 0), Why: "so the test wants it"}
		for _, e := range u.entries {
			if e.Component == name {
				c = c.After(e, len(u.entries))
			}
		}
		e.Components = append(e.Components, c)
	}
	return e
}

// Components returns the states of the components.
func (u *Unit) Components(processes bool) (wire.Snapshot, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	s := wire.Snapshot{Identity: u.identity(), Components: []wire.Component{}}
	if processes {
		s.Unclaimed = []wire.Process{}
	}
	for _, name := range slices.Sorted(maps.Keys(u.states)) {
		c := u.component(name)
		if processes && c.Executing != "" {
			c.Processes = append(c.Processes, wire.Process{PID: 7, Parent: 1, Command: "sh", CPU: 0.25, Memory: 1 << 33})
		}
		s.Components = append(s.Components, c)
	}
	return s, nil
}

// last is the number of a component's last entry.
func (u *Unit) last(component string) uint64 {
	for i := len(u.entries) - 1; i >= 0; i-- {
		if u.entries[i].Component == component {
			return u.entries[i].Seq
		}
	}
	return 0
}

func (u *Unit) component(name string) wire.Component {
	c := wire.Component{
		Name: name, State: u.states[name], Since: time.Unix(1e9, 0), Why: "so the test wants it",
		Allowed: []string{}, Executing: u.executing[name], Seq: u.last(name),
	}
	for _, op := range slices.Sorted(maps.Keys(u.Operations[name])) {
		if slices.Contains(u.Operations[name][op].From, c.State) {
			c.Allowed = append(c.Allowed, op)
		}
	}
	return c
}

// Journal waits for entries after a cursor.
func (u *Unit) Journal(ctx context.Context, after string, wait time.Duration) (unit.JournalPage, error) {
	timeout := time.NewTimer(wait)
	defer timeout.Stop()
	for {
		u.mu.Lock()
		page, grown := u.page(after), u.grown
		u.mu.Unlock()
		if len(page.Entries) > 0 || page.Reset {
			return page, nil
		}
		select {
		case <-grown:
		case <-timeout.C:
			return page, nil
		case <-ctx.Done():
			return page, ctx.Err()
		}
	}
}

func (u *Unit) page(after string) unit.JournalPage {
	if after == unit.Now {
		return unit.JournalPage{Instance: u.Instance, Entries: []wire.Entry{u.hello()}}
	}
	instance, number, _ := strings.Cut(after, ":")
	var seq int
	_, _ = fmt.Sscan(number, &seq)
	page := unit.JournalPage{Instance: u.Instance, Reset: after != "" && instance != u.Instance}
	if page.Reset {
		seq = 0
	}
	if seq < len(u.entries) {
		page.Entries = slices.Clone(u.entries[seq:])
	}
	return page
}
