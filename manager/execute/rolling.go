package execute

import (
	"context"
	"fmt"

	"github.com/toskose/toskose/manager/outcome"
	"github.com/toskose/toskose/unit/wire"
)

// roll follows runs in their order, at most most of them at the same time. After a failure it starts no further
// runs.
func (e *Engine) roll(request, life context.Context, runs []*run, most int) {
	ended := make(chan *run, len(runs)) // nil: the slot was never used
	for range most {
		ended <- nil
	}
	var failed *run
	for _, r := range runs {
		if failed == nil {
			select {
			case before := <-ended:
				if before != nil && !before.succeeded() {
					failed = before
				}
			case <-life.Done():
				return
			}
		}
		if failed != nil {
			e.end(r, wire.Execution{}, &outcome.Error{
				Kind: outcome.ErrNotBegun, Detail: fmt.Sprintf("not begun, because it did not succeed on replica %s", failed.replica.Addr),
			})
			continue
		}
		e.fleet.Go(func(context.Context) {
			e.follow(request, r)
			ended <- r
		})
	}
}

// succeeded reports whether a run has succeeded.
func (r *run) succeeded() bool {
	return r.rec.snapshot().Runs[r.index].Outcome == wire.OutcomeSucceeded
}
