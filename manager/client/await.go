package client

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/toskose/toskose/internal/sleep"
)

// Await calls ask until it returns true. It keeps polling a manager that responded once and then stopped
// responding: its container may be being replaced. Any other error is returned. If ctx ends, Await returns its
// error, combined with the last connection error if the manager was unresponsive.
func Await(ctx context.Context, ask func(context.Context) (done bool, err error)) error {
	answered := false
	ended := ctx.Err
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, 250*time.Millisecond) {
		done, err := ask(ctx)
		switch {
		case done && err == nil:
			return nil
		case ctx.Err() != nil:
			return ended()
		case err == nil:
			answered, ended = true, ctx.Err
		case !answered || !passing(err):
			return err
		default:
			ended = func() error { return &silentError{err, ctx.Err()} }
		}
		if sleep.For(ctx, wait) != nil {
			return ended()
		}
	}
}

// silentError is the error of a manager that was unresponsive when a context ended.
type silentError struct {
	error
	ended error
}

func (e *silentError) Unwrap() []error { return []error{e.error, e.ended} }

// passing reports whether an error may be transient.
func passing(err error) bool {
	var p *Problem
	return errors.Is(err, ErrNoAnswer) || errors.As(err, &p) && p.Status == http.StatusServiceUnavailable
}
