// Package certs reads TLS certificates of servers and clients from files, and again when the files
// change. It starts no goroutine.
package certs

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"log/slog"
	"os"
	"slices"
	"sync"
)

// Reloading returns the result of load, for a server. If one of the files has changed, the next
// handshake calls load again; if that fails, the error is logged and the previous configuration
// stays in use. The first file is the certificate.
func Reloading(files []string, load func() (*tls.Config, error), logger *slog.Logger) (*tls.Config, error) {
	c, err := read(files, load, logger)
	if err != nil {
		return nil, err
	}
	outer := c.config.Clone()
	outer.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.current(), nil }
	return outer, nil
}

// Client is like Reloading for a client, whose certificates and RootCAs may change. Among several
// certificates it presents the first that the server's authorities have signed. The caller must set
// ServerName in the result.
func Client(files []string, load func() (*tls.Config, error), logger *slog.Logger) (*tls.Config, error) {
	c, err := read(files, load, logger)
	if err != nil {
		return nil, err
	}
	outer := c.config.Clone()
	outer.Certificates, outer.RootCAs = nil, nil
	outer.GetClientCertificate = func(asked *tls.CertificateRequestInfo) (*tls.Certificate, error) {
		own := c.current().Certificates
		for i := range own {
			if asked.SupportsCertificate(&own[i]) == nil {
				return &own[i], nil
			}
		}
		return &own[0], nil
	}
	outer.InsecureSkipVerify = true // VerifyConnection verifies with the current roots
	outer.VerifyConnection = func(state tls.ConnectionState) error { return verify(state, c.current().RootCAs) }
	return outer, nil
}

// verify verifies a server's certificate as a client with fixed roots does.
func verify(state tls.ConnectionState, roots *x509.CertPool) error {
	if state.ServerName == "" || len(state.PeerCertificates) == 0 {
		return errors.New("the server name or the certificate to verify is missing")
	}
	opts := x509.VerifyOptions{DNSName: state.ServerName, Roots: roots, Intermediates: x509.NewCertPool()}
	for _, c := range state.PeerCertificates[1:] {
		opts.Intermediates.AddCert(c)
	}
	_, err := state.PeerCertificates[0].Verify(opts)
	return err
}

func read(files []string, load func() (*tls.Config, error), logger *slog.Logger) (*certificates, error) {
	c := &certificates{files: files, load: load, logger: logger}
	c.seen = c.stat()
	var err error
	c.config, err = load()
	return c, err
}

// certificates holds the last loaded configuration.
type certificates struct {
	files  []string
	load   func() (*tls.Config, error)
	logger *slog.Logger

	mu     sync.Mutex
	seen   []os.FileInfo // of the files when they were read; nil if missing
	config *tls.Config
}

func (c *certificates) stat() []os.FileInfo {
	infos := make([]os.FileInfo, 0, len(c.files))
	for _, path := range c.files {
		info, err := os.Stat(path)
		if err != nil {
			info = nil
		}
		infos = append(infos, info)
	}
	return infos
}

// unchanged reports whether a file is unchanged. Modification times advance in steps of up to 10
// ms, so two files may have the same time, but they differ in identity.
func unchanged(now, before os.FileInfo) bool {
	if now == nil || before == nil {
		return now == nil && before == nil
	}
	return now.ModTime().Equal(before.ModTime()) && now.Size() == before.Size() && os.SameFile(now, before)
}

func (c *certificates) current() *tls.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.stat()
	if slices.EqualFunc(now, c.seen, unchanged) {
		return c.config
	}
	c.seen = now // even if it fails, so that it is logged once
	config, err := c.load()
	if err != nil {
		c.logger.Error("cannot use the changed certificates; the previous ones stay in use", "error", err)
		return c.config
	}
	c.logger.Info("certificates have changed", "certificate", c.files[0])
	c.config = config
	return config
}

// Pairs returns the certificates of a file with the matching keys of another file: one certificate
// with its chain or, for several keys, as many certificates without chains.
func Pairs(certFile, keyFile string) ([]tls.Certificate, error) {
	cert, err := os.ReadFile(certFile)
	if err != nil {
		return nil, err
	}
	key, err := os.ReadFile(keyFile)
	if err != nil {
		return nil, err
	}
	keys := blocks(key)
	if len(keys) < 2 {
		one, err := tls.X509KeyPair(cert, key)
		return []tls.Certificate{one}, err
	}
	var all []tls.Certificate
	for _, one := range blocks(cert) {
		for _, key := range keys {
			if pair, err := tls.X509KeyPair(one, key); err == nil {
				all = append(all, pair)
			}
		}
	}
	if len(all) < len(keys) {
		return nil, errors.New("a key does not match any certificate")
	}
	return all, nil
}

// blocks returns the PEM blocks of a text.
func blocks(text []byte) (all [][]byte) {
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return all
		}
		all = append(all, pem.EncodeToMemory(block))
	}
}

// Fingerprints returns the SHA-256 of each certificate in a PEM text, in hexadecimal.
func Fingerprints(text []byte) []string {
	all := []string{}
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return all
		}
		if block.Type == "CERTIFICATE" {
			all = append(all, Fingerprint(block.Bytes))
		}
	}
}

// Fingerprint returns the SHA-256 of a DER certificate.
func Fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}
