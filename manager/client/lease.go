package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Lease is a lease that was acquired or renewed.
type Lease struct {
	ID         string   `json:"id"`
	Components []string `json:"components"`
	Seconds    float64  `json:"seconds"`
	Renewed    bool     `json:"renewed"` // false: it is new, or had expired and was acquired again
	Goal       bool     `json:"goal"`    // false: there is no goal, so nothing starts the components
}

// Lease acquires or renews a lease: the goal does not reconcile the components until the lease expires or is
// released. A manager without support for leases returns a Problem with status 404.
func (c *Client) Lease(ctx context.Context, id string, components []string, lasts time.Duration) (Lease, error) {
	var l Lease
	_, err := c.do(ctx, request{
		method: http.MethodPut, path: "/api/v1/app/goal/leases/" + url.PathEscape(id),
		body: map[string]any{"components": components, "seconds": lasts.Seconds()},
	}, &l)
	return l, err
}

// EndLease releases a lease.
func (c *Client) EndLease(ctx context.Context, id string) error {
	var none struct{}
	_, err := c.do(ctx, request{method: http.MethodDelete, path: "/api/v1/app/goal/leases/" + url.PathEscape(id)}, &none)
	return err
}
