package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"

	"github.com/toskose/toskose/internal/certs"
)

// serverTLS are the files of the API's own TLS.
type serverTLS struct {
	cert, key string
	clients   string // authorities of users' certificates; empty: users have none
}

// readServerTLS reads which files the API's TLS has; nil: it is served in the clear.
func readServerTLS(getenv func(string) string) (*serverTLS, error) {
	d := &serverTLS{getenv("TOSKOSE_MANAGER_TLS_CERT"), getenv("TOSKOSE_MANAGER_TLS_KEY"), getenv("TOSKOSE_MANAGER_CLIENT_CA")}
	switch {
	case d.cert == "" && d.key == "" && d.clients == "":
		return nil, nil
	case d.cert == "" || d.key == "":
		return nil, errors.New("TOSKOSE_MANAGER_TLS_CERT and TOSKOSE_MANAGER_TLS_KEY: one is not set")
	}
	_, err := d.load()
	return d, err
}

func (d *serverTLS) all() []string {
	if d.clients == "" {
		return []string{d.cert, d.key}
	}
	return []string{d.cert, d.key, d.clients}
}

// load reads the files. No error contains anything of the key.
func (d *serverTLS) load() (*tls.Config, error) {
	own, err := tls.LoadX509KeyPair(d.cert, d.key)
	if err != nil {
		return nil, fmt.Errorf("TOSKOSE_MANAGER_TLS_CERT, TOSKOSE_MANAGER_TLS_KEY: cannot use the certificate: %w", err)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{own}, NextProtos: []string{"http/1.1"}}
	if d.clients == "" {
		return config, nil
	}
	pem, err := os.ReadFile(d.clients)
	if err != nil {
		return nil, fmt.Errorf("TOSKOSE_MANAGER_CLIENT_CA: cannot read the authorities of users' certificates: %w", err)
	}
	config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.VerifyClientCertIfGiven
	if !config.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("TOSKOSE_MANAGER_CLIENT_CA: %s holds no certificate", d.clients)
	}
	return config, nil
}

// self returns the TLS configuration of the manager's own health check. It trusts exactly the
// certificate in the file, whatever its names and even if it expired: a bad certificate must not
// make the container unhealthy.
func (d *serverTLS) self() (*tls.Config, error) {
	own, err := tls.LoadX509KeyPair(d.cert, d.key)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, InsecureSkipVerify: true, //nolint:gosec // VerifyConnection verifies
		VerifyConnection: func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) == 0 || !state.PeerCertificates[0].Equal(own.Leaf) {
				return errors.New("what answers has another certificate than the manager's")
			}
			return nil
		},
	}, nil
}

// unitFiles are the files of TLS with units.
type unitFiles struct{ authority, cert, key string }

// readTLS reads which files TLS with units has; nil: they are spoken to in the clear,
// because TOSKOSE_TLS_CA is not set.
func readTLS(getenv func(string) string) (*unitFiles, error) {
	u := &unitFiles{getenv("TOSKOSE_TLS_CA"), getenv("TOSKOSE_TLS_CERT"), getenv("TOSKOSE_TLS_KEY")}
	if u.authority == "" {
		return nil, nil
	}
	if _, err := u.load(); err != nil {
		return nil, err
	}
	return u, nil
}

func (u *unitFiles) all() []string { return []string{u.cert, u.key, u.authority} }

// own returns the fingerprints of the certificates for the next connection.
func (u *unitFiles) own() (certificate string, authorities []string, err error) {
	if u == nil {
		return "", nil, nil
	}
	authority, err := os.ReadFile(u.authority)
	if err != nil {
		return "", nil, err
	}
	own, err := os.ReadFile(u.cert)
	if err != nil {
		return "", nil, err
	}
	if chain := certs.Fingerprints(own); len(chain) > 0 {
		certificate = chain[0]
	}
	return certificate, certs.Fingerprints(authority), nil
}

func (u *unitFiles) load() (*tls.Config, error) {
	pem, err := os.ReadFile(u.authority)
	if err != nil {
		return nil, fmt.Errorf("TOSKOSE_TLS_CA: cannot read the authority of the units' certificates: %w", err)
	}
	config := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	if !config.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("TOSKOSE_TLS_CA: %s holds no certificate", u.authority)
	}
	if config.Certificates, err = certs.Pairs(u.cert, u.key); err != nil {
		return nil, fmt.Errorf("TOSKOSE_TLS_CERT, TOSKOSE_TLS_KEY: cannot use the manager's certificate: %w", err)
	}
	return config, nil
}
