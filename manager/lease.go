package manager

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/keep"
	"github.com/toskose/toskose/manager/rest"
)

// Lease acquires or renews a lease. Without a goal it has no effect.
func (g *Goals) Lease(ctx context.Context, req rest.LeaseRequest) (rest.Lease, error) {
	if len(req.Components) == 0 {
		req.Components = slices.Sorted(maps.Keys(g.model.Node))
	}
	l := rest.Lease{ID: req.ID, Components: req.Components, Seconds: req.Seconds, Goal: true}
	for _, name := range req.Components {
		if g.model.Node[name] == "" {
			return l, &rest.Error{Kind: rest.ErrInvalid, Detail: fmt.Sprintf("the application has no component %q", name)}
		}
	}
	err := g.revise(ctx, func(ctx context.Context) (err error) {
		l.Renewed, err = g.keeper.Lease(ctx, req.ID, goal.Lease{By: req.By, Components: req.Components, Seconds: l.Seconds}, g.now())
		return err
	})
	if errors.Is(err, keep.ErrNoGoal) {
		l.Goal = false
		return l, nil
	}
	return l, err
}

// EndLease releases a lease, so that its components are reconciled again. It returns no error if the lease does
// not exist.
func (g *Goals) EndLease(ctx context.Context, id string) error {
	err := g.revise(ctx, func(ctx context.Context) error { return g.keeper.EndLease(ctx, id, g.now()) })
	if errors.Is(err, keep.ErrNoGoal) {
		return nil
	}
	return err
}

func (g *Goals) revise(ctx context.Context, change func(context.Context) error) error {
	ctx, cancel := g.fleet.Detached(ctx)
	defer cancel()
	ctx, stop := context.WithTimeout(ctx, spreadTime)
	defer stop()
	err := change(ctx)
	switch {
	case errors.Is(err, keep.ErrNoEvidence):
		return &rest.Error{Kind: rest.ErrUnreachable, Detail: err.Error(), Cause: err}
	case errors.Is(err, keep.ErrLeases), errors.Is(err, keep.ErrTooLarge):
		return &rest.Error{Kind: rest.ErrInvalid, Detail: err.Error(), Cause: err}
	case errors.Is(err, keep.ErrNotKept): // the rest of the replicas gets it later
		return nil
	}
	return err
}
