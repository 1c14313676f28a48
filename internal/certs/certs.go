// Package certs is certificates in files, of a server or of a client, which are read again
// when they change. It starts no goroutine.
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

// Reloading returns what load does, for a server. A handshake loads again when one of the
// files has changed, the first of which has the certificate; if that fails, it is logged,
// and what was loaded before stays in use.
func Reloading(files []string, load func() (*tls.Config, error), logger *slog.Logger) (*tls.Config, error) {
	c, err := read(files, load, logger)
	if err != nil {
		return nil, err
	}
	outer := c.config.Clone()
	outer.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.current(), nil }
	return outer, nil
}

// Client is Reloading for a client, whose own certificates and whose RootCAs may change. Of
// several certificates it shows the first that a server's authorities have signed. Of what
// it returns, ServerName has to be set.
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
	outer.InsecureSkipVerify = true // VerifyConnection verifies, by the roots of that time
	outer.VerifyConnection = func(state tls.ConnectionState) error { return verify(state, c.current().RootCAs) }
	return outer, nil
}

// verify does what a client does that has certain roots.
func verify(state tls.ConnectionState, roots *x509.CertPool) error {
	if state.ServerName == "" || len(state.PeerCertificates) == 0 {
		return errors.New("there is no name or no certificate to verify")
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

// certificates keeps the configuration that was loaded last.
type certificates struct {
	files  []string
	load   func() (*tls.Config, error)
	logger *slog.Logger

	mu     sync.Mutex
	seen   []os.FileInfo // of the files when they were read; nil: it was not there
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

// unchanged reports whether a file is as it was. Two files may have the same
// time, which advances in steps of up to 10 ms, but they are never the same file.
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
	c.seen = now // even if it fails: one message is enough
	config, err := c.load()
	if err != nil {
		c.logger.Error("certificates have changed, but cannot be used; the old ones stay in use", "error", err)
		return c.config
	}
	c.logger.Info("certificates have changed", "certificate", c.files[0])
	c.config = config
	return config
}

// Pairs returns the certificates of a file with those keys of another that they belong to:
// one with all that signed it, or, for several keys, as many certificates without more.
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
		return nil, errors.New("there is a key that is of no certificate")
	}
	return all, nil
}

// blocks returns the parts of a text in PEM, each by itself.
func blocks(text []byte) (all [][]byte) {
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return all
		}
		all = append(all, pem.EncodeToMemory(block))
	}
}

// Fingerprints returns the SHA-256 of each certificate of a file in PEM, in hexadecimal digits.
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

// Fingerprint returns the SHA-256 of a certificate in DER.
func Fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}
