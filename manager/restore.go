package manager

import (
	"cmp"
	"context"
	"time"

	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/keep"
	"github.com/toskose/toskose/manager/rest"
)

// RestoreGoal sets a goal that a manager of this application showed before, unless a newer one is known. The goal
// is attributed to the caller, and the manager assigns a new revision. The view shows the current goal.
func (g *Goals) RestoreGoal(ctx context.Context, was rest.SavedGoal, by string) (view rest.Goal, kept bool, err error) {
	if was.Revision.ID == "" {
		return view, false, &rest.Error{Kind: rest.ErrInvalid, Detail: "a goal is restored with the revision that it had"}
	}
	d := goal.Document{
		Revision: was.Revision, Asked: cmp.Or(was.Asked, was.Revision), By: by, At: earlier(was.At, g.now()), All: was.State, States: was.States, Holds: was.Holds, Tasks: was.Tasks,
	}
	return g.spread(ctx, func(ctx context.Context) (keep.Status, error) { return g.keeper.Restore(ctx, d) })
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
