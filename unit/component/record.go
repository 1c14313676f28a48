package component

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/toskose/toskose/internal/sleep"
	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/process"
	"github.com/toskose/toskose/unit/wire"
)

// journalRetry is the delay between attempts to write an entry to the journal.
const journalRetry = time.Second

// begin admits an execution and writes its start entry. For a known id it returns the existing
// execution, with fresh false.
func (l *ledger) begin(x *execution, r wire.ExecuteRequest) (begun wire.Execution, fresh bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.find(x.id); known != nil {
		if known.Component == x.component && x.operation == (protocol.Operation{Interface: known.Interface, Name: known.Operation}) {
			return *known, false, nil
		}
		return begun, false, l.rejection(x, wire.OtherExecution, fmt.Sprintf(
			"the id %q is an execution of %s of %s", x.id, known.Operation, known.Component))
	}
	s := l.statuses[x.component]
	if err := l.checkPreconditions(x, r, s); err != nil {
		return begun, false, err
	}
	if err := l.admit(x, s); err != nil {
		return begun, false, err
	}
	begun = wire.Execution{
		ID: x.id, Instance: l.instance(), Component: x.component,
		Interface: x.operation.Interface, Operation: x.operation.Name, By: r.By, Inputs: slices.Sorted(maps.Keys(r.Inputs)),
		Outcome: wire.OutcomeRunning, From: s.state, Started: l.now(), Part: r.Part,
	}
	begun.OfKind(x.kind)
	entry := wire.Entry{
		Kind: wire.EntryStart, Component: x.component, State: s.state, StartedFrom: s.startedFrom,
		Why: s.why, Execution: &begun,
	}
	if err := l.append(entry); err != nil {
		return wire.Execution{}, false, l.rejection(x, wire.JournalUnavailable, err.Error())
	}
	l.live[x.id] = x
	return *l.find(x.id), true, nil
}

// checkPreconditions verifies that the request is for this instance and for the current state of
// the component. The caller holds the lock.
func (l *ledger) checkPreconditions(x *execution, r wire.ExecuteRequest, s componentStatus) error {
	instance := l.instance()
	switch why := l.bootProblem(); {
	case l.journal == nil:
		return l.rejection(x, wire.JournalUnavailable, why)
	case r.Instance != "" && r.Instance != instance:
		return l.rejection(x, wire.OtherInstance, fmt.Sprintf("this is %s, not %s", instance, r.Instance))
	case r.After != nil && s.seq > *r.After:
		return l.rejection(x, wire.NewerEntry, fmt.Sprintf("the last entry of %s is %d, not %d", x.component, s.seq, *r.After))
	case why != "":
		return l.rejection(x, wire.JournalUnavailable, why)
	}
	return nil
}

// admit verifies that nothing else is running and that the protocol allows the operation, and sets
// its target state. The caller holds the lock.
func (l *ledger) admit(x *execution, s componentStatus) error {
	life := l.lifecycles[x.component]
	if under := s.executing(); under != nil {
		start := l.live[under.ID]
		if x.kind != protocol.KindStop || start == nil || start.kind != protocol.KindStart {
			return l.rejection(x, wire.Busy, fmt.Sprintf("%s of %s is executing (%s)", under.Operation, x.component, under.ID))
		}
		if _, ok := life.step(start.target, x.operation, true); ok {
			x.cancels = start
			return nil
		}
	}
	if l.stops[x.component] > 0 {
		return l.rejection(x, wire.Busy, fmt.Sprintf("a process of %s is being stopped", x.component))
	}
	target, ok := life.step(s.state, x.operation, s.open())
	if !ok {
		return l.rejection(x, wire.NotAllowed, fmt.Sprintf("%s of %s is not allowed in state %s; allowed: %s",
			x.operation, x.component, s.state, strings.Join(life.allowed(s.state, s.open()), ", ")))
	}
	x.target = target
	return nil
}

// rejection returns the fault of a rejected execution, with the state of its component. The caller
// holds the lock.
func (l *ledger) rejection(x *execution, code wire.FaultCode, detail string) error {
	now := l.component(x.component)
	return &wire.Fault{Code: code, Detail: detail, Instance: l.instance(), Component: &now}
}

// stillAllowed reports whether a stop is allowed in the state that its cancelled start resulted in,
// and sets its target state.
func (l *ledger) stillAllowed(x *execution) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.statuses[x.component]
	target, ok := l.lifecycles[x.component].step(s.state, x.operation, s.open())
	x.target = target
	return ok && s.open()
}

// finish records the end of an execution. opening is non-zero if a start left processes, which the
// caller must watch.
func (l *ledger) finish(ctx context.Context, x *execution, end executionResult) (opening int) {
	pid, output := x.progress()
	_ = l.retryUntilWritten(ctx, func() error {
		s := l.statuses[x.component]
		record := *l.find(x.id)
		record.Outcome, record.Reason, record.Ended, record.PID = end.outcome, end.reason, l.now(), pid
		record.Output = output
		record.Exit = process.ExitOnWire(end.exit)
		if end.outcome != wire.OutcomeSucceeded {
			record.Last = wire.LastLine(output)
		}
		var startedFrom string
		record.To, startedFrom = stateAfter(s, x, end)
		entry := exitEntry(x.component, record, startedFrom)
		entry.Completed = end.completed
		if err := l.append(entry); err != nil {
			return err
		}
		if end.run > 0 {
			l.runs[x.component] = end.run
		}
		if end.outcome == wire.OutcomeSucceeded && end.left {
			l.startCount[x.component]++
			opening = l.startCount[x.component]
		}
		return nil
	}, x.noteUnwritten)
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.live, x.id)
	close(x.done)
	l.changed.Notify()
	return opening
}

// stateAfter returns the state after an execution and the state to fall back to. Only success
// changes the state, and only if nothing else has changed it meanwhile.
func stateAfter(s componentStatus, x *execution, end executionResult) (state, startedFrom string) {
	switch {
	case end.outcome != wire.OutcomeSucceeded || end.nothing:
		return s.state, s.startedFrom
	case x.kind == protocol.KindStop:
		return x.target, ""
	case x.startState(s) != s.state:
		return s.state, s.startedFrom
	case end.left && !s.open():
		return x.target, s.state
	}
	return x.target, s.startedFrom
}

// startState returns the state in which the execution began.
func (x *execution) startState(s componentStatus) string {
	for _, r := range s.recent {
		if r.ID == x.id {
			return r.From
		}
	}
	return s.state
}

// retryUntilWritten calls write until it succeeds. An event that has happened cannot be rejected,
// so it waits in memory while the journal cannot be written. failed is called after each failed
// attempt.
func (l *ledger) retryUntilWritten(ctx context.Context, write func() error, failed ...func(error)) error {
	for reported := false; ; {
		l.mu.Lock()
		err := write()
		l.mu.Unlock()
		if err == nil {
			return nil
		}
		if !reported {
			l.log.Error("a journal entry is kept in memory until it can be written", "error", err)
			reported = true
		}
		for _, note := range failed {
			note(err)
		}
		if err := sleep.For(ctx, journalRetry); err != nil {
			return err
		}
	}
}

// noteEnforced records that a stop is being enforced.
func (l *ledger) noteEnforced(ctx context.Context, x *execution, why string) {
	_ = l.retryUntilWritten(ctx, func() error {
		s := l.statuses[x.component]
		record := *l.find(x.id)
		return l.append(wire.Entry{
			Kind: wire.EntryStop, Component: x.component, State: s.state, StartedFrom: s.startedFrom,
			Why: why, Execution: &record,
		})
	}, x.noteUnwritten)
	x.noteUnwritten(nil)
}

// recordGone records that the processes of a start have ended, unless a stop records it.
func (l *ledger) recordGone(ctx context.Context, component string, opening int, why string, death *wire.Death) {
	for {
		wait := l.changed.Next()
		var deferred bool
		err := l.retryUntilWritten(ctx, func() error {
			s := l.statuses[component]
			if !s.open() || l.startCount[component] != opening {
				return nil
			}
			if deferred = l.stops[component] > 0 || l.stopExecutes(s); deferred {
				return nil
			}
			return l.append(l.goneEntry(component, s, why, death))
		})
		if err != nil || !deferred {
			return
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return
		}
	}
}

// stopExecutes reports whether a stop is executing; its exit entry says more.
func (l *ledger) stopExecutes(s componentStatus) bool {
	under := s.executing()
	return under != nil && l.live[under.ID] != nil && l.live[under.ID].kind == protocol.KindStop
}

// BeginStop marks the beginning of a stop of processes without an operation.
func (l *ledger) BeginStop(component string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stops[component]++
}

// endStop ends a stop begun by BeginStop and, if no processes are left, records that the component
// was closed. failed receives the reason if that was not possible at once.
func (l *ledger) endStop(ctx context.Context, component, why string, nothingLeft bool, failed chan<- error) {
	_ = l.retryUntilWritten(ctx, func() error {
		s := l.statuses[component]
		if !s.open() || !nothingLeft {
			return nil
		}
		return l.append(wire.Entry{
			Kind: wire.EntryStop, Component: component, Why: why,
			State: l.lifecycles[component].afterStop(s.state, s.startedFrom),
		})
	}, func(err error) {
		select {
		case failed <- err:
		default:
		}
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stops[component]--
	l.changed.Notify()
}

// running returns an execution that has not ended, or nil.
func (l *ledger) running(id string) *execution {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.live[id]
}

// findLive returns the live execution that satisfies is, or nil.
func (l *ledger) findLive(is func(*execution) bool) *execution {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, x := range l.live {
		if is(x) {
			return x
		}
	}
	return nil
}
