package image

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// inTurns does all of work concurrently, at most atOnce at a time. Of work that is alike, it
// starts one alone and the rest when that calls passed.
func inTurns[T any](ctx context.Context, work []T, alike func(T) string, do func(ctx context.Context, w T, passed func()) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	beginnings := map[string]chan struct{}{}
	var later []T
	for _, w := range work {
		key := alike(w)
		if beginnings[key] != nil {
			later = append(later, w)
			continue
		}
		beginning, open := make(chan struct{}), true
		beginnings[key] = beginning
		passed := func() {
			if open {
				open = false
				close(beginning)
			}
		}
		group.Go(func() error {
			err := do(ctx, w, passed)
			if err == nil {
				passed()
			}
			return err // which cancels the waiting ones
		})
	}
	for _, w := range later { // all that they wait for is running
		beginning := beginnings[alike(w)]
		group.Go(func() error {
			select {
			case <-beginning:
				return do(ctx, w, func() {})
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}
	return group.Wait()
}
