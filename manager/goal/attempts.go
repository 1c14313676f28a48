package goal

import (
	"slices"
	"time"

	"github.com/toskose/toskose/manager/reason"
	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/wire"
)

// retry is when an operation of a component may be attempted, and why not before.
type retry struct {
	failed int       // attempts in a row
	since  time.Time // the time from which it may be attempted; zero: now
	never  bool      // all attempts are used up
	last   Run       // the last failed attempt
}

// retries derives from a component's journal when an operation may be attempted. For operations other than a start
// or stop, only attempts for this goal count: a new goal may try again.
func retries(p Policy, d *Document, c Component, op protocol.Operation, kind protocol.Kind) retry {
	var r retry
	restarts := 0
	for _, run := range slices.Backward(c.Runs) {
		if run.Operation != op || run.Cancelled {
			continue
		}
		if kind == protocol.KindRun && !d.asked(run.ID) {
			break
		}
		if run.Container && run.Gone.Sub(run.Ended) < p.stable() {
			continue // it says nothing about the component
		}
		failed, died := run.Failed, false
		if kind == protocol.KindStart && !run.Failed {
			died = run.died()
			failed = died && run.Gone.Sub(run.Ended) < p.stable()
		}
		if !failed {
			if died {
				restarts++
			}
			break
		}
		if r.failed == 0 {
			r.last = run
		}
		r.failed++
	}
	if limit := p.attempts(op, kind); limit > 0 && r.failed >= limit {
		r.never = true
		return r
	}
	if restarts += r.failed; restarts > 1 {
		r.since = latest(r.last.Ended, r.last.Gone).Add(backoff(restarts, p.maxDelay()))
	}
	return r
}

// backoff returns the delay before the nth restart: the first is immediate, the next ones follow after 1, 2, 4 …
// seconds.
func backoff(restart int, longest time.Duration) time.Duration {
	wait := time.Second
	for range restart - 2 {
		if wait *= 2; wait >= longest {
			return longest
		}
	}
	return min(wait, longest)
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

const notTriedAgain = "; it is not tried again for this goal: set the goal again to try once more"

// why returns why an operation is not attempted at once.
func (r retry) why(op protocol.Operation) string {
	failed := r.last.Execution
	if failed == nil {
		failed = &wire.Execution{Operation: op.Name}
	}
	why := reason.Failure(failed, r.failed)
	if r.never {
		why += notTriedAgain
	}
	return why
}
