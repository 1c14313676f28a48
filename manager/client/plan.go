package client

import (
	"context"
	"net/http"
)

// Plan returns the way from now to a goal that is not set: a state of all
// components, and states by name. Without either it is that to the goal that is.
func (c *Client) Plan(ctx context.Context, state string, states map[string]string) (Plan, error) {
	var p Plan
	_, err := c.do(ctx, request{method: http.MethodPost, path: "/api/v1/app/plan", body: asked{state, states}}, &p)
	return p, err
}
