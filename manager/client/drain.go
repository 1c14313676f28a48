package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Drain is a node whose containers are about to be replaced.
type Drain struct {
	Node      string    `json:"node"`
	Instances []string  `json:"instances"` // on which new operations are blocked
	Underway  []Busy    `json:"underway"`  // executions that are still running there
	Silent    []string  `json:"silent"`    // unresponsive replicas
	Empty     bool      `json:"empty"`     // no operation is running there, and new ones are blocked
	Until     time.Time `json:"until"`
}

// Busy is an execution that has not ended.
type Busy struct {
	Component string `json:"component"`
	Operation string `json:"operation"`
	Execution string `json:"execution"`
	By        string `json:"by"`
}

// Drain blocks new operations on the current replicas of a node until the lease expires; another call extends it.
// A manager that cannot drain nodes returns a Problem with status 404.
func (c *Client) Drain(ctx context.Context, node string, lease time.Duration) (Drain, error) {
	var now Drain
	_, err := c.do(ctx, request{
		method: http.MethodPut, path: "/api/v1/drains/" + url.PathEscape(node), body: map[string]float64{"seconds": lease.Seconds()},
	}, &now)
	return now, err
}

// EndDrain allows operations on a node again.
func (c *Client) EndDrain(ctx context.Context, node string) error {
	var none struct{}
	_, err := c.do(ctx, request{method: http.MethodDelete, path: "/api/v1/drains/" + url.PathEscape(node)}, &none)
	return err
}
