package backend

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/output"
)

// trust sets how to verify the manager's certificate. With external secrets, that is not known here.
func (a *Access) trust(dir string, info output.Info) {
	switch {
	case !info.Manager.TLS || len(info.External) > 0:
	case info.Manager.Name != "":
		a.Certificate = output.CertificateFile(dir)
	default:
		a.Authority, a.Name = output.AuthorityFile(dir), packager.LocalName
	}
}

// TLS returns the TLS configuration that verifies the manager, or nil for the default verification. A certificate of the
// application's own authority is verified against a name that no unit's certificate has, independent of the manager's address.
func (a Access) TLS() (*tls.Config, error) {
	if a.Authority == "" && a.Certificate == "" && a.ClientCertificate == "" && a.Name == "" {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: a.Name}
	if a.Authority != "" {
		pem, err := os.ReadFile(a.Authority)
		if err != nil {
			return nil, fmt.Errorf("cannot read the authority of the manager's certificate: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate", a.Authority)
		}
		if a.Name != "" {
			config.InsecureSkipVerify = true // VerifyConnection verifies
			config.VerifyConnection = a.verify
		}
	}
	if a.ClientCertificate != "" {
		own, err := tls.LoadX509KeyPair(a.ClientCertificate, a.ClientKey)
		if err != nil {
			return nil, fmt.Errorf("cannot use %s and %s: %w", a.ClientCertificate, a.ClientKey, err)
		}
		config.Certificates = []tls.Certificate{own}
	}
	if a.Certificate != "" {
		return config, pin(config, a.Certificate)
	}
	return config, nil
}

// verify verifies the manager's certificate against the authorities currently in the file, which may be replaced while a
// command runs.
func (a Access) verify(state tls.ConnectionState) error {
	text, err := os.ReadFile(a.Authority)
	if err != nil {
		return fmt.Errorf("cannot read the authority of the manager's certificate: %w", err)
	}
	if len(state.PeerCertificates) == 0 {
		return errors.New("the manager shows no certificate")
	}
	opts := x509.VerifyOptions{DNSName: a.Name, Roots: x509.NewCertPool(), Intermediates: x509.NewCertPool()}
	opts.Roots.AppendCertsFromPEM(text)
	for _, c := range state.PeerCertificates[1:] {
		opts.Intermediates.AddCert(c)
	}
	_, err = state.PeerCertificates[0].Verify(opts)
	return err
}

// pin trusts a server that presents the first certificate in a file, regardless of its issuer and host name. Other
// certificates are verified as usual.
func pin(config *tls.Config, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("cannot read the manager's certificate: %w", err)
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return fmt.Errorf("%s holds no certificate", file)
	}
	config.InsecureSkipVerify = true // VerifyConnection verifies
	config.VerifyConnection = func(state tls.ConnectionState) error {
		if len(state.PeerCertificates) == 0 {
			return errors.New("the manager shows no certificate")
		}
		leaf := state.PeerCertificates[0]
		if bytes.Equal(leaf.Raw, block.Bytes) {
			return nil
		}
		opts := x509.VerifyOptions{DNSName: state.ServerName, Roots: config.RootCAs, Intermediates: x509.NewCertPool()}
		for _, c := range state.PeerCertificates[1:] {
			opts.Intermediates.AddCert(c)
		}
		_, err := leaf.Verify(opts)
		return err
	}
	return nil
}

// managerClient returns an HTTP client for the manager of a folder's application.
func managerClient(dir string, info output.Info) (*http.Client, error) {
	var at Access
	at.trust(dir, info)
	config, err := at.TLS()
	if err != nil {
		return nil, err
	}
	if info.Manager.TLS && config == nil {
		//nolint:gosec // the authority is unknown here; the client only requests the readiness, without a password
		config = &tls.Config{InsecureSkipVerify: true}
	}
	return &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, DisableKeepAlives: true}}, nil
}
