package process

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/toskose/toskose/internal/sleep"
	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/ready"
	"github.com/toskose/toskose/unit/wire"
)

// Failing describes a running program that is not live.
type Failing struct {
	Since time.Time // the first of the consecutive failures
	Why   string    // the last failure
}

// liveness checks one run of a program. The goroutine that owns the program owns it.
type liveness struct {
	stop     func() // ends the checks and waits for them
	failures int    // consecutive
	since    time.Time
}

// liveResult is the result of the liveness checks of a run at one time.
type liveResult struct {
	run uint64
	err error // nil: live
}

// beginLiveness starts to check the program, which is RUNNING now.
func (p *owner) beginLiveness(ctx context.Context) {
	l := p.cfg.Live
	if l == nil || p.liveness.stop != nil {
		return
	}
	checks, err := p.liveChecks(l)
	if err != nil {
		p.table.log.Error("cannot check whether it is live", "process", p.Name(), "error", err)
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	run, ended := p.status.Run, make(chan struct{})
	p.liveness = liveness{stop: func() {
		cancel()
		<-ended
	}}
	p.waiters.Go(func() {
		defer close(ended)
		p.checkLiveness(ctx, l, run, checks)
	})
}

// liveChecks returns the checks of the program. Nothing retries them: Poll.Try makes one attempt.
func (p *owner) liveChecks(l *config.Live) (checks []*ready.Poll, err error) {
	if l.TCP != "" {
		checks = append(checks, ready.TCP(l.TCP, 0))
	}
	if l.HTTP != "" {
		check, err := ready.HTTP(l.HTTP, 0, ready.Expect{First: l.FirstStatus, Last: l.LastStatus, Text: l.Text})
		if err != nil {
			return nil, err
		}
		checks = append(checks, check)
	}
	if len(l.Argv) > 0 {
		checks = append(checks, ready.NewPoll("command "+strings.Join(l.Argv, " "), 0, p.checkCommand(l.Argv)))
	}
	return checks, nil
}

// checkLiveness reports the result of the checks to the owner at each interval. After a failure it
// begins the next check early enough that failures of any duration up to the timeout are counted
// once per interval.
func (p *owner) checkLiveness(ctx context.Context, l *config.Live, run uint64, checks []*ready.Poll) {
	at := together(time.Now().Add(l.Grace), l.Interval)
	var firstFailure time.Time
	failures := 0
	for sleep.For(ctx, time.Until(at)) == nil {
		began := time.Now()
		err := tryAll(ctx, checks, l.Timeout)
		if ctx.Err() != nil {
			return
		}
		if err != nil || failures > 0 { // else the owner knows that the program is live
			select {
			case p.liveResults <- liveResult{run: run, err: err}:
			case <-ctx.Done():
				return
			}
		}
		next := at.Add(l.Interval)
		if err == nil {
			failures = 0
		} else {
			if failures++; failures == 1 {
				firstFailure = began
			}
			next = firstFailure.Add(time.Duration(failures)*l.Interval - l.Timeout)
		}
		if now := time.Now(); next.Before(now) {
			next = now
		}
		at = together(next, l.Interval)
	}
}

// epoch is the time from which the checks of all programs are counted.
var epoch = time.Now()

// together returns when a check begins that is due at a time: up to 250 ms later, together with the
// checks of other programs with the same interval. Waking up once for many costs less than for each.
func together(at time.Time, interval time.Duration) time.Time {
	const longest = 250 * time.Millisecond
	step := interval / max(4, (interval+longest-1)/longest)
	late := (at.Sub(epoch) + step - 1) % step
	return at.Add(step - 1 - late)
}

// tryAll makes all checks at the same time, and returns the errors of those that failed.
func tryAll(ctx context.Context, checks []*ready.Poll, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if len(checks) == 1 {
		err := checks[0].Try(ctx)
		if err != nil {
			err = fmt.Errorf("%s: %w", checks[0], err)
		}
		return err
	}
	attempts := make([]ready.Check, len(checks))
	for i, check := range checks {
		attempts[i] = once{check}
	}
	return ready.Await(ctx, attempts)
}

// once is a check that makes one attempt.
type once struct{ *ready.Poll }

func (o once) Wait(ctx context.Context) error { return o.Try(ctx) }

// handleLiveResult counts failures, and acts when there are enough of them.
func (p *owner) handleLiveResult(ctx context.Context, r liveResult) {
	if r.run != p.status.Run || p.machine.process != wire.Running {
		return
	}
	if r.err == nil {
		p.liveness.failures = 0
		if p.status.Failing != nil {
			p.table.log.Info("live again", "process", p.Name())
			p.publish(func(s *Status) { s.Failing = nil })
		}
		return
	}
	p.counters.countLiveFailure()
	if p.liveness.failures++; p.liveness.failures == 1 {
		p.liveness.since = p.table.opts.Now()
	}
	if p.liveness.failures != p.cfg.Live.Failures {
		return
	}
	why := fmt.Sprintf("%d checks failed; the last: %v", p.liveness.failures, r.err)
	p.table.log.Error("not live", "process", p.Name(), "then", string(p.cfg.Live.Then), "why", why)
	p.publish(func(s *Status) { s.Failing = &Failing{Since: p.liveness.since, Why: why} })
	switch p.cfg.Live.Then {
	case config.LiveRestart:
		p.publish(func(s *Status) { s.Unlive = Unlive{Run: s.Run, Why: why} })
		p.stepUnrequested(ctx, event{kind: livenessLost})
	case config.LiveExit:
		p.table.opts.Unlive(p.Program, why)
	case config.LiveReport:
	}
}

// stopLiveness ends the checks.
func (p *owner) stopLiveness() {
	if p.liveness.stop != nil {
		p.liveness.stop()
	}
	p.liveness = liveness{}
	select {
	case <-p.liveResults: // of before
	default:
	}
}
