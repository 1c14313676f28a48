package component

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/toskose/toskose/unit/process"
	"github.com/toskose/toskose/unit/wire"
)

// Idle is a fault while something happens to a component that its protocol has
// begun to judge: an execution, or a stop of a process. Where programs are given,
// their executions do not count, nor does a stop.
func (l *ledger) Idle(component string, except ...*process.Program) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, x := range l.live {
		if x.component == component && !slices.Contains(except, x.program) {
			return wire.NewFault(wire.StillRunning, fmt.Sprintf("%s: %s is executing", component, x.operation))
		}
	}
	if l.stops[component] > 0 && len(except) == 0 {
		return wire.NewFault(wire.StillRunning, fmt.Sprintf("%s: a process of it is being stopped", component))
	}
	return nil
}

// fits returns why a component cannot have another protocol now, nil: it can.
func (l *ledger) fits(component string, life lifecycle) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.standingUnder(component, life)
	return err
}

// standingUnder returns where a component stands once a protocol is in force. It stays
// where it is, which another protocol has to know; one that nothing was ever
// done to is in that one's initial state. The caller holds the lock.
func (l *ledger) standingUnder(component string, life lifecycle) (standing, error) {
	s, ok := l.standing[component]
	if !ok || s.seq == 0 && !life.knows(s.state) {
		return standing{state: life.initial(), why: wire.Untouched, since: l.now()}, nil
	}
	was, ok := l.lifecycles[component]
	if !ok {
		was, ok = l.former[component]
	}
	if ok && reflect.DeepEqual(was.protocol, life.protocol) {
		return s, nil
	}
	const advice = "bring it to a state that its old and its new protocol have, then reload"
	switch {
	case !life.knows(s.state):
		return s, fmt.Errorf("component %q is in the state %q, which its new protocol does not have; %s", component, s.state, advice)
	case s.open() && !life.knows(s.startedFrom):
		return s, fmt.Errorf("component %q was started from the state %q, which its new protocol does not have; %s", component, s.startedFrom, advice)
	}
	return s, nil
}

// knows reports whether a component can be in a state. Without a protocol it
// keeps the one that it had.
func (l lifecycle) knows(state string) bool {
	return l.protocol == nil || l.protocol.Has(state)
}

// redefine puts another protocol in force, or that of a component that was not
// there. Where that has been before, what it was in the journal counts.
func (l *ledger) redefine(component string, life lifecycle) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, err := l.standingUnder(component, life)
	if err != nil {
		return err
	}
	l.standing[component], l.lifecycles[component] = s, life
	l.changed.Notify()
	l.reloaded(component + " has another definition")
	return nil
}

// Withdraw takes a component out of use. Where it stands stays known, because
// what was done to it stays in the container.
func (l *ledger) Withdraw(component string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.standing[component].open() {
		return wire.NewFault(wire.StillRunning, fmt.Sprintf("%s: the end of its processes is not recorded yet", component))
	}
	l.former[component] = l.lifecycles[component]
	delete(l.lifecycles, component)
	l.reloaded(component + " is no longer in use")
	return nil
}

// Reloaded tells those who follow the journal that they know the unit no longer.
func (l *ledger) Reloaded(why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reloaded(why)
}

// Documents records that the unit keeps other documents, unless it is shutting down
// or the journal cannot be written: readers learn of it later then.
func (l *ledger) Documents(revisions map[string]string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unbooted() != "" {
		return
	}
	if err := l.append(wire.Entry{Kind: wire.EntryDocument, Why: "the documents are others", Documents: revisions}); err != nil {
		l.log.Warn("a document is not in the journal", "error", err)
	}
}

// reloaded has readers of the journal ask how all stands: it is of no component.
// The caller holds the lock.
func (l *ledger) reloaded(why string) {
	if l.journal == nil {
		return
	}
	if err := l.append(wire.Entry{Kind: wire.EntryReload, Why: why}); err != nil {
		l.log.Warn("a reload is not in the journal", "error", err)
	}
}
