// Package client is a client of a manager's REST API. It imports the standard
// library only, so that others can use it.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Client asks one manager. Its methods are safe for concurrent use.
type Client struct {
	address        string
	user, password string
	http           *http.Client
}

// New returns a client of the manager at an address such as http://localhost:10000.
func New(address, user, password string) *Client {
	return &Client{strings.TrimRight(address, "/"), user, password, &http.Client{Timeout: time.Minute}}
}

// Problem is an answer other than success (RFC 9457).
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
}

func (p *Problem) Error() string {
	if p.Detail != "" {
		return p.Detail
	}
	return fmt.Sprintf("%d %s", p.Status, p.Title)
}

// maxAnswer bounds an answer.
const maxAnswer = 64 << 20

// do sends a request; what is returned is whether it was accepted only (202).
func (c *Client) do(ctx context.Context, method, path string, body, into any) (accepted bool, err error) {
	var text []byte
	if body != nil {
		if text, err = json.Marshal(body); err != nil {
			return false, fmt.Errorf("cannot send %s %s: %w", method, path, err)
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, c.address+path, bytes.NewReader(text))
	if err != nil {
		return false, fmt.Errorf("the manager's address %q: %w", c.address, err)
	}
	req.SetBasicAuth(c.user, c.password)
	answer, err := c.http.Do(req)
	if err != nil {
		return false, fmt.Errorf("the manager does not answer: %w", err)
	}
	defer answer.Body.Close()
	text, err = io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return false, fmt.Errorf("the manager's answer broke off: %w", err)
	}
	if answer.StatusCode >= http.StatusBadRequest {
		p := &Problem{Status: answer.StatusCode, Title: http.StatusText(answer.StatusCode)}
		_ = json.Unmarshal(text, p) // otherwise the status says it
		return false, p
	}
	if err := json.Unmarshal(text, into); err != nil {
		return false, fmt.Errorf("what answers at %s is no manager: %w", c.address, err)
	}
	return answer.StatusCode == http.StatusAccepted, nil
}

// App returns the state of the application.
func (c *Client) App(ctx context.Context) (App, error) {
	var app App
	_, err := c.do(ctx, http.MethodGet, "/api/v1/app", nil, &app)
	return app, err
}

// Goal returns the goal and how far it is.
func (c *Client) Goal(ctx context.Context) (Goal, error) {
	var g Goal
	_, err := c.do(ctx, http.MethodGet, "/api/v1/app/goal", nil, &g)
	return g, err
}

// SetGoal replaces the goal: by a state of all components, and by states by name.
// kept is false where not more than half of the replicas keep it yet.
func (c *Client) SetGoal(ctx context.Context, state string, states map[string]string) (g Goal, kept bool, err error) {
	accepted, err := c.do(ctx, http.MethodPut, "/api/v1/app/goal", asked{state, states}, &g)
	return g, !accepted, err
}

// AddToGoal asks for states by name beside what was asked for before.
func (c *Client) AddToGoal(ctx context.Context, states map[string]string) (g Goal, kept bool, err error) {
	accepted, err := c.do(ctx, http.MethodPatch, "/api/v1/app/goal", asked{States: states}, &g)
	return g, !accepted, err
}

// ResumeGoal lets the goal have components again that it leaves alone: those
// given, or all.
func (c *Client) ResumeGoal(ctx context.Context, components []string) (g Goal, kept bool, err error) {
	accepted, err := c.do(ctx, http.MethodPost, "/api/v1/app/goal/resume", map[string]any{"components": components}, &g)
	return g, !accepted, err
}

type asked struct {
	State  string            `json:"state,omitempty"`
	States map[string]string `json:"states,omitempty"`
}

// AwaitGoal asks until the goal is reached, and tells each time how far it is. If
// ctx ends before, it returns the goal as it was last, and the context's error.
func (c *Client) AwaitGoal(ctx context.Context, tell func(Goal)) (Goal, error) {
	const again = 250 * time.Millisecond
	var last Goal
	for {
		g, err := c.Goal(ctx)
		if err != nil && ctx.Err() == nil {
			return last, err
		}
		if err == nil {
			last = g
			tell(g)
			if g.Done && g.Acting {
				return g, nil
			}
		}
		select {
		case <-ctx.Done():
			return last, ctx.Err()
		case <-time.After(again):
		}
	}
}
