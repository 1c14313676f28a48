package client

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"time"
)

// RunRequest is a request to run an operation.
type RunRequest struct {
	Node, Component string
	Operation       string            // "interface.operation", or the bare name where it is unique
	Replica         string            // address or instance; empty: all
	Inputs          map[string]string // override declared inputs
	Timeout         time.Duration     // 0: the operation's own limit, or none
	Force           bool              // even with unmet requirements
	Strict          bool              // not if it withdraws capabilities that others require
	ID              string            // of the execution; empty: the manager's choice
}

// Run starts an execution, polls until it has ended on every replica, and returns it; its outcome says whether it
// succeeded. Run calls tell after every poll. If the execution was not started, the error is a *Problem. If ctx
// ends, the execution continues, and Run returns its last known state with the context's error.
func (c *Client) Run(ctx context.Context, r RunRequest, tell func(Execution)) (Execution, error) {
	path, err := url.JoinPath("/api/v1/node", url.PathEscape(r.Node), url.PathEscape(r.Component), url.PathEscape(r.Operation))
	if err != nil {
		return Execution{}, err
	}
	query := url.Values{}
	if r.Replica != "" {
		query.Set("replica", r.Replica)
	}
	for name, set := range map[string]bool{"force": r.Force, "strict": r.Strict} {
		if set {
			query.Set(name, "true")
		}
	}
	id := r.ID
	if id == "" && c.patient() { // it may have to be sent again to the next manager
		id = rand.Text()
	}
	var x Execution
	_, err = c.do(ctx, request{
		method: http.MethodPost, path: path, query: query, header: map[string]string{"Prefer": "respond-async"}, repeatable: id != "",
		body: struct {
			ID      string            `json:"id,omitempty"`
			Inputs  map[string]string `json:"inputs,omitempty"`
			Timeout float64           `json:"timeout,omitempty"`
		}{id, r.Inputs, r.Timeout.Seconds()},
	}, &x)
	var p *Problem
	if errors.As(err, &p) && p.Execution != "" { // a replica refused it or failed immediately
		return c.follow(ctx, Execution{ID: p.Execution, Outcome: OutcomeRunning}, tell)
	}
	if err != nil {
		return x, err
	}
	tell(x)
	return c.follow(ctx, x, tell)
}

// follow polls an execution until it has ended. It tolerates a manager whose container is being replaced: the
// units know the execution.
func (c *Client) follow(ctx context.Context, x Execution, tell func(Execution)) (Execution, error) {
	begun := false
	err := Await(ctx, func(ctx context.Context) (bool, error) {
		if !begun { // the manager has just returned the current state
			begun = true
			return x.Outcome != OutcomeRunning, nil
		}
		var now Execution
		if _, err := c.do(ctx, request{method: http.MethodGet, path: "/api/v1/executions/" + url.PathEscape(x.ID)}, &now); err != nil {
			return false, err
		}
		x = now
		tell(x)
		return x.Outcome != OutcomeRunning, nil
	})
	return x, err
}
