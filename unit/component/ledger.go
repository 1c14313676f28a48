package component

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/process"
	"github.com/toskose/toskose/unit/wire"
)

// recorder is the part of a journal that the ledger uses. Append sets the entry's number, instance
// and time, syncs it, and passes it to apply before it asks for a checkpoint.
type recorder interface {
	Append(e wire.Entry) (wire.Entry, error)
	Instance() string
	Seq() uint64
}

// ledger holds the states of the components. Entries are in the journal before the ledger changes,
// so no client learns of a state that a crash could undo.
type ledger struct {
	log *slog.Logger
	now func() time.Time

	mu         sync.Mutex
	open       func() error         // opens and attaches the journal
	journal    recorder             // nil while it cannot be read
	openErr    error                // why it cannot be read
	lifecycles map[string]lifecycle // of components in use
	former     map[string]lifecycle // of components removed by a reload
	statuses   map[string]componentStatus
	live       map[string]*execution // executions of this process that have not ended, by id
	stops      map[string]int        // running stops without an operation, by component
	booted     bool                  // the boot is in the journal
	closing    bool                  // the unit is shutting down, which ends the processes of starts
	startCount map[string]int        // number of starts that opened the component since the unit started
	runs       map[string]uint64     // the recorded run of ordinary programs
	changed    process.Broadcast
}

// newLedger returns a ledger without a journal; see attach.
func newLedger(log *slog.Logger, now func() time.Time, lifecycles map[string]lifecycle) *ledger {
	return &ledger{
		log: log, now: now, lifecycles: lifecycles, former: map[string]lifecycle{}, statuses: map[string]componentStatus{},
		live: map[string]*execution{}, stops: map[string]int{}, startCount: map[string]int{}, runs: map[string]uint64{},
	}
}

// attach sets the journal and folds its entries. Components without entries are in their initial
// state. The caller holds the lock.
func (l *ledger) attach(journal recorder, entries []wire.Entry) {
	l.journal, l.openErr, l.statuses = journal, nil, map[string]componentStatus{}
	for _, e := range entries {
		l.statuses = fold(l.statuses, e)
	}
	for name, life := range l.lifecycles {
		if _, ok := l.statuses[name]; !ok {
			l.statuses[name] = componentStatus{state: life.initial(), why: wire.Untouched, since: l.now()}
		}
	}
}

// lockedBoot calls boot with the lock held.
func (l *ledger) lockedBoot() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.boot()
}

// boot records, once, that the unit started: executions without an exit entry are lost, and
// processes of earlier starts are gone. The caller holds the lock.
func (l *ledger) boot() error {
	if l.booted {
		return nil
	}
	if l.journal == nil {
		if l.openErr = l.open(); l.openErr != nil {
			return l.openErr
		}
	}
	why := "the unit started"
	if os.Getpid() == 1 {
		why = "the container started"
	}
	if err := l.append(wire.Entry{Kind: wire.EntryBoot, Why: why}); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(l.statuses)) {
		s := l.statuses[name]
		for _, x := range s.recent {
			if x.Outcome.Done() {
				continue
			}
			x.Outcome, x.To = wire.OutcomeLost, s.state
			x.Reason = "the container was restarted during the execution, so its outcome is unknown"
			if err := l.append(exitEntry(name, x, s.startedFrom)); err != nil {
				return err
			}
			s = l.statuses[name]
		}
		if s.open() {
			if err := l.append(l.goneEntry(name, s, "the container was restarted, which ended its processes", nil)); err != nil {
				return err
			}
		}
	}
	l.booted = true
	return nil
}

// append writes an entry and folds it. The caller holds the lock.
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

// apply folds an entry that the journal has written. The journal calls it within Append, with the
// lock held.
func (l *ledger) apply(e wire.Entry) {
	if e.Kind != wire.EntryCheckpoint { // a checkpoint repeats the current statuses
		l.statuses = fold(l.statuses, e)
	}
}

// checkpoint returns the content of the checkpoint that begins a journal segment. The journal calls
// it within Append, with the lock held.
func (l *ledger) checkpoint() []wire.Checkpointed { return checkpoint(l.statuses) }

// goneEntry returns the entry for an open component whose processes have ended.
func (l *ledger) goneEntry(name string, s componentStatus, why string, death *wire.Death) wire.Entry {
	e := wire.Entry{
		Kind: wire.EntryGone, Component: name, Why: why,
		State: l.lifecycles[name].fallback(s.state, s.startedFrom), ContainerEnded: l.closing || !l.booted,
	}
	if !e.ContainerEnded {
		e.Death = death
	}
	return e
}

// exitEntry returns the entry for the end of an execution.
func exitEntry(name string, x wire.Execution, startedFrom string) wire.Entry {
	why := fmt.Sprintf("%s %s", x.Operation, x.Outcome)
	return wire.Entry{
		Kind: wire.EntryExit, Component: name, State: x.To, Why: why,
		StartedFrom: startedFrom, Execution: &x,
	}
}

// execution returns an execution by its id: one that has not ended, with its current output, or a
// remembered one without output.
func (l *ledger) execution(id string) (x wire.Execution, ok bool) {
	l.mu.Lock()
	known, running := l.find(id), l.live[id]
	if known != nil {
		x = *known
	}
	l.mu.Unlock()
	if running != nil && known != nil && !x.Outcome.Done() {
		x.PID, x.Output = running.progress()
		x.Reason = running.writeProblem()
	}
	return x, known != nil
}

// find returns a remembered execution, or nil. The caller holds the lock and must not modify the
// result.
func (l *ledger) find(id string) *wire.Execution {
	for _, s := range l.statuses {
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

// Components returns the configured components, by name and without their processes, and the number
// of the last journal entry.
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

// instance returns the instance of the journal, or "" while it cannot be read. The caller holds the
// lock.
func (l *ledger) instance() string {
	if l.journal == nil {
		return ""
	}
	return l.journal.Instance()
}

// unreadable returns why the states are unknown.
func (l *ledger) unreadable() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.whyUnread()
}

// bootProblem returns why nothing can be executed yet, or "". The caller holds the lock.
func (l *ledger) bootProblem() string {
	switch {
	case l.journal == nil:
		return l.whyUnread()
	case !l.booted:
		return "the boot could not be written yet"
	}
	return ""
}

func (l *ledger) whyUnread() string {
	return fmt.Sprintf("the journal cannot be read yet: %v", l.openErr)
}

// component returns the public view of a component. The caller holds the lock.
func (l *ledger) component(name string) wire.Component {
	if l.journal == nil {
		return wire.Component{Name: name, State: unknownState, Since: l.now(), Why: l.whyUnread(), Allowed: []string{}}
	}
	s := l.statuses[name]
	c := wire.Component{
		Name: name, State: s.state, Since: s.since, Why: s.why, Seq: s.seq,
		Allowed: l.allowed(name, s), Open: s.open(), Completed: s.completed, Failing: s.failing, Restarts: s.restarts,
	}
	for _, x := range s.recent {
		if !x.Outcome.Done() {
			c.Executions = append(c.Executions, x)
		}
	}
	if x := s.executing(); x != nil {
		c.Executing = x.ID
		if s.unmoved && !slices.ContainsFunc(s.recent, func(x wire.Execution) bool { return x.Outcome.Done() }) {
			c.Why = x.Operation + " is executing; nothing was done to it before"
		}
	}
	return c
}

// allowed returns the operations that admit would accept now. During an execution that is only a
// stop that cancels a start. The caller holds the lock.
func (l *ledger) allowed(name string, s componentStatus) []string {
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

// States returns the possible states of a component, including the current one.
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
