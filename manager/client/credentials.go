package client

import (
	"context"
	"net/http"
)

// Credentials returns which credentials are in use. A manager that cannot rotate them returns a Problem with
// status 404.
func (c *Client) Credentials(ctx context.Context) (Credentials, error) {
	var all Credentials
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/api/v1/credentials"}, &all)
	return all, err
}
