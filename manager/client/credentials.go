package client

import (
	"context"
	"net/http"
)

// Credentials describe the rotatable passwords and certificates that the manager
// and the units use.
type Credentials struct {
	Manager ManagerCredentials `json:"manager"`
	Units   []UnitCredentials  `json:"units"`
}

// ManagerCredentials describe the manager's credentials.
type ManagerCredentials struct {
	Passwords   int      `json:"passwords"`   // of its first user
	Keys        int      `json:"keys"`        // number of keys that verify documents; 0: documents are not signed
	Signed      bool     `json:"signed"`      // all units store documents signed by the first key
	Certificate string   `json:"certificate"` // SHA-256 of its own certificate; empty: none
	Authorities []string `json:"authorities"` // SHA-256 of the authorities that it trusts
}

// UnitCredentials describe a unit's credentials.
type UnitCredentials struct {
	Node        string   `json:"node"`
	Replica     string   `json:"replica"`
	Passwords   int      `json:"passwords"` // number of accepted passwords; 0: it does not reload them
	Known       int      `json:"known"`     // number of passwords that the manager has for it
	Accepted    bool     `json:"accepted"`  // it accepts the newest of them
	Certificate string   `json:"certificate"`
	Authorities []string `json:"authorities"`
	Problem     string   `json:"problem"` // why it cannot be queried
}

// Credentials returns which credentials are in use. A manager that cannot rotate them returns a Problem with
// status 404.
func (c *Client) Credentials(ctx context.Context) (Credentials, error) {
	var all Credentials
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/api/v1/credentials"}, &all)
	return all, err
}
