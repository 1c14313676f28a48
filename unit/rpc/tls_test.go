package rpc

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/testunit"
)

// authority signs certificates.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	next int64
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t}
	_, der, key := a.make(&x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	a.cert, a.key = cert, key
	return a
}

func (a *authority) make(template *x509.Certificate) (pair tls.Certificate, der []byte, key *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	a.next++
	template.SerialNumber = big.NewInt(a.next)
	template.Subject = pkix.Name{CommonName: "test"}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := template, key
	if a.cert != nil {
		parent, signer = a.cert, a.key
	}
	if der, err = x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer); err != nil {
		a.t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, der, key
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

func (a *authority) server() (tls.Certificate, int64) {
	pair, _, _ := a.make(&x509.Certificate{
		DNSNames: []string{"unit"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	return pair, a.next
}

func (a *authority) client() tls.Certificate {
	pair, _, _ := a.make(&x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	return pair
}

// replace writes a file as certificates are replaced: whole, and changed.
func replace(t *testing.T, path, kind string, der ...[]byte) {
	t.Helper()
	var text bytes.Buffer
	for _, block := range der {
		if err := pem.Encode(&text, &pem.Block{Type: kind, Bytes: block}); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path+".new", text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

func (f TLSFiles) write(t *testing.T, pair tls.Certificate) {
	t.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	replace(t, f.Cert, "CERTIFICATE", pair.Certificate...)
	replace(t, f.Key, "PRIVATE KEY", key)
}

// serveTLS serves over TLS and returns the address and where its log goes.
func serveTLS(t *testing.T, u Unit, files TLSFiles, limits Limits) (string, *testunit.Output) {
	t.Helper()
	log := &testunit.Output{}
	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	config, err := NewTLS(files, logger)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- ServeTLS(ctx, listener, config, New(Options{Unit: u, Logger: logger}), limits, logger) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String(), log
}

// get makes one request on a connection of its own.
func get(t *testing.T, address, path string, config *tls.Config) (*http.Response, error) {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Transport: transport, Timeout: patience}).Do(request)
	if err == nil {
		_, _ = io.Copy(io.Discard, response.Body)
		response.Body.Close()
	}
	return response, err
}

func tlsFiles(t *testing.T) TLSFiles {
	dir := t.TempDir()
	return TLSFiles{Cert: filepath.Join(dir, "tls.crt"), Key: filepath.Join(dir, "tls.key")}
}

func TestNothingButTLS12AndNewerIsSpoken(t *testing.T) {
	t.Parallel()
	a, files := newAuthority(t), tlsFiles(t)
	pair, _ := a.server()
	files.write(t, pair)
	address, _ := serveTLS(t, newFake(), files, Limits{})
	for version, works := range map[uint16]bool{tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		response, err := get(t, address, "/healthz", &tls.Config{
			RootCAs: a.pool(), ServerName: "unit", MinVersion: version, MaxVersion: version,
		})
		if works != (err == nil) {
			t.Errorf("%s: %v", tls.VersionName(version), err)
		}
		if err == nil && (response.StatusCode != http.StatusOK || response.ProtoMajor != 1) {
			t.Errorf("%s: %s %s", tls.VersionName(version), response.Status, response.Proto)
		}
	}
	_, r := dialed(t, address, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
	if got := status(t, r); got != http.StatusBadRequest {
		t.Errorf("plain HTTP is answered %d", got)
	}
}

func TestCertificatesThatChangeAreReadAgain(t *testing.T) {
	t.Parallel()
	a, files := newAuthority(t), tlsFiles(t)
	pair, first := a.server()
	files.write(t, pair)
	address, log := serveTLS(t, newFake(), files, Limits{})
	serial := func() int64 {
		response, err := get(t, address, "/healthz", &tls.Config{RootCAs: a.pool(), ServerName: "unit"})
		if err != nil {
			t.Fatal(err)
		}
		return response.TLS.PeerCertificates[0].SerialNumber.Int64()
	}
	if got := serial(); got != first {
		t.Fatalf("certificate %d, want %d", got, first)
	}
	pair, second := a.server()
	files.write(t, pair)
	if got := serial(); got != second {
		t.Errorf("certificate %d, want the new one, %d", got, second)
	}
	// What cannot be used is said once, and changes nothing.
	other, _ := a.server()
	replace(t, files.Cert, "CERTIFICATE", other.Certificate...)
	for range 3 {
		if got := serial(); got != second {
			t.Errorf("certificate %d, want still %d", got, second)
		}
	}
	if n := strings.Count(log.String(), "cannot use the changed certificates"); n != 1 {
		t.Errorf("it is logged %d times:\n%s", n, log)
	}
	if strings.Contains(log.String(), "PRIVATE KEY") {
		t.Errorf("the key is in the log:\n%s", log)
	}
}

func TestAClientNeedsACertificateOfItsAuthority(t *testing.T) {
	t.Parallel()
	servers, clients, strangers := newAuthority(t), newAuthority(t), newAuthority(t)
	files := tlsFiles(t)
	files.ClientCA = files.Cert + ".ca"
	pair, _ := servers.server()
	files.write(t, pair)
	replace(t, files.ClientCA, "CERTIFICATE", clients.cert.Raw)
	address, _ := serveTLS(t, newFake(), files, Limits{})
	ask := func(certificates ...tls.Certificate) error {
		_, err := get(t, address, "/healthz", &tls.Config{RootCAs: servers.pool(), ServerName: "unit", GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			if len(certificates) == 0 {
				return &tls.Certificate{}, nil
			}
			return &certificates[0], nil
		}})
		return err
	}
	notForClients, _, _ := clients.make(&x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	otherServer, _ := servers.server()
	for name, c := range map[string]struct {
		given []tls.Certificate
		works bool
	}{
		"none":                       {nil, false},
		"of a stranger":              {[]tls.Certificate{strangers.client()}, false},
		"not for clients":            {[]tls.Certificate{notForClients}, false},
		"of the server's authority":  {[]tls.Certificate{otherServer}, false},
		"of the clients' authority":  {[]tls.Certificate{clients.client()}, true},
		"the server's own, with key": {[]tls.Certificate{pair}, true},
		"the server's own, without": {[]tls.Certificate{{
			Certificate: pair.Certificate, PrivateKey: otherServer.PrivateKey,
		}}, false},
	} {
		if err := ask(c.given...); (err == nil) != c.works {
			t.Errorf("a certificate %s: %v", name, err)
		}
	}
	// Another authority, from now on.
	good := clients.client()
	replace(t, files.ClientCA, "CERTIFICATE", strangers.cert.Raw)
	if err := ask(good); err == nil {
		t.Error("the former authority still counts")
	}
	if err := ask(strangers.client()); err != nil {
		t.Error(err)
	}
}

func TestFilesThatAreNoneAreSaid(t *testing.T) {
	t.Parallel()
	a, files := newAuthority(t), tlsFiles(t)
	fails := func(files TLSFiles, names string) {
		t.Helper()
		if _, err := NewTLS(files, quiet()); err == nil || !strings.Contains(err.Error(), names) || strings.Contains(err.Error(), "\n") {
			t.Errorf("the error does not name %s in a line: %v", names, err)
		}
	}
	fails(files, files.Cert)
	pair, _ := a.server()
	files.write(t, pair)
	fails(TLSFiles{files.Cert, files.Cert, ""}, files.Cert)
	fails(TLSFiles{files.Cert, files.Key, "/nowhere.pem"}, "/nowhere.pem")
	fails(TLSFiles{files.Cert, files.Key, files.Key}, files.Key)
}
