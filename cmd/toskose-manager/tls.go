package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// readTLS reads the TLS configuration for calls to units; nil, without TLS, if
// TOSKOSE_TLS_CA is not set.
func readTLS(getenv func(string) string) (*tls.Config, error) {
	authority := getenv("TOSKOSE_TLS_CA")
	if authority == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(authority)
	if err != nil {
		return nil, fmt.Errorf("TOSKOSE_TLS_CA: cannot read the authority of the units' certificates: %w", err)
	}
	config := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	if !config.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("TOSKOSE_TLS_CA: %s holds no certificate", authority)
	}
	own, err := tls.LoadX509KeyPair(getenv("TOSKOSE_TLS_CERT"), getenv("TOSKOSE_TLS_KEY"))
	if err != nil {
		return nil, fmt.Errorf("TOSKOSE_TLS_CERT, TOSKOSE_TLS_KEY: cannot use the manager's certificate: %w", err)
	}
	config.Certificates = []tls.Certificate{own}
	return config, nil
}
