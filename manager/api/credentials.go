package api

import (
	"net/http"

	"github.com/toskose/toskose/manager"
)

// Certificates are the fingerprints of the certificates that the manager uses with units. They are not secret.
type Certificates struct {
	Certificate string   `json:"certificate,omitempty"` // SHA-256 of its own certificate
	Authorities []string `json:"authorities,omitempty"` // SHA-256 of the authorities that it trusts
}

// credentials reports which of the rotatable passwords and certificates are in use.
type credentials struct {
	Manager struct {
		Passwords int  `json:"passwords"` // of its first user
		Keys      int  `json:"keys"`      // number of keys that verify documents; 0: documents are not signed
		Signed    bool `json:"signed"`    // all replicas store documents signed by the first key
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
