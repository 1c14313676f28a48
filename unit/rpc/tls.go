package rpc

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
)

// TLSFiles are what a server that speaks TLS needs, each in PEM.
type TLSFiles struct {
	Cert     string // the server's certificate, and those between it and its root
	Key      string // its private key
	ClientCA string // who signs the certificates of clients; empty: they need none
}

// NewTLS makes the configuration of a server: TLS 1.2 or newer, and, where
// there is a ClientCA, only clients with a certificate that it has signed, or
// with the server's own: who has its key is the unit itself, asking for its
// health. A handshake finds files that have changed and reads them again;
// where that fails, it is logged, and what was read before still holds.
func NewTLS(files TLSFiles, logger *slog.Logger) (*tls.Config, error) {
	k := &keeper{files: files, logger: logger}
	k.seen = k.look()
	config, err := files.load()
	if err != nil {
		return nil, err
	}
	k.config = config
	outer := config.Clone()
	outer.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return k.current(), nil }
	return outer, nil
}

// keeper has the configuration that was read last.
type keeper struct {
	files  TLSFiles
	logger *slog.Logger

	mu     sync.Mutex
	seen   []os.FileInfo // of the files when they were read; nil: it was not there
	config *tls.Config
}

func (k *keeper) look() []os.FileInfo {
	var infos []os.FileInfo
	for _, path := range []string{k.files.Cert, k.files.Key, k.files.ClientCA} {
		info, err := os.Stat(path)
		if err != nil {
			info = nil
		}
		infos = append(infos, info)
	}
	return infos
}

// unchanged tells whether a file is as it was. A clock of files may stand still
// for 10 ms, but two files are never one.
func unchanged(now, before os.FileInfo) bool {
	if now == nil || before == nil {
		return now == nil && before == nil
	}
	return now.ModTime().Equal(before.ModTime()) && now.Size() == before.Size() && os.SameFile(now, before)
}

func (k *keeper) current() *tls.Config {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.look()
	if slices.EqualFunc(now, k.seen, unchanged) {
		return k.config
	}
	k.seen = now // also where it fails: one message is enough
	config, err := k.files.load()
	if err != nil {
		k.logger.Error("certificates have changed, but cannot be used; the old ones still are", "error", err)
		return k.config
	}
	k.logger.Info("certificates have changed", "certificate", k.files.Cert)
	k.config = config
	return config
}

// load reads the files. No error has anything of the key in it.
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
		return nil, fmt.Errorf("cannot read who signs clients' certificates: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("cannot use %s: it has no certificate in PEM", f.ClientCA)
	}
	config.ClientCAs = roots
	config.ClientAuth = tls.RequireAnyClientCert // which VerifyConnection verifies
	own := pair.Certificate[0]
	config.VerifyConnection = func(state tls.ConnectionState) error { return admit(state, roots, own) }
	return config, nil
}

// admit verifies a client's certificate, of a resumed session too.
func admit(state tls.ConnectionState, roots *x509.CertPool, own []byte) error {
	if len(state.PeerCertificates) == 0 {
		return errors.New("the client has no certificate")
	}
	leaf := state.PeerCertificates[0]
	if bytes.Equal(leaf.Raw, own) {
		return nil
	}
	between := x509.NewCertPool()
	for _, certificate := range state.PeerCertificates[1:] {
		between.AddCert(certificate)
	}
	_, err := leaf.Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	return err
}
