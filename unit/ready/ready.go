package ready

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// attemptLimit bounds one attempt, so that a hanging one does not use up all the time.
const attemptLimit = 10 * time.Second

// Check is one condition of a program's readiness.
type Check interface {
	// Wait returns nil when the condition is met, and an error with the reason when ctx is done or
	// the condition can no longer be met.
	Wait(ctx context.Context) error
	// Met reports whether the condition has been met, without waiting.
	Met() bool
	// String returns the name for messages: "tcp 127.0.0.1:80".
	String() string
}

// Await blocks until all checks are met. Its error lists every unmet check, in order, and why. A
// check that can no longer be met ends the wait.
func Await(ctx context.Context, checks []Check) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	problems := make([]error, len(checks))
	var waiting sync.WaitGroup
	for i, c := range checks {
		waiting.Go(func() {
			if problems[i] = c.Wait(ctx); problems[i] != nil {
				cancel()
			}
		})
	}
	waiting.Wait()
	var missing []string
	for i, err := range problems {
		if err != nil {
			missing = append(missing, fmt.Sprintf("%s: %v", checks[i], err))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return errors.New(strings.Join(missing, "; "))
}

// Met reports whether all checks have been met.
func Met(checks []Check) bool {
	for _, c := range checks {
		if !c.Met() {
			return false
		}
	}
	return true
}

// Poll is a check that retries until it succeeds.
type Poll struct {
	name     string
	interval time.Duration
	try      func(ctx context.Context) error
	met      atomic.Bool
}

// NewPoll returns a check that calls try at once, and again interval after each attempt has ended.
// One attempt may take 10 seconds.
func NewPoll(name string, interval time.Duration, try func(ctx context.Context) error) *Poll {
	return &Poll{name: name, interval: interval, try: try}
}

// Wait retries until an attempt succeeds. It returns the error of the last attempt.
func (p *Poll) Wait(ctx context.Context) error {
	var last error
	for ctx.Err() == nil {
		err := p.attempt(ctx)
		if err == nil {
			p.met.Store(true)
			return nil
		}
		if last == nil || !isDone(ctx) {
			last = err // the error of an interrupted attempt says less than that of an earlier one
		}
		timer := time.NewTimer(p.interval)
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
	if last == nil {
		last = errors.New("there was no time to try")
	}
	return last
}

// isDone reports whether ctx is done or about to be: an operation that ctx interrupts may see the
// deadline pass a moment earlier.
func isDone(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && !time.Now().Before(deadline)
}

func (p *Poll) attempt(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, attemptLimit)
	defer cancel()
	return p.try(ctx)
}

// Try makes one attempt, which ends with ctx.
func (p *Poll) Try(ctx context.Context) error { return p.try(ctx) }

// Met reports whether an attempt has succeeded.
func (p *Poll) Met() bool { return p.met.Load() }

func (p *Poll) String() string { return p.name }
