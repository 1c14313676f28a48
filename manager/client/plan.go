package client

import (
	"context"
	"net/http"

	"github.com/toskose/toskose/manager/rest"
)

// Plan returns the plan for a goal without setting it: a state for all components, and states by name. Without
// either, it returns the plan for the current goal.
func (c *Client) Plan(ctx context.Context, state string, states map[string]string) (Plan, error) {
	var p Plan
	_, err := c.do(ctx, request{method: http.MethodPost, path: "/api/v1/app/plan", body: rest.GoalRequest{State: state, States: states}}, &p)
	return p, err
}
