package manager

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/toskose/toskose/manager/fleet"
	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/keep"
	"github.com/toskose/toskose/manager/mirror"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/manager/view"
)

// Goals sets the goal and reports its progress.
type Goals struct {
	model    *goal.Model
	fleet    *fleet.Fleet
	rules    *view.Rules
	keeper   *keep.Keeper
	now      func() time.Time // the clock for decisions
	standard string           // the default goal
}

// Goal returns the state of the goal. Before it reports that the goal is reached, it waits up to two seconds until
// all units have confirmed their states.
func (g *Goals) Goal() rest.Goal {
	const tries, pause = 3, time.Second
	for try := 1; ; try++ {
		changed := g.keeper.Changed()
		s := g.keeper.Status()
		view := goalView(s)
		if !view.Done {
			return view
		}
		unverified := g.fleet.Verify(g.fleet.Life())
		select {
		case <-s.Superseded:
		default:
			subtractUnverified(&view, unverified, s.Decision.Targets)
			return view
		}
		if try == tries {
			view.Done, view.Unconfirmed = false, true
			view.Obstacles = append(slices.Clone(view.Obstacles), goal.Obstacle{Reason: "the units have just reported changes", Waits: true})
			return view
		}
		select {
		case <-changed:
		case <-time.After(pause):
		case <-g.fleet.Life().Done():
		}
	}
}

// subtractUnverified counts components as not reached whose replicas could not be verified.
func subtractUnverified(v *rest.Goal, unverified []mirror.Unverified, targets map[string]string) {
	v.Obstacles = slices.Clone(v.Obstacles)
	for _, u := range unverified {
		before := v.Reached
		for _, c := range u.Replica.Components {
			if target := targets[c.Component]; target != "" && c.State == target {
				v.Reached--
			}
		}
		if v.Reached < before {
			v.Done, v.Unconfirmed = false, true
			v.Obstacles = append(v.Obstacles, goal.Obstacle{Node: u.Replica.Node, Instance: u.Replica.Instance, Reason: u.Why})
		}
	}
}

// GoalChanged returns a channel that is closed when Goal may return something else.
func (g *Goals) GoalChanged() <-chan struct{} { return g.keeper.Changed() }

func goalView(s keep.Status) rest.Goal {
	v := rest.Goal{
		Default: s.Default, Acting: s.Acting, Lacking: s.Lacking, Underway: s.Underway,
		Done:    s.Known && s.Decision.Done() && len(s.Underway) == 0,
		Reached: s.Decision.Reached, Wanted: s.Decision.Wanted, Ahead: s.Decision.Ahead(s.Underway), Obstacles: s.Decision.Obstacles, Notes: s.Decision.Notes,
		Settling: s.Decision.Settling, Stuck: s.Known && s.Acting && s.Decision.Stuck && len(s.Underway) == 0,
	}
	for _, r := range s.Rejected {
		v.Rejected = append(v.Rejected, rest.RejectedGoal{Node: r.Node, Replica: r.Replica, Revision: r.Revision.String(), Why: r.Why})
	}
	if d := s.Document; d != nil {
		v.Stuck = v.Stuck && s.Decision.Asked == d.Asked // it may have been set since the decision
		v.State, v.States, v.By, v.At = d.All, d.States, d.By, d.At
		v.Revision, v.Asked = d.Revision.String(), d.Asked.String()
		v.Holds, v.Resumed, v.Tasks = d.Holds, d.Resumed, d.Tasks
	}
	return v
}

// spreadTime is how long a request waits until a majority of the replicas stores a goal.
const spreadTime = 5 * time.Second

// SetGoal sets the goal. Names that the application does not have are listed in the view's notes: a manager of
// another version may know them. kept is false if a majority of the replicas does not store the goal yet; the view
// lists the missing ones.
func (g *Goals) SetGoal(ctx context.Context, req rest.GoalRequest) (view rest.Goal, kept bool, err error) {
	if req.State == "" && len(req.States) == 0 {
		return view, false, &rest.Error{Kind: rest.ErrInvalid, Detail: `a goal is a state of all components, as in {"state": "up"}, or states by name, as in {"states": {"api": "running"}}`}
	}
	return g.spread(ctx, func(ctx context.Context) (keep.Status, error) {
		return g.keeper.Set(ctx, keep.Ask{All: req.State, States: req.States, Merge: req.Merge, By: req.By}, g.now())
	})
}

// ResumeGoal removes the holds of the given components, or all.
func (g *Goals) ResumeGoal(ctx context.Context, components []string, by string) (view rest.Goal, kept bool, err error) {
	return g.spread(ctx, func(ctx context.Context) (keep.Status, error) {
		return g.keeper.Resume(ctx, components, by, g.now())
	})
}

func (g *Goals) spread(ctx context.Context, change func(context.Context) (keep.Status, error)) (view rest.Goal, kept bool, err error) {
	ctx, cancel := g.fleet.Detached(ctx)
	defer cancel()
	ctx, stop := context.WithTimeout(ctx, spreadTime)
	defer stop()
	s, err := change(ctx)
	switch {
	case errors.Is(err, keep.ErrNoEvidence):
		return view, false, &rest.Error{Kind: rest.ErrUnreachable, Detail: err.Error(), Cause: err}
	case errors.Is(err, keep.ErrNotHeld), errors.Is(err, keep.ErrTooLarge):
		return view, false, &rest.Error{Kind: rest.ErrInvalid, Detail: err.Error(), Cause: err}
	case errors.Is(err, keep.ErrNotKept):
		return goalView(s), false, nil
	}
	return goalView(s), true, nil
}

// Plan returns the plan for a goal without setting it, or, if the request is empty, for the current goal.
func (g *Goals) Plan(ctx context.Context, req rest.GoalRequest) rest.Plan {
	document := &goal.Document{All: req.State, States: req.States}
	if status := g.keeper.Status(); req.State == "" && len(req.States) == 0 {
		document = status.Document
		if document == nil {
			document = &goal.Document{All: g.standard}
		}
	}
	d := g.model.Decide(ctx, document, g.rules.At(g.fleet.Snapshot()).Situation())
	return rest.Plan{Plan: d.Plan, Targets: d.Targets, Obstacles: d.Obstacles, Notes: d.Notes, Unknown: d.Unknown}
}
