package component

import (
	"github.com/toskose/toskose/unit/process"
	"github.com/toskose/toskose/unit/wire"
)

// RecordLiveness records when a program of a component begins to fail its liveness checks, and when
// it is live again. It returns when the program is not served any more.
func (s *Set) RecordLiveness(component string, p *process.Program) {
	for {
		_, changed := p.Observe()
		if s.retryUntilWritten(s.life, func() error { return s.recordLiveness(component, p.Status().Failing) }) != nil {
			return
		}
		select {
		case <-changed:
		case <-p.Unserved():
			return
		case <-s.life.Done():
			return
		}
	}
}

// recordLiveness writes an entry if the recorded liveness of an open component differs. The end of
// its processes is recorded elsewhere, and ends its failing, too. The caller holds the lock.
func (l *ledger) recordLiveness(component string, failing *process.Failing) error {
	recorded, inUse := l.statuses[component], l.lifecycles[component].protocol != nil
	if !inUse || !recorded.open() || l.bootProblem() != "" || (failing == nil) == (recorded.failing == nil) {
		return nil
	}
	e := wire.Entry{
		Kind: wire.EntryLive, Component: component, State: recorded.state, StartedFrom: recorded.startedFrom,
		Why: "it passes its liveness checks again",
	}
	if failing != nil {
		e.Why, e.Failing = "it is not live: "+failing.Why, &wire.Failing{Since: failing.Since, Why: failing.Why}
	}
	return l.append(e)
}
