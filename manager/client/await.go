package client

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// Await asks again and again, until the answer is true. A manager that answered
// once and does not any more is asked on: it may be on its way from one container
// to another. Any other error ends it, and so does ctx, with its own.
func Await(ctx context.Context, ask func(context.Context) (done bool, err error)) error {
	answered := false
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, 250*time.Millisecond) {
		done, err := ask(ctx)
		switch {
		case done && err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			answered = true
		case !answered || !passing(err):
			return err
		}
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
}

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
