package client

import (
	"context"
	"net/http"
)

// Credentials describe the passwords and certificates in use by the manager and the units, for those that can be
// rotated.
type Credentials struct {
	Manager ManagerCredentials `json:"manager"`
	Units   []UnitCredentials  `json:"units"`
}

// ManagerCredentials describe the manager's credentials.
type ManagerCredentials struct {
	Passwords   int      `json:"passwords"`   // of its first user
	Keys        int      `json:"keys"`        // that verify documents; 0: it does not sign them
	Signed      bool     `json:"signed"`      // all units store documents that the first key has signed
	Certificate string   `json:"certificate"` // SHA-256 of its own; empty: it has none
	Authorities []string `json:"authorities"` // SHA-256 of those whose certificates it accepts
}

// UnitCredentials describe a unit's credentials.
type UnitCredentials struct {
	Node        string   `json:"node"`
	Replica     string   `json:"replica"`
	Passwords   int      `json:"passwords"` // that it accepts; 0: it does not read them again
	Known       int      `json:"known"`     // that the manager has for it
	Accepted    bool     `json:"accepted"`  // it accepts the newest of those
	Certificate string   `json:"certificate"`
	Authorities []string `json:"authorities"`
	Problem     string   `json:"problem"` // why it cannot be asked
}

// Credentials returns which credentials are in use. A manager that cannot rotate them returns a Problem with
// status 404.
func (c *Client) Credentials(ctx context.Context) (Credentials, error) {
	var all Credentials
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/api/v1/credentials"}, &all)
	return all, err
}
