package packager

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"path"
	"strings"
	"time"

	"github.com/toskose/toskose/packager/config"
)

// The secrets with the certificate and the key in manager.tls.
const (
	ManagerCertificate    = "manager-api.crt"
	ManagerCertificateKey = "manager-api.key"
)

// expiresSoon is the remaining validity below which a certificate causes a warning.
const expiresSoon = 30 * 24 * time.Hour

// managerTLS configures TLS for the manager's API and for its connections to units.
func (p *planner) managerTLS(s *Service) {
	cfg := &p.plan.Config.Manager
	if !p.opts.TLS {
		if cfg.ClientCA != "" {
			p.report("manager.client_ca: users present certificates over TLS only: package with --tls")
		}
		if cfg.TLS != (config.Certificate{}) {
			p.report("manager.tls: the API uses TLS only if the application is packaged with --tls")
		}
		return
	}
	p.secure(s, s.Name, LocalName, "127.0.0.1", "::1", config.Host(cfg.Bind))
	files := p.unitTLS(s.Name)
	p.plan.Secrets = append(p.plan.Secrets, Secret{Name: TLSAuthority, TLS: &TLS{}})
	s.Env["TOSKOSE_TLS_CA"], s.Env["TOSKOSE_TLS_CERT"], s.Env["TOSKOSE_TLS_KEY"] = files.Authority, files.Cert, files.Key
	s.Env["TOSKOSE_MANAGER_TLS_CERT"], s.Env["TOSKOSE_MANAGER_TLS_KEY"] = files.Cert, files.Key
	if cfg.ClientCA != "" {
		s.Env["TOSKOSE_MANAGER_CLIENT_CA"] = ClientCAPath
	}
	if cfg.TLS != (config.Certificate{}) {
		p.givenCertificate(s)
	}
}

// givenCertificate makes the manager serve the API with the user's certificate. The paths of its
// files are removed from the configuration: the files become secrets of the application.
func (p *planner) givenCertificate(s *Service) {
	files := p.plan.Config.Manager.TLS
	p.plan.Config.Manager.TLS = config.Certificate{}
	cert, err := p.read(files.Certificate)
	key, other := p.read(files.Key)
	if err = errors.Join(err, other); err != nil {
		p.report("manager.tls: %w", err)
		return
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil { // the error does not contain the key
		p.report("manager.tls: %s and %s cannot be used: %w", files.Certificate, files.Key, err)
		return
	}
	p.plan.Certificate = pair.Leaf
	p.checkCertificate(pair.Leaf)
	p.plan.Secrets = append(p.plan.Secrets,
		Secret{Name: ManagerCertificate, Given: string(cert)}, Secret{Name: ManagerCertificateKey, Given: string(key)})
	s.Secrets = append(s.Secrets, ManagerCertificate, ManagerCertificateKey)
	s.Env["TOSKOSE_MANAGER_TLS_CERT"], s.Env["TOSKOSE_MANAGER_TLS_KEY"] = path.Join(SecretsPath, ManagerCertificate), path.Join(SecretsPath, ManagerCertificateKey)
}

func (p *planner) read(name string) ([]byte, error) {
	if p.opts.Read == nil {
		return nil, errors.New("no files can be read here")
	}
	return p.opts.Read(name)
}

// checkCertificate warns of a certificate that clients refuse.
func (p *planner) checkCertificate(c *x509.Certificate) {
	const day = time.DateOnly
	switch now := p.opts.Now; {
	case now.After(c.NotAfter):
		p.warn("manager.tls: the certificate was valid until %s", c.NotAfter.Format(day))
	case now.Before(c.NotBefore):
		p.warn("manager.tls: the certificate is valid from %s on", c.NotBefore.Format(day))
	case now.Add(expiresSoon).After(c.NotAfter):
		p.warn("manager.tls: the certificate is valid until %s only", c.NotAfter.Format(day))
	}
	if len(c.DNSNames)+len(c.IPAddresses) == 0 {
		p.warn("manager.tls: the certificate names no host (subjectAltName), so that clients refuse it")
	}
}

// CertificateNames returns the host names in the user's certificate.
func (p *Plan) CertificateNames() []string {
	if p.Certificate == nil {
		return nil
	}
	names := append([]string{}, p.Certificate.DNSNames...)
	for _, at := range p.Certificate.IPAddresses {
		names = append(names, at.String())
	}
	return names
}

// ManagerName returns the host name under which clients reach the manager: a name in its
// certificate, preferably the name of the manager's machine.
func (p *Plan) ManagerName() string {
	here := config.Host(p.Config.Manager.Bind)
	names := p.CertificateNames()
	if len(names) == 0 || p.Certificate.VerifyHostname(here) == nil {
		return here
	}
	return strings.Replace(names[0], "*", "manager", 1)
}
