package process

import (
	"slices"

	"github.com/toskose/toskose/unit/wire"
)

// Changed returns a channel that is closed when the status of any program changes, or by Notify.
func (t *Table) Changed() <-chan struct{} { return t.changes.Next() }

// Notify wakes the waiters of Changed.
func (t *Table) Notify() { t.changes.Notify() }

// PendingStart is a start that waits for other programs. It is canceled when the program is started
// or stopped meanwhile.
type PendingStart struct {
	*Program
	run, stops uint64
	reason     string
}

// PendingStart begins a wait to start the program.
func (p *Program) PendingStart() *PendingStart {
	p.mu.Lock()
	defer p.mu.Unlock()
	return &PendingStart{Program: p, run: p.status.Run, stops: p.stopCount}
}

// Canceled reports whether the program was started or stopped meanwhile.
func (w *PendingStart) Canceled() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.status.Run != w.run || w.stops != w.stopCount || w.status.State.InRunningSet()
}

// SetReason sets or clears the reason for waiting, and reports whether that changed. It
// leaves the reason of another pending start of the program alone.
func (w *PendingStart) SetReason(what string) bool {
	now, before := w.Status().WaitsFor, w.reason
	switch {
	case what == "" && now != before, what != "" && w.Canceled():
		return false
	case what == before && now != "":
		return false
	}
	w.reason = what
	w.publish(func(s *Status) { s.WaitsFor = what })
	return what != before
}

// CancelPendingStarts cancels the pending starts and reports whether there were any.
func (p *Program) CancelPendingStarts() bool {
	was := false
	if p.Status().WaitsFor == "" {
		return false
	}
	p.publish(func(s *Status) {
		if was = s.WaitsFor != ""; was {
			s.WaitsFor = ""
			p.stopCount++
		}
	})
	return was
}

// Progress is how far a program has got, for the programs that depend on it.
type Progress int

const (
	NotStarting Progress = iota // not starting, and not about to
	InProgress                  // starting, or about to
	Reached                     // running, or has completed successfully if it is meant to end
)

// Progress returns the progress of the program.
func (p *Program) Progress() Progress {
	s, settings := p.Status(), p.Settings()
	switch s.State {
	case wire.Running:
		if !settings.OneShot() {
			return Reached
		}
		return InProgress
	case wire.Exited:
		if settings.OneShot() && s.Exit != nil && slices.Contains(settings.ExitCodes, supervisorStatus(*s.Exit)) {
			return Reached
		}
	case wire.Starting, wire.Backoff, wire.Stopping:
		return InProgress
	case wire.Stopped, wire.Fatal, wire.Unknown:
	}
	if s.WaitsFor != "" {
		return InProgress
	}
	return NotStarting
}
