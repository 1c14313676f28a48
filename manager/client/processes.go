package client

import (
	"context"
	"net/http"
	"net/url"
)

// NodeProcesses is a container and its processes.
type NodeProcesses struct {
	Name     string `json:"name"`
	Kind     string `json:"kind"`
	State    string `json:"state"`
	Replicas []struct {
		Address   string    `json:"address"`
		Problem   string    `json:"problem,omitempty"`
		Unclaimed []Process `json:"unclaimed,omitempty"` // processes that belong to no component
	} `json:"replicas"`
	Components []struct {
		Name     string `json:"name"`
		Replicas []struct {
			Address   string    `json:"address"`
			State     string    `json:"state"`
			Problem   string    `json:"problem,omitempty"`
			Processes []Process `json:"processes,omitempty"`
		} `json:"replicas"`
	} `json:"components"`
}

// Process is a running process.
type Process struct {
	PID       int     `json:"pid"`
	Parent    int     `json:"parent"`
	Operation string  `json:"operation,omitempty"` // the operation that started it
	Command   string  `json:"command"`
	CPU       float64 `json:"cpu_seconds"`  // since its start
	Memory    int64   `json:"memory_bytes"` // resident set
	Zombie    bool    `json:"zombie,omitempty"`
}

// Processes returns the processes of all containers.
func (c *Client) Processes(ctx context.Context) ([]NodeProcesses, error) {
	var nodes []NodeProcesses
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/api/v1/node", query: url.Values{"processes": {"true"}}}, &nodes)
	return nodes, err
}
