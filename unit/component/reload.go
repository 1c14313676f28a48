package component

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/toskose/toskose/unit/process"
	"github.com/toskose/toskose/unit/wire"
)

// Idle returns a fault while an execution or a stop of the component is under way. Executions and
// stops of the excepted programs are ignored.
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

// fits returns why a component cannot change to another protocol now, or nil.
func (l *ledger) fits(component string, life lifecycle) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.statusUnder(component, life)
	return err
}

// statusUnder returns the status of a component under a new protocol. The state does not change and
// must exist in the new protocol; a component without entries takes the new initial state. The
// caller holds the lock.
func (l *ledger) statusUnder(component string, life lifecycle) (componentStatus, error) {
	s, ok := l.statuses[component]
	if !ok || s.seq == 0 && !life.hasState(s.state) {
		return componentStatus{state: life.initial(), why: wire.Untouched, since: l.now()}, nil
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
	case !life.hasState(s.state):
		return s, fmt.Errorf("component %q is in the state %q, which its new protocol does not have; %s", component, s.state, advice)
	case s.open() && !life.hasState(s.startedFrom):
		return s, fmt.Errorf("component %q was started from the state %q, which its new protocol does not have; %s", component, s.startedFrom, advice)
	}
	return s, nil
}

// hasState reports whether the lifecycle has a state. Without a protocol it has every state.
func (l lifecycle) hasState(state string) bool {
	return l.protocol == nil || l.protocol.Has(state)
}

// redefine puts a protocol in force. A component that is added continues from its state in the
// journal.
func (l *ledger) redefine(component string, life lifecycle) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, err := l.statusUnder(component, life)
	if err != nil {
		return err
	}
	l.statuses[component], l.lifecycles[component] = s, life
	l.changed.Notify()
	l.reloaded(component + " has another definition")
	return nil
}

// Withdraw takes a component out of use. Its state is kept, because its files stay in the
// container.
func (l *ledger) Withdraw(component string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.statuses[component].open() {
		return wire.NewFault(wire.StillRunning, fmt.Sprintf("%s: the end of its processes is not recorded yet", component))
	}
	l.former[component] = l.lifecycles[component]
	delete(l.lifecycles, component)
	l.reloaded(component + " is no longer in use")
	return nil
}

// WithdrawOrdinary takes a component out of use whose program has ended. The end is recorded if it
// is not yet.
func (s *Set) WithdrawOrdinary(component string, p *process.Program) error {
	o := observer{set: s, component: component, program: p}
	s.mu.Lock()
	_, err := o.record()
	s.mu.Unlock()
	if err != nil {
		return wire.NewFault(wire.JournalUnavailable, err.Error())
	}
	return s.Withdraw(component)
}

// Reloaded makes readers of the journal read the components again.
func (l *ledger) Reloaded(why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reloaded(why)
}

// Documents records the revisions of the stored documents. If the unit is shutting down or the
// journal cannot be written, readers learn of them later.
func (l *ledger) Documents(revisions map[string]string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bootProblem() != "" {
		return
	}
	if err := l.append(wire.Entry{Kind: wire.EntryDocument, Why: "the documents changed", Documents: revisions}); err != nil {
		l.log.Warn("cannot write a document entry to the journal", "error", err)
	}
}

// reloaded writes an entry that makes readers of the journal read all components again. The caller
// holds the lock.
func (l *ledger) reloaded(why string) {
	if l.journal == nil {
		return
	}
	if err := l.append(wire.Entry{Kind: wire.EntryReload, Why: why}); err != nil {
		l.log.Warn("cannot write a reload entry to the journal", "error", err)
	}
}
