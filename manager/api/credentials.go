package api

import (
	"net/http"

	"github.com/toskose/toskose/manager"
)

// Certificates are those that the manager uses with units, as fingerprints. None is secret.
type Certificates struct {
	Certificate string   `json:"certificate,omitempty"` // SHA-256 of its own
	Authorities []string `json:"authorities,omitempty"` // SHA-256 of those whose certificates it accepts
}

// credentials are what is used of the passwords and certificates that may change.
type credentials struct {
	Manager struct {
		Passwords int  `json:"passwords"` // of its first user
		Keys      int  `json:"keys"`      // that verify documents; 0: they are not signed
		Signed    bool `json:"signed"`    // all replicas keep documents that the first key has signed
		Certificates
	} `json:"manager"`
	Units []manager.UnitCredentials `json:"units"`
}

func (s *server) getCredentials(r *http.Request) (reply, error) {
	all := credentials{Units: s.app.Credentials(r.Context())}
	signing := s.app.Signing()
	all.Manager.Keys, all.Manager.Signed = signing.Keys, signing.Current
	all.Manager.Passwords = s.opts.Access.Passwords()
	if s.opts.Certificates != nil {
		var err error
		if all.Manager.Certificates, err = s.opts.Certificates(); err != nil {
			return reply{}, err
		}
	}
	return ok(all), nil
}
