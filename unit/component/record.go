package component

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/toskose/toskose/tosca/protocol"
	"github.com/toskose/toskose/unit/process"
	"github.com/toskose/toskose/unit/wire"
)

// journalRetry is how long what has happened already waits in memory before
// the next attempt to write it into a journal that could not be written.
const journalRetry = time.Second

// begin admits an execution: its start entry is in the journal when it
// returns. An id that is known is answered with its execution (fresh is false).
func (l *ledger) begin(x *execution, r wire.ExecuteRequest) (begun wire.Execution, fresh bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.find(x.id); known != nil {
		if known.Component == x.component && x.operation == (protocol.Operation{Interface: known.Interface, Name: known.Operation}) {
			return *known, false, nil
		}
		return begun, false, l.refuse(x, wire.OtherExecution, fmt.Sprintf(
			"the id %q is an execution of %s of %s", x.id, known.Operation, known.Component))
	}
	s := l.standing[x.component]
	if err := l.meant(x, r, s); err != nil {
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
		return wire.Execution{}, false, l.refuse(x, wire.JournalUnavailable, err.Error())
	}
	l.live[x.id] = x
	return *l.find(x.id), true, nil
}

// meant checks that the caller means this instance, and the component as it is.
// The caller holds the lock.
func (l *ledger) meant(x *execution, r wire.ExecuteRequest, s standing) error {
	instance := l.instance()
	switch why := l.unbooted(); {
	case l.journal == nil:
		return l.refuse(x, wire.JournalUnavailable, why)
	case r.Instance != "" && r.Instance != instance:
		return l.refuse(x, wire.OtherInstance, fmt.Sprintf("this is %s, not %s", instance, r.Instance))
	case r.After != nil && s.seq > *r.After:
		return l.refuse(x, wire.NewerEntry, fmt.Sprintf("the last entry of %s is %d, not %d", x.component, s.seq, *r.After))
	case why != "":
		return l.refuse(x, wire.JournalUnavailable, why)
	}
	return nil
}

// admit checks that nothing is under way and that the protocol allows the
// operation, and finds where it leads. The caller holds the lock.
func (l *ledger) admit(x *execution, s standing) error {
	life := l.lifecycles[x.component]
	if under := s.executing(); under != nil {
		start := l.live[under.ID]
		if x.kind != protocol.KindStop || start == nil || start.kind != protocol.KindStart {
			return l.refuse(x, wire.Busy, fmt.Sprintf("%s of %s is executing (%s)", under.Operation, x.component, under.ID))
		}
		if _, ok := life.step(start.target, x.operation, true); ok {
			x.instead = start
			return nil
		}
	}
	if l.stops[x.component] > 0 {
		return l.refuse(x, wire.Busy, fmt.Sprintf("a process of %s is being stopped", x.component))
	}
	target, ok := life.step(s.state, x.operation, s.open())
	if !ok {
		return l.refuse(x, wire.NotAllowed, fmt.Sprintf("%s of %s is not allowed in state %s; allowed: %s",
			x.operation, x.component, s.state, strings.Join(life.allowed(s.state, s.open()), ", ")))
	}
	x.target = target
	return nil
}

// refuse returns the fault of an execution that is not begun, with where its
// component stands. The caller holds the lock.
func (l *ledger) refuse(x *execution, code wire.FaultCode, detail string) error {
	now := l.component(x.component)
	return &wire.Fault{Code: code, Detail: detail, Instance: l.instance(), Component: &now}
}

// stillAllowed reports whether a stop that cancelled a start is allowed in the state
// that this led to, and finds where it leads.
func (l *ledger) stillAllowed(x *execution) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.standing[x.component]
	target, ok := l.lifecycles[x.component].step(s.state, x.operation, s.open())
	x.target = target
	return ok && s.open()
}

// finish records the end of an execution. opening is not 0 where a start left
// processes: somebody has to watch them.
func (l *ledger) finish(ctx context.Context, x *execution, end ending) (opening int) {
	pid, output := x.progress()
	_ = l.insist(ctx, func() error {
		s := l.standing[x.component]
		record := *l.find(x.id)
		record.Outcome, record.Reason, record.Ended, record.PID = end.outcome, end.reason, l.now(), pid
		record.Output = output
		record.Exit = process.ExitOnWire(end.exit)
		var startedFrom string
		record.To, startedFrom = arrival(s, x, end)
		if err := l.append(exitEntry(x.component, record, startedFrom)); err != nil {
			return err
		}
		if end.outcome == wire.OutcomeSucceeded && end.left {
			l.openings[x.component]++
			opening = l.openings[x.component]
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

// arrival returns the state after an execution, and where an open component
// falls back to from there. Only success moves a component, and only one that
// nothing else has moved meanwhile.
func arrival(s standing, x *execution, end ending) (state, startedFrom string) {
	switch {
	case end.outcome != wire.OutcomeSucceeded || end.nothing:
		return s.state, s.startedFrom
	case x.kind == protocol.KindStop:
		return x.target, ""
	case x.from(s) != s.state:
		return s.state, s.startedFrom
	case end.left && !s.open():
		return x.target, s.state
	}
	return x.target, s.startedFrom
}

// from returns the state that an execution was begun in.
func (x *execution) from(s standing) string {
	for _, r := range s.recent {
		if r.ID == x.id {
			return r.From
		}
	}
	return s.state
}

// insist does what writes an entry until it is written. What has happened
// cannot be refused: it waits in memory while the journal cannot be written,
// and failed is told of each attempt that was in vain.
func (l *ledger) insist(ctx context.Context, write func() error, failed ...func(error)) error {
	for reported := false; ; {
		l.mu.Lock()
		err := write()
		l.mu.Unlock()
		if err == nil {
			return nil
		}
		if !reported {
			l.log.Error("what happened waits in memory", "error", err)
			reported = true
		}
		for _, note := range failed {
			note(err)
		}
		timer := time.NewTimer(journalRetry)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// noteEnforced records that a stop is enforced.
func (l *ledger) noteEnforced(ctx context.Context, x *execution, why string) {
	_ = l.insist(ctx, func() error {
		s := l.standing[x.component]
		record := *l.find(x.id)
		return l.append(wire.Entry{
			Kind: wire.EntryStop, Component: x.component, State: s.state, StartedFrom: s.startedFrom,
			Why: why, Execution: &record,
		})
	}, x.noteUnwritten)
	x.noteUnwritten(nil)
}

// gone records that nothing of what a start left is there any more, unless a
// stop is about to say so or has.
func (l *ledger) gone(ctx context.Context, component string, opening int, why string) {
	for {
		wait := l.changed.Next()
		var deferred bool
		err := l.insist(ctx, func() error {
			s := l.standing[component]
			if !s.open() || l.openings[component] != opening {
				return nil
			}
			if deferred = l.stops[component] > 0 || l.stopExecutes(s); deferred {
				return nil
			}
			return l.append(l.goneEntry(component, s, why))
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

// stopExecutes reports whether a stop is executing, whose end will say more.
func (l *ledger) stopExecutes(s standing) bool {
	under := s.executing()
	return under != nil && l.live[under.ID] != nil && l.live[under.ID].kind == protocol.KindStop
}

// BeginStop marks the time in which the unit ends a component's processes
// without an operation.
func (l *ledger) BeginStop(component string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stops[component]++
}

// endStop ends what BeginStop began, and, where nothing is left, records that the
// component was closed. failed gets why that was not possible at once.
func (l *ledger) endStop(ctx context.Context, component, why string, nothingLeft bool, failed chan<- error) {
	_ = l.insist(ctx, func() error {
		s := l.standing[component]
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

// running returns an execution that has not ended.
func (l *ledger) running(id string) *execution {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.live[id]
}

// liveOf returns the execution under way that a test is true of.
func (l *ledger) liveOf(is func(*execution) bool) *execution {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, x := range l.live {
		if is(x) {
			return x
		}
	}
	return nil
}
