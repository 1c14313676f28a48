package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/toskose/toskose/manager/rest"
)

// Drain blocks new operations on the current replicas of a node until the lease expires; another call extends it.
// A manager that cannot drain nodes returns a Problem with status 404.
func (c *Client) Drain(ctx context.Context, node string, lease time.Duration) (Drain, error) {
	var now Drain
	_, err := c.do(ctx, request{
		method: http.MethodPut, path: "/api/v1/drains/" + url.PathEscape(node), body: rest.DrainRequest{Seconds: lease.Seconds()},
	}, &now)
	return now, err
}

// EndDrain allows operations on a node again.
func (c *Client) EndDrain(ctx context.Context, node string) error {
	var none struct{}
	_, err := c.do(ctx, request{method: http.MethodDelete, path: "/api/v1/drains/" + url.PathEscape(node)}, &none)
	return err
}
