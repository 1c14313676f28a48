package client

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/toskose/toskose/manager/rest"
)

// Goal returns the goal and its progress.
func (c *Client) Goal(ctx context.Context) (Goal, error) {
	var g Goal
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/api/v1/app/goal"}, &g)
	return g, err
}

// SetGoal replaces the goal: a state for all components, and states by name. kept is false if a majority of the
// replicas does not store the goal yet.
func (c *Client) SetGoal(ctx context.Context, state string, states map[string]string) (g Goal, kept bool, err error) {
	accepted, err := c.do(ctx, request{method: http.MethodPut, path: "/api/v1/app/goal", body: rest.GoalRequest{State: state, States: states}}, &g)
	return g, !accepted, err
}

// AddToGoal adds states by name to the goal.
func (c *Client) AddToGoal(ctx context.Context, states map[string]string) (g Goal, kept bool, err error) {
	accepted, err := c.do(ctx, request{method: http.MethodPatch, path: "/api/v1/app/goal", body: rest.GoalRequest{States: states}}, &g)
	return g, !accepted, err
}

// ResumeGoal resumes reconciling components that are on hold: the given ones, or all.
func (c *Client) ResumeGoal(ctx context.Context, components []string) (g Goal, kept bool, err error) {
	accepted, err := c.do(ctx, request{method: http.MethodPost, path: "/api/v1/app/goal/resume", body: map[string]any{"components": components}}, &g)
	return g, !accepted, err
}

// RestoreGoal sets a goal that a manager of this application returned earlier, unless a newer one is known. It
// returns the goal in effect.
func (c *Client) RestoreGoal(ctx context.Context, g Goal) (current Goal, kept bool, err error) {
	saved, err := g.Saved()
	if err != nil {
		return g, false, err
	}
	accepted, err := c.do(ctx, request{method: http.MethodPost, path: "/api/v1/app/goal/restore", body: saved}, &current)
	return current, !accepted, err
}

// RunTask makes the completion of a task part of the goal. Failed parts are retried once; with again, all parts
// run once more.
func (c *Client) RunTask(ctx context.Context, task string, again bool) (g Goal, kept bool, err error) {
	path, err := url.JoinPath("/api/v1/app/tasks", url.PathEscape(task), "run")
	if err != nil {
		return g, false, err
	}
	accepted, err := c.do(ctx, request{method: http.MethodPost, path: path, body: map[string]bool{"again": again}}, &g)
	return g, !accepted, err
}

// AwaitGoal polls until the goal is reached, and calls tell each time with its progress. If nothing is tried again without a
// person, it returns ErrStuck; if ctx ends first, the context's error; both with the last known goal.
func (c *Client) AwaitGoal(ctx context.Context, tell func(Goal)) (last Goal, err error) {
	err = Await(ctx, func(ctx context.Context) (bool, error) {
		g, err := c.Goal(ctx)
		if err != nil {
			return false, err
		}
		last = g
		tell(g)
		if g.Stuck && g.Acting {
			return false, ErrStuck
		}
		return g.Done && g.Acting, nil
	})
	return last, err
}

// ErrStuck is the error of a goal that is not reached, and for which nothing is tried again.
var ErrStuck = errors.New("nothing is tried again")
