package unit

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/toskose/toskose/unit/journal"
	"github.com/toskose/toskose/unit/wire"
)

// journalPage bounds how many entries one answer has.
const journalPage = 1000

// Components answers toskose.getComponents.
func (u *Unit) Components(_ context.Context) (wire.Snapshot, error) {
	processes, err := u.tree.Scan()
	if err != nil {
		return wire.Snapshot{}, err
	}
	of := map[string][]wire.Process{}
	unclaimed := []wire.Process{}
	for _, p := range processes {
		seen := wire.Process{
			PID: p.PID, Parent: p.Parent, Command: p.Command,
			CPU: p.CPU.Seconds(), Memory: p.Memory, Zombie: p.Zombie,
		}
		owner := u.roster.owner(p.Program)
		if owner == nil || owner.cfg.Component == "" || !u.names.hosts(owner.cfg.Component) {
			if owner != nil {
				seen.Operation = owner.name() // an ordinary program's, or one's that a reload removed: shown as well
			}
			unclaimed = append(unclaimed, seen)
			continue
		}
		seen.Operation = owner.cfg.Qualified()
		of[owner.cfg.Component] = append(of[owner.cfg.Component], seen)
	}
	snapshot := wire.Snapshot{
		Instance: u.journal.Instance(), Booted: u.booted, Labels: u.labels, Unclaimed: unclaimed,
	}
	snapshot.Seq, snapshot.Components = u.ledger.components()
	for i := range snapshot.Components {
		c := &snapshot.Components[i]
		if c.Processes = of[c.Name]; c.Processes == nil {
			c.Processes = []wire.Process{}
		}
	}
	return snapshot, nil
}

// components gives where all configured components stand, by name, without
// their processes, and the number of the journal's last entry.
func (l *ledger) components() (seq uint64, components []wire.Component) {
	l.mu.Lock()
	defer l.mu.Unlock()
	components = []wire.Component{}
	for _, name := range slices.Sorted(maps.Keys(l.lifecycles)) {
		s := l.standing[name]
		c := wire.Component{
			Name: name, State: s.state, Since: s.since, Why: s.why, Seq: s.seq,
			Allowed: l.lifecycles[name].allowed(s.state, s.open()),
		}
		if x := s.executing(); x != nil {
			c.Executing = x.ID
		}
		components = append(components, c)
	}
	return l.journal.Seq(), components
}

// JournalPage is one answer of the journal.
type JournalPage struct {
	Instance string       // of this unit's journal
	Reset    bool         // the cursor was of another instance, or too old: this begins at the beginning
	Entries  []wire.Entry // in order; empty when the wait ended first
}

// Journal gives the entries after a cursor (INSTANCE:SEQ; empty: from the
// beginning), and waits for one up to wait. A cursor that is none is the fault
// BadArguments.
func (u *Unit) Journal(ctx context.Context, after string, wait time.Duration) (JournalPage, error) {
	if after != "" && !strings.Contains(after, ":") {
		return JournalPage{}, wire.NewFault(wire.BadArguments, "a cursor is INSTANCE:SEQ")
	}
	page, err := u.journal.Read(after, journalPage)
	if err == nil && len(page.Entries) == 0 && wait > 0 {
		page, err = u.waitJournal(ctx, after, wait)
	}
	return JournalPage{Instance: u.journal.Instance(), Reset: page.Reset, Entries: page.Entries}, err
}

func (u *Unit) waitJournal(ctx context.Context, after string, wait time.Duration) (journal.Page, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	defer context.AfterFunc(u.life, cancel)() //nolint:contextcheck // the wait ends with the unit, too
	if err := u.journal.Wait(ctx, after); err != nil && ctx.Err() == nil {
		return journal.Page{}, err
	}
	page, err := u.journal.Read(after, journalPage)
	if errors.Is(err, journal.ErrClosed) {
		return journal.Page{}, wire.NewFault(wire.ShutdownState, "")
	}
	return page, err
}
