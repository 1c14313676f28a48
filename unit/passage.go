package unit

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/toskose/toskose/unit/reaper"
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
	if known, ok := l.find(x.id); ok {
		if known.Component == x.component && qualify(known) == x.operation {
			return known, false, nil
		}
		return wire.Execution{}, false, wire.NewFault(wire.OtherExecution, fmt.Sprintf(
			"the id %q is an execution of %s of %s", x.id, known.Operation, known.Component))
	}
	if instance := l.journal.Instance(); r.Instance != "" && r.Instance != instance {
		return wire.Execution{}, false, wire.NewFault(wire.OtherInstance, fmt.Sprintf("this is %s, not %s", instance, r.Instance))
	}
	s := l.standing[x.component]
	if r.After != 0 && s.seq > r.After {
		return wire.Execution{}, false, wire.NewFault(wire.NewerEntry, fmt.Sprintf(
			"the last entry of %s is %d, not %d", x.component, s.seq, r.After))
	}
	if !l.booted {
		return wire.Execution{}, false, wire.NewFault(wire.JournalUnavailable, "the boot could not be written yet")
	}
	if err := l.admit(x, s); err != nil {
		return wire.Execution{}, false, err
	}
	interfaceName, operation := split(x.operation)
	begun = wire.Execution{
		ID: x.id, Instance: l.journal.Instance(), Component: x.component,
		Interface: interfaceName, Operation: operation, By: r.By, Inputs: names(r.Inputs),
		Outcome: wire.OutcomeRunning, From: s.state, Started: l.now(),
	}
	entry := wire.Entry{
		Kind: wire.EntryStart, Component: x.component, State: s.state, StartedFrom: s.startedFrom,
		Why: s.why, Execution: &begun,
	}
	if err := l.append(entry); err != nil {
		return wire.Execution{}, false, wire.NewFault(wire.JournalUnavailable, err.Error())
	}
	l.live[x.id] = x
	begun, _ = l.find(x.id)
	return begun, true, nil
}

// admit checks that nothing is under way and that the protocol allows the
// operation, and finds where it leads. The caller holds the lock.
func (l *ledger) admit(x *execution, s standing) error {
	life := l.lifecycles[x.component]
	if under := s.executing(); under != nil {
		start := l.live[under.ID]
		if x.kind != wire.OperationStop || start == nil || start.kind != wire.OperationStart {
			return wire.NewFault(wire.Busy, fmt.Sprintf("%s of %s is executing (%s)", under.Operation, x.component, under.ID))
		}
		if _, ok := life.step(start.target, x.operation, true); ok {
			x.instead = start
			return nil
		}
	}
	if l.closing[x.component] > 0 {
		return wire.NewFault(wire.Busy, fmt.Sprintf("a process of %s is being stopped", x.component))
	}
	target, ok := life.step(s.state, x.operation, s.open())
	if !ok {
		return wire.NewFault(wire.NotAllowed, fmt.Sprintf("%s of %s is not allowed in state %s; allowed: %s",
			x.operation, x.component, s.state, strings.Join(life.allowed(s.state, s.open()), ", ")))
	}
	x.target = target
	return nil
}

// still tells whether a stop that cancelled a start is allowed in the state
// that this led to, and finds where it leads.
func (l *ledger) still(x *execution) bool {
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
	pid, stdout, stderr := x.progress()
	_ = l.insist(ctx, func() error {
		s := l.standing[x.component]
		record, _ := l.find(x.id)
		record.Outcome, record.Reason, record.Ended, record.PID = end.outcome, end.reason, l.now(), pid
		if end.exit != nil && end.exit.Signalled() {
			record.Signal = reaper.SignalName(end.exit.Signal)
		} else if end.exit != nil {
			record.ExitCode = &end.exit.Code
		}
		var startedFrom string
		record.To, startedFrom = arrival(s, x, end)
		if err := l.append(exitEntry(x.component, record, startedFrom)); err != nil {
			return err
		}
		s = l.standing[x.component]
		for i := range s.recent { // fold has made this slice for us
			if s.recent[i].ID == x.id {
				s.recent[i].Stdout, s.recent[i].Stderr = stdout, stderr
			}
		}
		if end.outcome == wire.OutcomeSucceeded && end.left {
			l.openings[x.component]++
			opening = l.openings[x.component]
		}
		return nil
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.live, x.id)
	close(x.done)
	l.changed.wake()
	return opening
}

// arrival gives the state after an execution, and where an open component
// falls back to from there. Only success moves a component, and only one that
// nothing else has moved meanwhile.
func arrival(s standing, x *execution, end ending) (state, startedFrom string) {
	switch {
	case end.outcome != wire.OutcomeSucceeded || end.nothing:
		return s.state, s.startedFrom
	case x.kind == wire.OperationStop:
		return x.target, ""
	case x.from(s) != s.state:
		return s.state, s.startedFrom
	case end.left && !s.open():
		return x.target, s.state
	}
	return x.target, s.startedFrom
}

// from gives the state that an execution was begun in.
func (x *execution) from(s standing) string {
	for _, r := range s.recent {
		if r.ID == x.id {
			return r.From
		}
	}
	return s.state
}

// insist does what writes an entry until it is written. What has happened
// cannot be refused: it waits in memory while the journal cannot be written.
func (l *ledger) insist(ctx context.Context, write func() error) error {
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
		timer := time.NewTimer(journalRetry)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// note records that a stop is enforced.
func (l *ledger) note(ctx context.Context, x *execution, why string) {
	_ = l.insist(ctx, func() error {
		s := l.standing[x.component]
		record, _ := l.find(x.id)
		return l.append(wire.Entry{
			Kind: wire.EntryStop, Component: x.component, State: s.state, StartedFrom: s.startedFrom,
			Why: why, Execution: &record,
		})
	})
}

// gone records that nothing of what a start left is there any more, unless a
// stop is about to say so or has.
func (l *ledger) gone(ctx context.Context, component string, opening int, why string) {
	for {
		wait := l.changed.next()
		var deferred bool
		err := l.insist(ctx, func() error {
			s := l.standing[component]
			if !s.open() || l.openings[component] != opening {
				return nil
			}
			if deferred = l.closing[component] > 0 || l.closed(s); deferred {
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

// closed tells whether a stop is executing, whose end will say more.
func (l *ledger) closed(s standing) bool {
	under := s.executing()
	return under != nil && l.live[under.ID] != nil && l.live[under.ID].kind == wire.OperationStop
}

// halting marks the time in which the unit ends a component's processes
// without an operation.
func (l *ledger) halting(component string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closing[component]++
}

// halted ends what halting began, and, where nothing is left, records that the
// component was closed.
func (l *ledger) halted(ctx context.Context, component, why string, nothingLeft bool) {
	_ = l.insist(ctx, func() error {
		s := l.standing[component]
		if !s.open() || !nothingLeft {
			return nil
		}
		return l.append(wire.Entry{
			Kind: wire.EntryStop, Component: component, Why: why,
			State: l.lifecycles[component].closed(s.state, s.startedFrom),
		})
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closing[component]--
	l.changed.wake()
}

// lookup gives an execution that has not ended.
func (l *ledger) lookup(id string) *execution {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.live[id]
}

// liveOf gives the execution under way that a test is true of.
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
