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

// journalPage bounds how many entries one answer has.
const journalPage = 1000

// recordGrace is how long the end waits for a journal that cannot be written.
const recordGrace = time.Second

// Definition is a component as a configuration has it.
type Definition struct {
	Protocol *protocol.Protocol // nil: every operation is allowed, and its state is unknown
	Programs []*process.Program // of its group
}

// Options are what a Set is made of.
type Options struct {
	Logger  *slog.Logger
	Now     func() time.Time
	Folder  string          // of the journal; empty: in memory
	Life    context.Context // of executions; programs are served as long as it lasts
	Serving func() error    // a fault, once the unit ends
}

// Set is the components of one container, with their journal.
type Set struct {
	*ledger
	history atomic.Pointer[journal.Journal] // nil: it could not be read yet
	life    context.Context
	serving func() error
	tasks   sync.WaitGroup
}

// Open takes up what an earlier life of the container has written. While that
// cannot be read, all states are unknown and nothing can be executed; Boot tries
// again. Open fails where another unit writes the journal.
func Open(o Options, definitions map[string]Definition) (*Set, error) {
	lifecycles := map[string]lifecycle{}
	for name, d := range definitions {
		lifecycles[name] = d.lifecycle()
	}
	s := &Set{ledger: newLedger(o.Logger, o.Now, lifecycles), life: o.Life, serving: o.Serving}
	s.open = func() error { return s.openJournal(o) }
	// Before anyone can ask: what is known is of an earlier life until then.
	switch err := s.started(); {
	case errors.Is(err, journal.ErrInUse):
		return nil, err
	case s.history.Load() == nil:
		o.Logger.Error("no operation runs until the journal can be read", "error", err)
	case err != nil:
		o.Logger.Error("the boot waits in memory", "error", err)
	}
	return s, nil
}

// openJournal gives the ledger its journal. The caller holds its lock.
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

// Boot waits until the boot is in the journal, if it is not yet.
func (s *Set) Boot() error { return s.insist(s.life, s.boot) }

// Instance is whose journal it is; empty while it cannot be read.
func (s *Set) Instance() string {
	if j := s.history.Load(); j != nil {
		return j.Instance()
	}
	return ""
}

// Seq is the number of the journal's last entry.
func (s *Set) Seq() uint64 {
	if j := s.history.Load(); j != nil {
		return j.Seq()
	}
	return 0
}

// Close waits for all executions, whose life has to be over, and closes the journal.
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

// Settle waits until the ends of all executions are in the journal, not for
// ever where it cannot be written.
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

// Fits returns why a component cannot have another protocol now, nil: it can.
func (s *Set) Fits(component string, p *protocol.Protocol) error {
	return s.fits(component, lifecycle{protocol: p})
}

// Use puts another definition of a component in force, or that of one that was
// not there, which is in the state that the journal has of it.
func (s *Set) Use(component string, d Definition) error {
	return s.redefine(component, d.lifecycle())
}

// JournalPage is one answer of the journal.
type JournalPage struct {
	Instance string       // of this unit's journal
	Reset    bool         // the cursor was of another instance, or too old: this begins at the beginning
	Entries  []wire.Entry // in order; empty when the wait ended first
}

// Journal returns the entries after a cursor (INSTANCE:SEQ; empty: from the
// beginning), and waits for one up to wait. What is not a cursor is the fault
// BadArguments.
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

// Hello says how all components in use stand, with the executions that are
// remembered of each, after the journal's last entry. While the boot is not
// written, it is the fault JournalUnavailable.
func (s *Set) Hello(unit wire.Identity) (wire.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if why := s.unbooted(); why != "" {
		return wire.Entry{}, wire.NewFault(wire.JournalUnavailable, why)
	}
	unit.Instance, unit.Seq = s.instance(), s.journal.Seq()
	inUse := map[string]standing{}
	for name := range s.lifecycles {
		inUse[name] = s.standing[name]
	}
	return wire.Entry{
		Seq: unit.Seq, Instance: unit.Instance, Time: s.now(), Kind: wire.EntryHello, Components: checkpoint(inUse), Unit: &unit,
	}, nil
}

// EndStop ends what BeginStop began; ended says that nothing of the program that
// was stopped is left. Where nothing of the other ones that open the component
// is either, it is recorded that the component was closed. While that cannot be
// written, the answer is the fault JournalUnavailable, and it is written later.
func (s *Set) EndStop(component, why string, ended bool) error {
	for _, p := range s.openers(component) {
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
				Detail: fmt.Sprintf("the stop of %s cannot be written into the journal yet: %v", component, err),
			}
		}
	}
}
