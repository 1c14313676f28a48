package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/testunit"
	"github.com/toskose/toskose/manager/users"
)

// signed is a certificate with its key, signed by an authority or by itself.
type signed struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func sign(t *testing.T, name string, by *signed) signed {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name, "localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, IsCA: by == nil, BasicConstraintsValid: true,
	}
	parent, signer := template, key
	if by != nil {
		parent, signer = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return signed{cert, key}
}

func (s signed) pair() tls.Certificate {
	return tls.Certificate{Certificate: [][]byte{s.cert.Raw}, PrivateKey: s.key, Leaf: s.cert}
}

// write writes the certificate and its key to files.
func (s signed) write(t *testing.T, cert, key string) {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(s.key)
	if err == nil {
		err = os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.cert.Raw}), 0o600)
	}
	if err == nil {
		err = os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// managerWithTLS runs a manager that speaks TLS, with ann, an operator, among its users.
func managerWithTLS(t *testing.T) (env map[string]string, authority signed) {
	t.Helper()
	args, env := image(t)
	folder := filepath.Dir(env["SECRET_KEY_FILE"])
	var list users.List
	if err := list.Add("ann", users.Operator, "a long password"); err != nil {
		t.Fatal(err)
	}
	file, err := list.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for variable, name := range map[string]string{
		"TOSKOSE_MANAGER_USERS_FILE": "users", "TOSKOSE_MANAGER_TLS_CERT": "tls.crt", "TOSKOSE_MANAGER_TLS_KEY": "tls.key", "TOSKOSE_MANAGER_CLIENT_CA": "clients.crt",
	} {
		env[variable] = filepath.Join(folder, name)
	}
	if err := os.WriteFile(env["TOSKOSE_MANAGER_USERS_FILE"], file, 0o600); err != nil {
		t.Fatal(err)
	}
	authority = sign(t, "authority", nil)
	authority.write(t, env["TOSKOSE_MANAGER_CLIENT_CA"], filepath.Join(folder, "clients.key"))
	sign(t, "manager", nil).write(t, env["TOSKOSE_MANAGER_TLS_CERT"], env["TOSKOSE_MANAGER_TLS_KEY"])
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	var out, logs testunit.Output
	go func() { ended <- run(ctx, args, get(env), &out, &logs) }()
	t.Cleanup(func() {
		stop()
		if code := <-ended; code != 0 {
			t.Errorf("it ended with %d: %s", code, logs.String())
		}
	})
	deadline := time.Now().Add(time.Minute)
	for run(t.Context(), []string{"health"}, get(env), &out, &out) != 0 {
		if time.Now().After(deadline) {
			t.Fatalf("it does not become healthy: %s%s", out.String(), logs.String())
		}
		time.Sleep(5 * time.Millisecond) // there is nothing else to wait on
	}
	return env, authority
}

// knock asks for a path with a client's certificate, and returns the status and the
// certificate that the manager showed.
func knock(t *testing.T, env map[string]string, method, path string, with ...tls.Certificate) (int, *x509.Certificate, error) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{
		InsecureSkipVerify: true, MinVersion: tls.VersionTLS12,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { // also one that was not asked for
			return &slices.Concat(with, []tls.Certificate{{}})[0], nil
		},
	}}}
	req, err := http.NewRequestWithContext(t.Context(), method, "https://127.0.0.1:"+env["TOSKOSE_MANAGER_PORT"]+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	answer.Body.Close()
	return answer.StatusCode, answer.TLS.PeerCertificates[0], nil
}

func TestACertificateIsInThePlaceOfAPassword(t *testing.T) {
	t.Parallel()
	env, authority := managerWithTLS(t)
	ann, eve := sign(t, "ann", &authority).pair(), sign(t, "eve", &authority).pair()
	if status, _, err := knock(t, env, "GET", "/api/v1/app", ann); status != 200 {
		t.Errorf("ann: %d, %v", status, err)
	}
	if status, _, err := knock(t, env, "POST", "/api/v1/node/reload", ann); status != 403 {
		t.Errorf("ann, who is an operator, as an admin: %d, %v", status, err)
	}
	if status, _, err := knock(t, env, "GET", "/api/v1/app", eve); status != 401 {
		t.Errorf("a certificate that names no user: %d, %v", status, err)
	}
	if status, _, err := knock(t, env, "GET", "/api/v1/app"); status != 401 {
		t.Errorf("no certificate: %d, %v", status, err)
	}
	if status, _, err := knock(t, env, "GET", "/api/v1/app", sign(t, "ann", nil).pair()); err == nil {
		t.Errorf("a certificate of another authority: %d", status)
	}
	if err := os.WriteFile(env["TOSKOSE_MANAGER_USERS_FILE"], []byte(`{"users": []}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, _, err := knock(t, env, "GET", "/api/v1/app", ann); status != 401 {
		t.Errorf("ann, who was removed: %d, %v", status, err)
	}
}

func TestCertificatesAreReadAgainWithoutDroppingAnything(t *testing.T) {
	t.Parallel()
	env, _ := managerWithTLS(t)
	kept, err := tls.Dial("tcp", "127.0.0.1:"+env["TOSKOSE_MANAGER_PORT"], &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	other := sign(t, "another", nil)
	other.write(t, env["TOSKOSE_MANAGER_TLS_CERT"], env["TOSKOSE_MANAGER_TLS_KEY"])
	if status, shown, err := knock(t, env, "GET", "/healthz"); status != 200 || !shown.Equal(other.cert) {
		t.Errorf("%d, %v", status, err)
	}
	var out testunit.Output
	if code := run(t.Context(), []string{"health"}, get(env), &out, &out); code != 0 {
		t.Errorf("with another certificate it is not healthy: %s", out.String())
	}
	if _, err := kept.Write([]byte("GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 15)
	if _, err := kept.Read(answer); err != nil || string(answer) != "HTTP/1.1 200 OK" {
		t.Errorf("the connection of before: %q, %v", answer, err)
	}
}

func TestADoorThatCannotBeUsedIsSaidAtTheStart(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	cert, key := filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key")
	sign(t, "manager", nil).write(t, cert, key)
	for says, env := range map[string]map[string]string{
		"one is not set":      {"TOSKOSE_MANAGER_TLS_CERT": cert},
		"cannot use the cert": {"TOSKOSE_MANAGER_TLS_CERT": cert, "TOSKOSE_MANAGER_TLS_KEY": cert},
		"cannot read the aut": {"TOSKOSE_MANAGER_TLS_CERT": cert, "TOSKOSE_MANAGER_TLS_KEY": key, "TOSKOSE_MANAGER_CLIENT_CA": "/nowhere"},
		"holds no certificat": {"TOSKOSE_MANAGER_TLS_CERT": cert, "TOSKOSE_MANAGER_TLS_KEY": key, "TOSKOSE_MANAGER_CLIENT_CA": key},
	} {
		if d, err := readServerTLS(get(env)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, %v", says, d, err)
		}
	}
	if d, err := readServerTLS(get(nil)); d != nil || err != nil {
		t.Errorf("%v, %v", d, err)
	}
}

// TestTheHealthCheckKnowsTheManagerByItsCertificate: whatever that is for and until when
// it is valid; others pass for no manager.
func TestTheHealthCheckKnowsTheManagerByItsCertificate(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	d := &serverTLS{cert: filepath.Join(folder, "tls.crt"), key: filepath.Join(folder, "tls.key")}
	mine, other := sign(t, "*.example.org", nil), sign(t, "*.example.org", nil)
	mine.write(t, d.cert, d.key)
	config, err := d.self()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		shown signed
		known bool
	}{{mine, true}, {other, false}} {
		err := config.VerifyConnection(tls.ConnectionState{PeerCertificates: []*x509.Certificate{tt.shown.cert}})
		if (err == nil) != tt.known {
			t.Errorf("known: %v, %v", tt.known, err)
		}
	}
	if config.VerifyConnection(tls.ConnectionState{}) == nil {
		t.Error("no certificate will do")
	}
}
