package client

import (
	"context"
	"net/http"
)

// Credentials are what manager and units use of the passwords and certificates that may change
// while they run.
type Credentials struct {
	Manager ManagerCredentials `json:"manager"`
	Units   []UnitCredentials  `json:"units"`
}

// ManagerCredentials are those of the manager.
type ManagerCredentials struct {
	Passwords   int      `json:"passwords"`   // of its first user
	Keys        int      `json:"keys"`        // that verify documents; 0: it does not sign them
	Signed      bool     `json:"signed"`      // all units store documents that the first key has signed
	Certificate string   `json:"certificate"` // SHA-256 of its own; empty: it has none
	Authorities []string `json:"authorities"` // SHA-256 of those whose certificates it accepts
}

// UnitCredentials are those of a unit.
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

// Credentials asks which are in use. A manager of before they could be replaced does not know:
// that is a Problem with status 404.
func (c *Client) Credentials(ctx context.Context) (Credentials, error) {
	var all Credentials
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/api/v1/credentials"}, &all)
	return all, err
}
