package process

import (
	"slices"

	"github.com/toskose/toskose/unit/wire"
)

// Changed returns a channel that is closed when the status of any program changes,
// or by Wake.
func (t *Table) Changed() <-chan struct{} { return t.changes.Next() }

// Wake wakes those who wait for a change.
func (t *Table) Wake() { t.changes.Wake() }

// Waiting is a start that is to come. It is void once somebody else has started the
// program, or stopped it.
type Waiting struct {
	*Program
	run, stops uint64
	shown      string
}

// Waiting begins to wait for the program's turn to be started.
func (p *Program) Waiting() *Waiting {
	p.mu.Lock()
	defer p.mu.Unlock()
	return &Waiting{Program: p, run: p.status.Run, stops: p.stops}
}

// Void reports whether the start is not to be any more.
func (w *Waiting) Void() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.status.Run != w.run || w.stops != w.Program.stops || w.status.State.InRunningSet()
}

// Show sets what the start waits for, empty: nothing any more, and reports whether
// that is new to it. Another start of the same program may wait, too: what that
// shows is left to it.
func (w *Waiting) Show(what string) bool {
	now, before := w.Status().Waits, w.shown
	switch {
	case what == "" && now != before, what != "" && w.Void():
		return false
	case what == before && now != "":
		return false
	}
	w.shown = what
	w.publish(func(s *Status) { s.Waits = what })
	return what != before
}

// StopWaiting makes a start that waits void, and reports whether there was one.
func (p *Program) StopWaiting() bool {
	was := false
	if p.Status().Waits == "" {
		return false
	}
	p.publish(func(s *Status) {
		if was = s.Waits != ""; was {
			s.Waits = ""
			p.stops++
		}
	})
	return was
}

// Standing is how far a program has got for those that come after it.
type Standing int

// The standings.
const (
	AtRest  Standing = iota // and will stay so, unless somebody starts it
	Coming                  // it is on its way
	Arrived                 // it runs, or, if it is meant to end, has ended well
)

// Standing returns how far the program has got.
func (p *Program) Standing() Standing {
	s, settings := p.Status(), p.Settings()
	switch s.State {
	case wire.Running:
		if !settings.OneShot() {
			return Arrived
		}
		return Coming
	case wire.Exited:
		if settings.OneShot() && s.Exit != nil && slices.Contains(settings.ExitCodes, supervisorStatus(*s.Exit)) {
			return Arrived
		}
	case wire.Starting, wire.Backoff, wire.Stopping:
		return Coming
	case wire.Stopped, wire.Fatal, wire.Unknown:
	}
	if s.Waits != "" {
		return Coming
	}
	return AtRest
}
