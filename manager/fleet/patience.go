package fleet

import (
	"context"
	"errors"
	"time"

	"github.com/toskose/toskose/manager/unitclient"
)

// Insist calls do until it succeeds or returns a fault, for as long as patience
// lasts. Unless something was sent before, it gives up at once if there is no
// connection: the unit has not received the request.
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

// Poll calls do, which waits for at most as long as it is told, and pauses if it
// did not wait: who asks again at once would spin.
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

// Settle waits until reads show an entry, so that who was answered sees what he was
// told. It does not wait for a unit that is not heard.
func (f *Fleet) Settle(ctx context.Context, r Replica, instance string, seq uint64) {
	ctx, cancel := context.WithTimeout(ctx, f.opts.Settle)
	defer cancel()
	_ = f.Await(ctx, r.Node.Name(), r.Addr, instance, seq)
}

// CatchUp waits until reads show all that the unit has written by now.
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
