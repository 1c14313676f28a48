package fleet

import (
	"context"
	"errors"
	"time"

	"github.com/toskose/toskose/internal/sleep"
	"github.com/toskose/toskose/manager/unitclient"
)

// retry calls do until it succeeds, returns a fault, or the unit has been unresponsive for Options.Patience. If the
// first connection fails and nothing was sent before, it gives up at once: the unit has not received the request.
func (f *Fleet) retry(ctx context.Context, sent bool, do func() error) error {
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
		_ = sleep.For(ctx, delay) // do returns the context's error
	}
}

// poll calls do, which blocks for at most wait, until it returns false. It pauses after a call that returned
// early, to avoid a busy loop.
func (f *Fleet) poll(ctx context.Context, do func(wait time.Duration) (again bool, err error)) error {
	for {
		began := time.Now()
		again, err := do(f.opts.Poll)
		if err != nil || !again {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if time.Since(began) < f.opts.Poll/2 {
			_ = sleep.For(ctx, f.opts.Backoff)
		}
	}
}

// settle waits until reads show an entry, so that clients see the result of their own requests. It does not wait
// for an unresponsive unit.
func (f *Fleet) settle(ctx context.Context, r Replica, instance string, seq uint64) {
	ctx, cancel := context.WithTimeout(ctx, f.opts.Settle)
	defer cancel()
	_ = f.Await(ctx, r.Node.Name(), r.Addr, instance, seq)
}

// CatchUp waits until reads show everything that the unit has written so far.
func (f *Fleet) CatchUp(ctx context.Context, r Replica) {
	if id, err := r.Unit.Identity(ctx); err == nil {
		f.settle(ctx, r, id.Instance, id.Seq)
	}
}
