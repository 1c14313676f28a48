package client

import (
	"context"
	"net/http"
	"net/url"
)

// Processes returns all containers with their processes.
func (c *Client) Processes(ctx context.Context) ([]Node, error) {
	var nodes []Node
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/api/v1/node", query: url.Values{"processes": {"true"}}}, &nodes)
	return nodes, err
}
