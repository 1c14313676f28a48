package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/toskose/toskose/manager/rest"
)

// Lease acquires or renews a lease: the goal does not reconcile the components until the lease expires or is
// released. A manager without support for leases returns a Problem with status 404.
func (c *Client) Lease(ctx context.Context, id string, components []string, duration time.Duration) (Lease, error) {
	var l Lease
	_, err := c.do(ctx, request{
		method: http.MethodPut, path: "/api/v1/app/goal/leases/" + url.PathEscape(id),
		body: rest.LeaseRequest{Components: components, Seconds: duration.Seconds()},
	}, &l)
	return l, err
}

// EndLease releases a lease.
func (c *Client) EndLease(ctx context.Context, id string) error {
	var none struct{}
	_, err := c.do(ctx, request{method: http.MethodDelete, path: "/api/v1/app/goal/leases/" + url.PathEscape(id)}, &none)
	return err
}
