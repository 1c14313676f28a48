package rpc

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/toskose/toskose/internal/certs"
)

// TLSFiles are the PEM files of a TLS server.
type TLSFiles struct {
	Cert     string // the server's certificate and intermediate certificates
	Key      string // its private key
	ClientCA string // signs client certificates; empty: clients need none
}

// NewTLS returns the configuration of a server: TLS 1.2 or newer and, with a ClientCA, only clients
// with a certificate signed by it, or with the server's own certificate, which the unit uses to
// check its own health. Changed files are read again at a handshake; if that fails, the error is
// logged and the old ones stay in use.
func NewTLS(files TLSFiles, logger *slog.Logger) (*tls.Config, error) {
	return certs.Reloading([]string{files.Cert, files.Key, files.ClientCA}, files.load, logger)
}

// load reads the files. Its errors contain nothing of the key.
func (f TLSFiles) load() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		return nil, fmt.Errorf("cannot use the certificate %s with the key %s: %w", f.Cert, f.Key, err)
	}
	config := &tls.Config{
		MinVersion:   tls.VersionTLS12,
		Certificates: []tls.Certificate{pair},
		NextProtos:   []string{"http/1.1"},
	}
	if f.ClientCA == "" {
		return config, nil
	}
	text, err := os.ReadFile(f.ClientCA)
	if err != nil {
		return nil, fmt.Errorf("cannot read the authority of clients' certificates: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("cannot use %s: it contains no certificate in PEM", f.ClientCA)
	}
	config.ClientCAs = roots
	config.ClientAuth = tls.RequireAnyClientCert // VerifyConnection verifies it
	own := pair.Certificate[0]
	config.VerifyConnection = func(state tls.ConnectionState) error { return admit(state, roots, own) }
	return config, nil
}

// admit verifies a client's certificate, also for a resumed session.
func admit(state tls.ConnectionState, roots *x509.CertPool, own []byte) error {
	if len(state.PeerCertificates) == 0 {
		return errors.New("the client has no certificate")
	}
	leaf := state.PeerCertificates[0]
	if bytes.Equal(leaf.Raw, own) {
		return nil
	}
	intermediates := x509.NewCertPool()
	for _, certificate := range state.PeerCertificates[1:] {
		intermediates.AddCert(certificate)
	}
	_, err := leaf.Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: intermediates, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	return err
}
