package fleet

import (
	"context"
	"errors"
	"time"

	"github.com/toskose/toskose/manager/unitclient"
)

// Insist retries do until it succeeds, returns a fault, or the patience runs out. If the connection fails and
// nothing was sent before, it gives up at once: the unit has not received the request.
func (f *Fleet) Insist(ctx context.Context, sent bool, do func() error) error {
	var until time.Time
	for delay := f.opts.Backoff; ; delay = min(2*delay, 2*time.Second) {
		err := do()
		again := errors.Is(err, unitclient.ErrUnreachable) || errors.Is(err, unitclient.ErrBadAnswer)
		if !again || !sent && unitclient.NotConnected(err) {
			return err
		}
		if until.IsZero() {
			until = time.Now().Add(f.opts.Patience)
		}
		if ctx.Err() != nil || time.Now().After(until) {
			return err
		}
		sent = true
		sleep(ctx, delay)
	}
}

// Poll calls do, which blocks for at most wait, until it returns false. It pauses after a call that returned
// early, to avoid a busy loop.
func (f *Fleet) Poll(ctx context.Context, do func(wait time.Duration) (again bool, err error)) error {
	for {
		asked := time.Now()
		again, err := do(f.opts.Poll)
		if err != nil || !again {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if time.Since(asked) < f.opts.Poll/2 {
			sleep(ctx, f.opts.Backoff)
		}
	}
}

// Settle waits until reads show an entry, so that clients see the result of their own requests. It does not wait
// for an unresponsive unit.
func (f *Fleet) Settle(ctx context.Context, r Replica, instance string, seq uint64) {
	ctx, cancel := context.WithTimeout(ctx, f.opts.Settle)
	defer cancel()
	_ = f.Await(ctx, r.Node.Name(), r.Addr, instance, seq)
}

// CatchUp waits until reads show everything that the unit has written so far.
func (f *Fleet) CatchUp(ctx context.Context, r Replica) {
	if id, err := r.Unit.Identity(ctx); err == nil {
		f.Settle(ctx, r, id.Instance, id.Seq)
	}
}

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
