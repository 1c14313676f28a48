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

// attemptLimit is how long one attempt may take, so that one that hangs does
// not use up all of the time.
const attemptLimit = 10 * time.Second

// Check is one thing that has to be so before a program is ready.
type Check interface {
	// Wait returns when it is so, or an error that says what is missing when
	// ctx ends, or earlier where it can never be so.
	Wait(ctx context.Context) error
	// Met tells whether it was so, without waiting.
	Met() bool
	// String names it in a message: "tcp 127.0.0.1:80".
	String() string
}

// Await waits until all checks are met; its error names every one that was
// not, in order, and why. A check that can never be met ends the wait.
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

// Met tells whether all checks are.
func Met(checks []Check) bool {
	for _, c := range checks {
		if !c.Met() {
			return false
		}
	}
	return true
}

// Poll is a check that asks until the answer is yes.
type Poll struct {
	name     string
	interval time.Duration
	try      func(ctx context.Context) error
	met      atomic.Bool
}

// NewPoll makes a check of an attempt that is made at once and then again
// interval after each end of it. One attempt may take 10 seconds.
func NewPoll(name string, interval time.Duration, try func(ctx context.Context) error) *Poll {
	return &Poll{name: name, interval: interval, try: try}
}

// Wait makes attempts until one succeeds. Its error is that of the last one.
func (p *Poll) Wait(ctx context.Context) error {
	var last error
	for ctx.Err() == nil {
		err := p.attempt(ctx)
		if err == nil {
			p.met.Store(true)
			return nil
		}
		if last == nil || !over(ctx) {
			last = err // one that was cut off says less than those before
		}
		timer := time.NewTimer(p.interval)
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
	if last == nil {
		last = errors.New("there was no time to ask")
	}
	return last
}

// over tells whether ctx has ended, or is about to: what it cuts off may see
// its deadline pass earlier than it does.
func over(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && !time.Now().Before(deadline)
}

func (p *Poll) attempt(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, attemptLimit)
	defer cancel()
	return p.try(ctx)
}

// Met tells whether an attempt has succeeded.
func (p *Poll) Met() bool { return p.met.Load() }

func (p *Poll) String() string { return p.name }
