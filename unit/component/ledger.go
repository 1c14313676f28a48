package component

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/toskose/toskose/tosca/protocol"
	"github.com/toskose/toskose/unit/process"
	"github.com/toskose/toskose/unit/wire"
)

// recorder is what the ledger needs of a journal. Append fills in the entry's
// number, instance and time, has synced it when it returns, and has told apply
// of it before it asks for a checkpoint.
type recorder interface {
	Append(e wire.Entry) (wire.Entry, error)
	Instance() string
	Seq() uint64
}

// ledger holds where the components stand. An entry is in the journal before
// the ledger changes, so nobody is told what a crash could make untrue.
type ledger struct {
	log *slog.Logger
	now func() time.Time

	mu         sync.Mutex
	open       func() error         // attaches the journal
	journal    recorder             // nil: it could not be read yet
	unread     error                // why
	lifecycles map[string]lifecycle // of the components in use
	former     map[string]lifecycle // of those that a reload took out of use
	standing   map[string]standing
	live       map[string]*execution // executions of this life of the unit, by id, until they have ended
	stops      map[string]int        // under way without an operation, by component
	booted     bool                  // the boot is in the journal
	closing    bool                  // the container ends, and with it what starts have left
	openings   map[string]int        // how often a start has opened the component in this life
	changed    process.Broadcast
}

// newLedger makes a ledger whose journal is set by attach.
func newLedger(log *slog.Logger, now func() time.Time, lifecycles map[string]lifecycle) *ledger {
	return &ledger{
		log: log, now: now, lifecycles: lifecycles, former: map[string]lifecycle{}, standing: map[string]standing{},
		live: map[string]*execution{}, stops: map[string]int{}, openings: map[string]int{},
	}
}

// attach gives the ledger its journal and what that remembers. Components that
// it does not know are in their initial state. The caller holds the lock.
func (l *ledger) attach(journal recorder, entries []wire.Entry) {
	l.journal, l.unread, l.standing = journal, nil, map[string]standing{}
	for _, e := range entries {
		l.standing = fold(l.standing, e)
	}
	for name, life := range l.lifecycles {
		if _, ok := l.standing[name]; !ok {
			l.standing[name] = standing{state: life.initial(), why: wire.Untouched, since: l.now()}
		}
	}
}

// started is boot with the lock.
func (l *ledger) started() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.boot()
}

// boot records once that the unit started, and what that means: an execution
// that has no exit is lost, and what a start had left is gone. The caller holds
// the lock.
func (l *ledger) boot() error {
	if l.booted {
		return nil
	}
	if l.journal == nil {
		if l.unread = l.open(); l.unread != nil {
			return l.unread
		}
	}
	why := "the unit started"
	if os.Getpid() == 1 {
		why = "the container started"
	}
	if err := l.append(wire.Entry{Kind: wire.EntryBoot, Why: why}); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(l.standing)) {
		s := l.standing[name]
		for _, x := range s.recent {
			if x.Outcome.Done() {
				continue
			}
			x.Outcome, x.To = wire.OutcomeLost, s.state
			x.Reason = "the container was restarted while it was executing; nobody saw its end"
			if err := l.append(exitEntry(name, x, s.startedFrom)); err != nil {
				return err
			}
			s = l.standing[name]
		}
		if s.open() {
			if err := l.append(l.goneEntry(name, s, "the container was restarted, which ended its processes")); err != nil {
				return err
			}
		}
	}
	l.booted = true
	return nil
}

// append writes an entry, which folds it in. The caller holds the lock.
func (l *ledger) append(e wire.Entry) error {
	written, err := l.journal.Append(e)
	if err != nil {
		return fmt.Errorf("cannot write the journal: %w", err)
	}
	l.log.Info("journal", "kind", string(written.Kind), "component", written.Component,
		"state", written.State, "why", written.Why, "seq", written.Seq)
	l.changed.Notify()
	return nil
}

// apply folds in what the journal has written. The journal calls it from
// within Append, so the lock is held.
func (l *ledger) apply(e wire.Entry) {
	if e.Kind != wire.EntryCheckpoint { // which says what is known already
		l.standing = fold(l.standing, e)
	}
}

// checkpoint is what the journal begins a new segment with. The journal calls
// it from within Append, so the lock is held.
func (l *ledger) checkpoint() []wire.Checkpointed { return checkpoint(l.standing) }

// goneEntry is the fall of an open component whose processes have ended.
func (l *ledger) goneEntry(name string, s standing, why string) wire.Entry {
	return wire.Entry{
		Kind: wire.EntryGone, Component: name, Why: why,
		State: l.lifecycles[name].fallback(s.state, s.startedFrom), ContainerEnded: l.closing || !l.booted,
	}
}

// exitEntry is the end of an execution, with the outcome that x has, and the
// state that the component has after it.
func exitEntry(name string, x wire.Execution, startedFrom string) wire.Entry {
	why := fmt.Sprintf("%s %s", x.Operation, x.Outcome)
	return wire.Entry{
		Kind: wire.EntryExit, Component: name, State: x.To, Why: why,
		StartedFrom: startedFrom, Execution: &x,
	}
}

// execution finds an execution by its id: one that has not ended, with the end of its
// output as it is now, or a remembered one, without.
func (l *ledger) execution(id string) (x wire.Execution, ok bool) {
	l.mu.Lock()
	known, running := l.find(id), l.live[id]
	if known != nil {
		x = *known
	}
	l.mu.Unlock()
	if running != nil && known != nil && !x.Outcome.Done() {
		x.PID, x.Output = running.progress()
		x.Reason = running.delayed()
	}
	return x, known != nil
}

// find looks an id up in what is remembered, nil: it is not. The caller holds
// the lock, and changes nothing of the answer.
func (l *ledger) find(id string) *wire.Execution {
	for _, s := range l.standing {
		for i := len(s.recent) - 1; i >= 0; i-- {
			if s.recent[i].ID == id {
				return &s.recent[i]
			}
		}
	}
	return nil
}

// allLive returns the executions that have not ended.
func (l *ledger) allLive() []*execution {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Values(l.live))
}

// Components returns where all configured components stand, by name, without
// their processes, and the number of the journal's last entry.
func (l *ledger) Components() (seq uint64, components []wire.Component) {
	l.mu.Lock()
	defer l.mu.Unlock()
	components = []wire.Component{}
	for _, name := range slices.Sorted(maps.Keys(l.lifecycles)) {
		components = append(components, l.component(name))
	}
	if l.journal != nil {
		seq = l.journal.Seq()
	}
	return seq, components
}

// instance is whose journal it is; empty while it cannot be read. The caller
// holds the lock.
func (l *ledger) instance() string {
	if l.journal == nil {
		return ""
	}
	return l.journal.Instance()
}

// unreadable says why where the components stand is unknown.
func (l *ledger) unreadable() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.whyUnread()
}

// unbooted says why nothing can be done yet, empty: it can. The caller holds the
// lock.
func (l *ledger) unbooted() string {
	switch {
	case l.journal == nil:
		return l.whyUnread()
	case !l.booted:
		return "the boot could not be written yet"
	}
	return ""
}

func (l *ledger) whyUnread() string {
	return fmt.Sprintf("the journal cannot be read yet: %v", l.unread)
}

// component says where a component stands. The caller holds the lock.
func (l *ledger) component(name string) wire.Component {
	if l.journal == nil {
		return wire.Component{Name: name, State: unknownState, Since: l.now(), Why: l.whyUnread(), Allowed: []string{}}
	}
	s := l.standing[name]
	c := wire.Component{
		Name: name, State: s.state, Since: s.since, Why: s.why, Seq: s.seq,
		Allowed: l.allowed(name, s), Open: s.open(),
	}
	for _, x := range s.recent {
		if !x.Outcome.Done() {
			c.Executions = append(c.Executions, x)
		}
	}
	if x := s.executing(); x != nil {
		c.Executing = x.ID
		if s.why == wire.Untouched {
			c.Why = x.Operation + " is executing; nothing was done to it before"
		}
	}
	return c
}

// allowed returns the operations that admit would begin now: while something
// is under way, only a stop that cancels a start. The caller holds the lock.
func (l *ledger) allowed(name string, s standing) []string {
	life, under := l.lifecycles[name], s.executing()
	if under == nil && l.stops[name] == 0 {
		return life.allowed(s.state, s.open())
	}
	if under == nil || l.live[under.ID] == nil || l.live[under.ID].kind != protocol.KindStart {
		return []string{}
	}
	return slices.DeleteFunc(life.allowed(l.live[under.ID].target, true), func(text string) bool {
		operation, err := protocol.ParseOperation(text)
		return err != nil || life.kind(operation) != protocol.KindStop
	})
}

// States returns the states that a component can be in, and the one that it is in.
func (l *ledger) States(component, current string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var states []string
	if p := l.lifecycles[component].protocol; p != nil {
		states = p.StateNames()
	}
	if !slices.Contains(states, current) {
		states = append(states, current)
	}
	return states
}

// Hosts reports whether a component is in use.
func (l *ledger) Hosts(component string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.lifecycles[component]
	return ok
}
