package packager

import (
	"path"
	"slices"

	"github.com/toskose/toskose/packager/config"
)

// TLSAuthority is the secret with the certificate that signs all others.
const TLSAuthority = "tls-ca.crt"

// LocalName is a name that only the manager's certificate has: clients outside the network reach
// its published port under other names, and verify this one.
const LocalName = config.LocalName

// TLS is a certificate of the application's own authority, or its key. They are generated with the
// secrets, as passwords are.
type TLS struct {
	For   string   // the service; empty: the authority
	Key   bool     // its private key
	Names []string // names and addresses in the certificate
}

// secure configures mutual TLS for a service, with a certificate of the application's authority.
func (p *planner) secure(s *Service, names ...string) {
	if !p.opts.TLS {
		return
	}
	slices.Sort(names)
	of := &TLS{For: s.Name, Names: slices.Compact(names)}
	p.plan.Secrets = append(p.plan.Secrets,
		Secret{Name: tlsCert(s.Name), TLS: of},
		Secret{Name: tlsKey(s.Name), TLS: &TLS{For: of.For, Names: of.Names, Key: true}})
	s.Secrets = append(s.Secrets, TLSAuthority, tlsCert(s.Name), tlsKey(s.Name))
	slices.Sort(s.Secrets)
}

func tlsCert(service string) string { return service + "-tls.crt" }
func tlsKey(service string) string  { return service + "-tls.key" }

// unitTLS contains the paths of a unit's certificate, for its configuration.
type unitTLS struct{ Cert, Key, Authority string }

func (p *planner) unitTLS(node string) *unitTLS {
	if !p.opts.TLS {
		return nil
	}
	return &unitTLS{path.Join(SecretsPath, tlsCert(node)), path.Join(SecretsPath, tlsKey(node)), path.Join(SecretsPath, TLSAuthority)}
}
