package unitclient

import (
	"crypto/tls"
	"net/http"
	"sync"
)

// secured are the HTTP clients of a pool that speaks TLS: one for each name
// that a certificate must have, because units are called by address.
type secured struct {
	config *tls.Config
	mu     sync.Mutex
	named  map[string]*http.Client
}

// NewTLSPool makes a pool that speaks TLS and nothing else. config says who
// signs units' certificates and what the manager shows for itself.
func NewTLSPool(limits Limits, config *tls.Config) *Pool {
	p := NewPool(limits)
	p.tls = &secured{config: config, named: map[string]*http.Client{}}
	return p
}

// client gives the HTTP client for units whose certificate has a name.
func (p *Pool) client(name string) *http.Client {
	if p.tls == nil {
		return p.http
	}
	p.tls.mu.Lock()
	defer p.tls.mu.Unlock()
	if c := p.tls.named[name]; c != nil {
		return c
	}
	config := p.tls.config.Clone()
	config.ServerName = name
	transport := p.http.Transport.(*http.Transport).Clone()
	transport.TLSClientConfig = config
	c := &http.Client{Transport: transport, CheckRedirect: p.http.CheckRedirect}
	p.tls.named[name] = c
	return c
}

// close closes the connections that are not in use.
func (s *secured) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.named {
		c.CloseIdleConnections()
	}
}
