package api

import (
	"net/http"

	"github.com/toskose/toskose/manager"
)

// Own are the certificates that the manager uses with units. None is secret.
type Own struct {
	Certificate string   `json:"certificate,omitempty"` // SHA-256 of its own
	Authorities []string `json:"authorities,omitempty"` // SHA-256 of those whose certificates it accepts
}

// credentials are what is used of the passwords and certificates that may change.
type credentials struct {
	Manager struct {
		Passwords int `json:"passwords"` // of its first user
		Own
	} `json:"manager"`
	Units []manager.UnitCredentials `json:"units"`
}

func (s *server) getCredentials(r *http.Request) (reply, error) {
	all := credentials{Units: s.app.Credentials(r.Context())}
	all.Manager.Passwords = s.opts.Access.Passwords()
	if s.opts.Own != nil {
		var err error
		if all.Manager.Own, err = s.opts.Own(); err != nil {
			return reply{}, err
		}
	}
	return ok(all), nil
}
