package unitclient

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/toskose/toskose/unit/wire"
)

// Identity returns the unit's identity.
func (c *Client) Identity(ctx context.Context) (wire.Identity, error) {
	var id wire.Identity
	err := c.get(ctx, "/instance", &id, func() bool { return id.Instance != "" })
	return id, err
}

// Components returns the state of all components and, if processes is set, their processes.
func (c *Client) Components(ctx context.Context, processes bool) (wire.Snapshot, error) {
	var s wire.Snapshot
	err := c.get(ctx, "/components?processes="+strconv.FormatBool(processes), &s, func() bool { return s.Instance != "" })
	for i := range s.Components {
		c.rename(&s.Components[i].Name)
	}
	return s, err
}

func (c *Client) get(ctx context.Context, path string, value any, valid func() bool) error {
	return c.ask(ctx, c.pool.limits.Call, request{method: http.MethodGet, path: path}, decodeJSON(value, valid))
}

// Execute starts an operation and returns the execution in its initial state. It is idempotent: the same id is the
// same execution.
func (c *Client) Execute(ctx context.Context, r wire.ExecuteRequest) (wire.Execution, error) {
	r.Component = c.inUnit(r.Component)
	body, err := json.Marshal(r)
	if err != nil {
		return wire.Execution{}, err
	}
	return c.execution(ctx, c.pool.limits.Call, request{
		method: http.MethodPost, path: "/executions", kind: "application/json", body: body,
	})
}

// Execution returns an execution once it has ended or the wait is over; fault
// NoExecution.
func (c *Client) Execution(ctx context.Context, id string, wait time.Duration) (wire.Execution, error) {
	return c.execution(ctx, wait+c.pool.limits.Call, request{
		method: http.MethodGet, path: "/executions/" + url.PathEscape(id) + "?wait=" + wait.String(),
	})
}

// Cancel ends an execution and all its processes, and returns its final state.
func (c *Client) Cancel(ctx context.Context, id string) (wire.Execution, error) {
	return c.execution(ctx, c.pool.limits.Stop, request{method: http.MethodDelete, path: "/executions/" + url.PathEscape(id)})
}

func (c *Client) execution(ctx context.Context, limit time.Duration, r request) (wire.Execution, error) {
	var x wire.Execution
	err := c.ask(ctx, limit, r, decodeJSON(&x, func() bool { return x.ID != "" && known(x.Outcome) }))
	c.rename(&x.Component)
	return x, err
}

func known(o wire.Outcome) bool {
	switch o {
	case wire.OutcomeRunning, wire.OutcomeSucceeded, wire.OutcomeFailed,
		wire.OutcomeCancelled, wire.OutcomeTimeout, wire.OutcomeLost:
		return true
	}
	return false
}

// decodeJSON returns a decoder into value that fails unless valid returns true.
func decodeJSON(value any, valid func() bool) func([]byte) error {
	return func(data []byte) error {
		if err := json.Unmarshal(data, value); err != nil {
			return fmt.Errorf("%w: %w", ErrBadAnswer, err)
		}
		if !valid() {
			return fmt.Errorf("%w: something is missing from it", ErrBadAnswer)
		}
		return nil
	}
}
