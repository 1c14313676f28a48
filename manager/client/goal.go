package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Goal returns the goal and how far it is.
func (c *Client) Goal(ctx context.Context) (Goal, error) {
	var g Goal
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/api/v1/app/goal"}, &g)
	return g, err
}

// SetGoal replaces the goal: by a state of all components, and by states by name.
// kept is false where not more than half of the replicas keep it yet.
func (c *Client) SetGoal(ctx context.Context, state string, states map[string]string) (g Goal, kept bool, err error) {
	accepted, err := c.do(ctx, request{method: http.MethodPut, path: "/api/v1/app/goal", body: asked{state, states}}, &g)
	return g, !accepted, err
}

// AddToGoal asks for states by name beside what was asked for before.
func (c *Client) AddToGoal(ctx context.Context, states map[string]string) (g Goal, kept bool, err error) {
	accepted, err := c.do(ctx, request{method: http.MethodPatch, path: "/api/v1/app/goal", body: asked{States: states}}, &g)
	return g, !accepted, err
}

// ResumeGoal lets the goal have components again that it leaves alone: those
// given, or all.
func (c *Client) ResumeGoal(ctx context.Context, components []string) (g Goal, kept bool, err error) {
	accepted, err := c.do(ctx, request{method: http.MethodPost, path: "/api/v1/app/goal/resume", body: map[string]any{"components": components}}, &g)
	return g, !accepted, err
}

// RestoreGoal makes a goal the one that holds that a manager of the application has
// shown before, unless a newer one is known; it returns the one that holds.
func (c *Client) RestoreGoal(ctx context.Context, g Goal) (holds Goal, kept bool, err error) {
	accepted, err := c.do(ctx, request{method: http.MethodPost, path: "/api/v1/app/goal/restore", body: struct {
		asked
		Revision string            `json:"revision"`
		Asked    string            `json:"asked,omitempty"`
		By       string            `json:"by,omitempty"`
		At       time.Time         `json:"at,omitzero"`
		Holds    map[string]Hold   `json:"holds,omitempty"`
		Tasks    map[string]Record `json:"tasks,omitempty"`
	}{asked{g.State, g.States}, g.Revision, g.Asked, g.By, g.At, g.Holds, g.Tasks}}, &holds)
	return holds, !accepted, err
}

// RunTask makes the end of a task part of the goal: what failed is tried once more, and again
// has all of it run once more.
func (c *Client) RunTask(ctx context.Context, task string, again bool) (g Goal, kept bool, err error) {
	path, err := url.JoinPath("/api/v1/app/tasks", url.PathEscape(task), "run")
	if err != nil {
		return g, false, err
	}
	accepted, err := c.do(ctx, request{method: http.MethodPost, path: path, body: map[string]bool{"again": again}}, &g)
	return g, !accepted, err
}

type asked struct {
	State  string            `json:"state,omitempty"`
	States map[string]string `json:"states,omitempty"`
}

// AwaitGoal asks until the goal is reached, and tells each time how far it is. If
// ctx ends before, it returns the goal as it was last, and the context's error.
func (c *Client) AwaitGoal(ctx context.Context, tell func(Goal)) (last Goal, err error) {
	err = Await(ctx, func(ctx context.Context) (bool, error) {
		g, err := c.Goal(ctx)
		if err != nil {
			return false, err
		}
		last = g
		tell(g)
		return g.Done && g.Acting, nil
	})
	return last, err
}
