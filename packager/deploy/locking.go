package deploy

import (
	"context"
	"errors"
	"fmt"

	"github.com/toskose/toskose/packager/lock"
)

// lock acquires the application's lock, unless the calling command holds it, and reports through say while it waits. The returned
// context is canceled when the lock is lost. If first is set, the application may not exist yet.
func (d *deployer) lock(ctx context.Context, first bool, say func(line string)) (context.Context, func(), error) {
	if d.held = d.opts.held; d.held != nil {
		return ctx, func() {}, nil
	}
	held, err := lock.Acquire(ctx, d.location.Lock(first), lock.Options{
		App: d.Info.App, Owner: d.opts.By, Command: d.opts.Command, Intent: d.opts.kind, Steal: d.opts.StealLock, Say: say,
	})
	switch {
	case errors.Is(err, lock.ErrNoNamespace) && !first: // without a namespace there is nothing to change
		return ctx, func() {}, nil
	case err != nil:
		return nil, nil, err
	}
	d.held = held
	locked, cancel := held.While(ctx)
	return locked, func() {
		held.Release(ctx)
		cancel()
	}, nil
}

// sayLine prints a progress line.
func (d *deployer) sayLine(line string) { d.Say("%s", line) }

// whileLocked returns a context that is canceled only when the lock is lost.
func (d *deployer) whileLocked(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx = context.WithoutCancel(ctx)
	if d.held == nil {
		return ctx, func() {}
	}
	return d.held.While(ctx)
}

// lost returns the reason why the lock was lost, or nil while it is held.
func (d *deployer) lost() error {
	if d.held == nil || d.held.Err() == nil {
		return nil
	}
	return fmt.Errorf("%w: nothing more was changed", d.held.Err())
}
