package client

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"

	"github.com/toskose/toskose/unit/wire"
)

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
	if r.ID == "" && c.patient() { // it may have to be sent again to the next manager
		r.ID = rand.Text()
	}
	var x Execution
	_, err = c.do(ctx, request{
		method: http.MethodPost, path: path, query: query, header: map[string]string{"Prefer": "respond-async"}, repeatable: r.ID != "", body: r,
	}, &x)
	var p *Problem
	if errors.As(err, &p) && p.Execution != "" { // a replica refused it or failed immediately
		return c.follow(ctx, Execution{ID: p.Execution, Outcome: wire.OutcomeRunning}, tell)
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
			return x.Outcome != wire.OutcomeRunning, nil
		}
		var now Execution
		if _, err := c.do(ctx, request{method: http.MethodGet, path: "/api/v1/executions/" + url.PathEscape(x.ID)}, &now); err != nil {
			return false, err
		}
		x = now
		tell(x)
		return x.Outcome != wire.OutcomeRunning, nil
	})
	return x, err
}
