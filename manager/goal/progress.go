package goal

import (
	"fmt"
	"slices"
	"time"

	"github.com/toskose/toskose/manager/reason"
	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/wire"
)

// progress is the progress of a Task.
type progress struct {
	Task
	round   int
	since   time.Time // when its first run for this goal began
	busy    int       // active runs, including earlier rounds
	indexes []indexProgress
}

// indexProgress is the progress of one index.
type indexProgress struct {
	done     bool
	recorded bool // in the document only
	running  bool
	attempts int  // failed ones, for this goal
	last     *Run // the last run that counts; nil: none
	replica  *Replica
}

// progress computes the progress of a Task: each index by its last run on any replica since the component was last
// moved by another operation. Failed runs count only if the document requested them; runs that people started
// count only if they completed.
func (m *Model) progress(s Situation, d *Document, task string) *progress {
	p := &progress{Task: m.Tasks[task], indexes: make([]indexProgress, m.Tasks[task].Completions)}
	record, noted := s.records[task]
	p.round = record.Round
	_, completed, _ := m.taskStates(task)
	for _, i := range s.of(m.Node[task]) {
		r := &s.Replicas[i]
		c, known := r.Components[task]
		if !known {
			continue
		}
		if x := c.Executing; x != nil && x.Operation == protocol.TaskRun {
			p.busy++
			p.add(r, *x, d, completed, true)
		}
		seen := map[int]bool{}
		for _, run := range slices.Backward(c.Runs) {
			if run.Operation != protocol.TaskRun {
				if !run.Failed && !run.Cancelled && run.From != run.To {
					break
				}
				continue
			}
			if index := p.indexOf(run); index >= 0 && !seen[index] && (Ours(run.ID) || !run.Failed && !run.Cancelled) {
				seen[index] = true
				p.add(r, run, d, completed, false)
			}
		}
	}
	for _, index := range record.Done {
		if index < 0 || index >= len(p.indexes) {
			continue
		}
		if x := &p.indexes[index]; !x.done {
			x.done, x.recorded = true, true
		}
	}
	if d != nil && noted && record.Asked == d.Asked && !p.completed() {
		p.since = record.Since // journals may contain earlier runs, from before it was completed
	}
	return p
}

// indexOf returns the index of a run; -1 if the run does not count.
func (p *progress) indexOf(run Run) int {
	switch {
	case run.Part == nil && p.Completions == 1 && p.round == 0:
		return 0 // a person ran it like any other operation
	case run.Part == nil, run.Part.Round < p.round, run.Part.Index < 0, run.Part.Index >= p.Completions:
		return -1
	}
	return run.Part.Index
}

// add adds a run on a replica.
func (p *progress) add(r *Replica, run Run, d *Document, completed string, running bool) {
	index := p.indexOf(run)
	if index < 0 {
		return
	}
	x := &p.indexes[index]
	x.running = x.running || running
	if done := !running && !run.Failed && !run.Cancelled && run.To == completed; done {
		x.done = true
	}
	if asked := d != nil && d.asked(run.ID); asked && run.Part != nil {
		if at := run.Part.Since; p.since.IsZero() || at.Before(p.since) {
			p.since = at
		}
		failed := run.Part.Attempt
		if !run.Failed {
			failed--
		}
		x.attempts = max(x.attempts, failed)
	}
	if x.last == nil || running || !x.running && run.Started.After(x.last.Started) {
		x.last, x.replica = &run, r
	}
}

// deadline returns the time by which the Task must end; zero: no limit.
func (p *progress) deadline() time.Time {
	if p.Deadline <= 0 || p.since.IsZero() {
		return time.Time{}
	}
	return p.since.Add(p.Deadline)
}

func (p *progress) late(now time.Time) bool {
	at := p.deadline()
	return !at.IsZero() && !now.Before(at)
}

func (p *progress) completed() bool {
	return !slices.ContainsFunc(p.indexes, func(x indexProgress) bool { return !x.done })
}

// done returns the completed indexes.
func (p *progress) done() (all []int) {
	for i, x := range p.indexes {
		if x.done {
			all = append(all, i)
		}
	}
	return all
}

// final reports whether an index's exit code rules out another attempt.
func (p *progress) final(x *indexProgress) bool {
	return x.attempts > 0 && x.last != nil && x.last.Failed && x.last.ExitCode != nil && slices.Contains(p.FailOn, *x.last.ExitCode)
}

// overdue reports whether the deadline is the reason why an index is not retried: it ended the last attempt, or
// attempts would remain without it.
func (p *progress) overdue(x *indexProgress, now time.Time) bool {
	switch {
	case !p.late(now):
		return false
	case x.last != nil && x.last.TimedOut && !x.last.Ended.Before(p.deadline()):
		return true
	}
	return !p.final(x) && x.attempts <= p.BackoffLimit
}

// failed returns why an index is not retried; empty if it may be.
func (p *progress) failed(index int, now time.Time) string {
	x := &p.indexes[index]
	switch {
	case x.done || x.running:
		return ""
	case p.overdue(x, now):
		return fmt.Sprintf("its deadline of %s has passed", p.Deadline)
	case p.final(x):
		return x.failure(index) + "; it is not tried again after this exit code"
	case x.attempts > p.BackoffLimit:
		return x.failure(index) + notTriedAgain
	}
	return ""
}

// failure describes the last failed attempt at an index.
func (x *indexProgress) failure(index int) string {
	failed := wire.Execution{}
	switch {
	case x.last == nil:
	case x.last.Execution == nil:
		failed.Exit = wire.Exit{ExitCode: x.last.ExitCode, Signal: x.last.Signal}
	default:
		failed = *x.last.Execution
	}
	failed.Part = &wire.Part{Index: index} // a Task of one index has none
	return reason.Failure(&failed, x.attempts)
}

// next returns when a failed index is retried; zero: at once.
func (p *progress) next(index int, longest time.Duration) time.Time {
	x := &p.indexes[index]
	if x.attempts == 0 || x.last == nil {
		return time.Time{}
	}
	return x.last.Ended.Add(backoff(x.attempts+1, longest))
}
