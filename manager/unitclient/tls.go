package unitclient

import (
	"crypto/tls"
	"net/http"
	"sync"
)

// tlsClients are the HTTP clients of a pool with TLS, one per certificate name, because requests go to addresses.
type tlsClients struct {
	config *tls.Config
	mu     sync.Mutex
	byName map[string]*http.Client
}

// NewTLSPool returns a pool that uses TLS only. config has the authority of the
// units' certificates and the manager's own certificate.
func NewTLSPool(limits Limits, config *tls.Config) *Pool {
	p := NewPool(limits)
	p.tls = &tlsClients{config: config, byName: map[string]*http.Client{}}
	return p
}

// client returns the HTTP client for units whose certificate has a name.
func (p *Pool) client(name string) *http.Client {
	if p.tls == nil {
		return p.http
	}
	p.tls.mu.Lock()
	defer p.tls.mu.Unlock()
	if c := p.tls.byName[name]; c != nil {
		return c
	}
	config := p.tls.config.Clone()
	config.ServerName = name
	transport := p.http.Transport.(*http.Transport).Clone()
	transport.DialTLSContext = p.dial.secure(config)
	c := &http.Client{Transport: transport, CheckRedirect: p.http.CheckRedirect}
	p.tls.byName[name] = c
	return c
}

// close closes idle connections.
func (s *tlsClients) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.byName {
		c.CloseIdleConnections()
	}
}
