package client

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// Await asks again and again, until the answer is true. A manager that answered
// once and does not any more is asked on: it may be on its way from one container
// to another. Any other error ends it, and so does ctx, with its own, or with that of
// a manager that did not answer at the end, which is ctx's, too.
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
		if sleep(ctx, wait) != nil {
			return ended()
		}
	}
}

// silentError is the error of a manager that did not answer until a context ended.
type silentError struct {
	error
	ended error
}

func (e *silentError) Unwrap() []error { return []error{e.error, e.ended} }

// passing reports whether the answer may be another one soon.
func passing(err error) bool {
	var p *Problem
	return errors.Is(err, ErrNoAnswer) || errors.As(err, &p) && p.Status == http.StatusServiceUnavailable
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
