package api

import (
	"net/http"

	"github.com/toskose/toskose/manager/rest"
)

// getCredentials reports which of the rotatable passwords and certificates are in use.
func (s *server) getCredentials(r *http.Request) (reply, error) {
	signing := s.app.Signing()
	all := rest.Credentials{
		Manager: rest.ManagerCredentials{Passwords: s.opts.Access.Passwords(), Keys: signing.Keys, Signed: signing.Current},
		Units:   s.app.UnitCredentials(r.Context()),
	}
	var err error
	if s.opts.Certificates != nil {
		all.Manager.Certificate, all.Manager.Authorities, err = s.opts.Certificates()
	}
	return ok(all), err
}
