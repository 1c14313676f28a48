package component

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/journal"
	"github.com/toskose/toskose/unit/process"
	"github.com/toskose/toskose/unit/wire"
)

// journalPage bounds the entries in one response.
const journalPage = 1000

// recordGrace bounds how long a shutdown waits for a journal that cannot be written.
const recordGrace = time.Second

// Definition is the configuration of a component.
type Definition struct {
	Protocol *protocol.Protocol // nil: every operation is allowed, and the state is unknown
	Programs []*process.Program // the programs of its group

	// Program is an ordinary program that is a component by itself, with protocol.Program; Protocol
	// and Programs are then not used. Observe has to run for it.
	Program *process.Program
}

// Options configure a Set.
type Options struct {
	Logger  *slog.Logger
	Now     func() time.Time
	Folder  string          // of the journal; "": in memory
	Life    context.Context // context of all executions; programs are served until it ends
	Serving func() error    // returns a fault once the unit shuts down
	// Changing is held for reading while an operation is found and admitted, so that none begins with
	// a program or a protocol that is being replaced.
	Changing *sync.RWMutex
}

// Set holds the components of one container and their journal.
type Set struct {
	*ledger
	history  atomic.Pointer[journal.Journal] // nil while it cannot be read
	life     context.Context
	serving  func() error
	changing *sync.RWMutex
	tasks    sync.WaitGroup
}

// Open opens the journal and restores the components. While the journal cannot be read, all states
// are unknown and nothing can be executed; Boot retries. Open fails if another unit is writing the
// journal.
func Open(o Options, definitions map[string]Definition) (*Set, error) {
	lifecycles := map[string]lifecycle{}
	for name, d := range definitions {
		lifecycles[name] = d.lifecycle()
	}
	s := &Set{ledger: newLedger(o.Logger, o.Now, lifecycles), life: o.Life, serving: o.Serving, changing: o.Changing}
	s.open = func() error { return s.openJournal(o) }
	// Before any request: the restored states are from before the boot.
	switch err := s.lockedBoot(); {
	case errors.Is(err, journal.ErrInUse):
		return nil, err
	case s.history.Load() == nil:
		o.Logger.Error("no operation runs until the journal can be read", "error", err)
	case err != nil:
		o.Logger.Error("the boot entry is kept in memory until it can be written", "error", err)
	}
	return s, nil
}

// openJournal opens and attaches the journal. The caller holds the ledger's lock.
func (s *Set) openJournal(o Options) error {
	opened, replay, err := journal.Open(o.Folder, journal.Options{Checkpoint: s.checkpoint, Apply: s.apply, Now: o.Now})
	if err != nil {
		return err
	}
	for _, note := range replay.Notes {
		o.Logger.Warn("journal repaired", "note", note)
	}
	s.history.Store(opened)
	s.attach(opened, replay.Entries)
	return nil
}

// Booted reports whether the boot is in the journal.
func (s *Set) Booted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.booted
}

// Boot blocks until the boot is in the journal.
func (s *Set) Boot() error { return s.retryUntilWritten(s.life, s.boot) }

// Instance returns the instance of the journal, or "" while it cannot be read.
func (s *Set) Instance() string {
	if j := s.history.Load(); j != nil {
		return j.Instance()
	}
	return ""
}

// Seq returns the number of the last journal entry.
func (s *Set) Seq() uint64 {
	if j := s.history.Load(); j != nil {
		return j.Seq()
	}
	return 0
}

// Close waits for all executions, whose context must have ended, and closes the journal.
func (s *Set) Close() error {
	s.tasks.Wait()
	if j := s.history.Load(); j != nil {
		return j.Close()
	}
	return nil
}

// Shutdown cancels every execution.
func (s *Set) Shutdown() {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	for _, x := range s.allLive() {
		x.cancel(errShutdown)
	}
}

// Settle waits until all exit entries are in the journal, for a limited time if it cannot be
// written.
func (s *Set) Settle() {
	timer := time.NewTimer(recordGrace)
	defer timer.Stop()
	for _, x := range s.allLive() {
		select {
		case <-x.done:
		case <-timer.C:
			return
		}
	}
}

// Fits returns why a component cannot change to another protocol now, or nil.
func (s *Set) Fits(component string, p *protocol.Protocol) error {
	return s.fits(component, lifecycle{protocol: p})
}

// Use puts a definition in force. A component that is added continues from its state in the
// journal.
func (s *Set) Use(component string, d Definition) error {
	return s.redefine(component, d.lifecycle())
}

// JournalPage is one page of the journal.
type JournalPage struct {
	Instance string       // of this unit's journal
	Reset    bool         // the cursor is from another instance or too old, so the page starts at the first entry
	Entries  []wire.Entry // in order; empty if the wait ended first
}

// Journal returns the entries after a cursor ("INSTANCE:SEQ", or "" for the first entry), waiting
// up to wait for one. A malformed cursor is the fault BadArguments.
func (s *Set) Journal(ctx context.Context, after string, wait time.Duration) (JournalPage, error) {
	if after != "" && !strings.Contains(after, ":") {
		return JournalPage{}, wire.NewFault(wire.BadArguments, "a cursor is INSTANCE:SEQ")
	}
	j := s.history.Load()
	if j == nil {
		return JournalPage{}, wire.NewFault(wire.JournalUnavailable, s.unreadable())
	}
	page, err := j.Read(after, journalPage)
	if err == nil && len(page.Entries) == 0 && wait > 0 {
		page, err = s.waitJournal(ctx, j, after, wait)
	}
	if errors.Is(err, journal.ErrClosed) {
		err = wire.NewFault(wire.ShutdownState, "")
	}
	return JournalPage{Instance: s.Instance(), Reset: page.Reset, Entries: page.Entries}, err
}

func (s *Set) waitJournal(ctx context.Context, j *journal.Journal, after string, wait time.Duration) (journal.Page, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)() //nolint:contextcheck // the wait ends with the unit, too
	if err := j.Wait(ctx, after); err != nil && ctx.Err() == nil {
		return journal.Page{}, err
	}
	return j.Read(after, journalPage)
}

// Hello returns an entry with all components in use, their remembered executions, and the number of
// the last journal entry. Until the boot is written it is the fault JournalUnavailable.
func (s *Set) Hello(unit wire.Identity) (wire.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if why := s.bootProblem(); why != "" {
		return wire.Entry{}, wire.NewFault(wire.JournalUnavailable, why)
	}
	unit.Instance, unit.Seq, unit.Programs = s.instance(), s.journal.Seq(), s.programs()
	inUse := map[string]componentStatus{}
	for name := range s.lifecycles {
		inUse[name] = s.statuses[name]
	}
	return wire.Entry{
		Seq: unit.Seq, Instance: unit.Instance, Time: s.now(), Kind: wire.EntryHello, Components: checkpoint(inUse), Unit: &unit,
	}, nil
}

// EndStop ends a stop begun by BeginStop. ended reports whether the stopped program has no
// processes left; if no other program of the component has any either, the component is recorded as
// closed. If the entry cannot be written yet, EndStop returns the fault JournalUnavailable and it
// is written later.
func (s *Set) EndStop(component, why string, ended bool) error {
	for _, p := range s.startPrograms(component) {
		ended = ended && p.Status().AtRest()
	}
	written, failed := make(chan struct{}), make(chan error, 1)
	s.tasks.Go(func() {
		defer close(written)
		s.endStop(s.life, component, why, ended, failed)
	})
	select {
	case <-written:
		return nil
	case err := <-failed:
		timer := time.NewTimer(unwrittenWait)
		defer timer.Stop()
		select {
		case <-written:
			return nil
		case <-timer.C:
			return &wire.Fault{
				Code: wire.JournalUnavailable, Instance: s.Instance(),
				Detail: fmt.Sprintf("the stop of %s cannot be written to the journal yet: %v", component, err),
			}
		}
	}
}
