package live_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/cmd/toskose/contexts"
	"github.com/toskose/toskose/cmd/toskose/live"
)

// toskose runs one of the commands that ask a manager.
func toskose(environ []string, words ...string) (out string, err error) {
	var stdout bytes.Buffer
	quiet := false
	streams := cli.Streams{In: strings.NewReader(""), Out: &stdout, Err: io.Discard}
	for _, cmd := range append(live.Commands(streams, environ, &quiet), contexts.Command(streams, environ)) {
		if cmd.Name() == words[0] {
			cmd.SetArgs(words[1:])
			cmd.SilenceErrors, cmd.SilenceUsage = true, true
			err = cmd.Execute()
		}
	}
	return stdout.String(), err
}

// certificate writes the certificate of a user, with its key.
func certificate(t *testing.T, dir, name string) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, name+".crt"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	put(t, filepath.Join(dir, name+".key"), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
	made, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestAContextAsksWithACertificateOrATokenWhoeverItTrusts: what the manager sees is the
// user's certificate, the token as its file has it at that time, and nobody's password.
func TestAContextAsksWithACertificateOrATokenWhoeverItTrusts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	environ := []string{"TOSKOSE_CONFIG=" + filepath.Join(dir, "config")}
	at := func(name string) string { return filepath.Join(dir, name) }
	clients := x509.NewCertPool()
	clients.AddCert(certificate(t, dir, "ann"))
	manager := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who := r.Header.Get("Authorization")
		if len(r.TLS.VerifiedChains) > 0 {
			who += r.TLS.VerifiedChains[0][0].Subject.CommonName
		}
		if who != "ann" && who != "Bearer second" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, `{"name": "`+who+`"}`)
	}))
	manager.TLS = &tls.Config{ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: clients, MinVersion: tls.VersionTLS12}
	manager.Config.ErrorLog = nil
	manager.StartTLS()
	t.Cleanup(manager.Close)
	put(t, at("ca.crt"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: manager.Certificate().Raw})))
	put(t, at("token"), "first\n")

	known := []string{"--manager", manager.URL, "--ca", at("ca.crt")}
	for name, how := range map[string][]string{
		"ann":      append([]string{"--cert", at("ann.crt"), "--key", at("ann.key")}, known...),
		"token":    append([]string{"--token-file", at("token")}, known...),
		"named":    append([]string{"--token-file", at("token"), "--server-name", "example.com"}, known...),
		"misnamed": append([]string{"--token-file", at("token"), "--server-name", "example.org"}, known...),
		"unknown":  {"--token-file", at("token"), "--manager", manager.URL},
	} {
		if _, err := toskose(environ, append([]string{"context", "create", name}, how...)...); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	if _, err := toskose(environ, "ps", "--context", "token"); err == nil || !strings.Contains(err.Error(), "refuses") {
		t.Errorf("a token that is none: %v", err)
	}
	put(t, at("token"), "second\n")
	for name, want := range map[string]string{
		"ann": `"ann"`, "token": `"Bearer second"`, "named": `"Bearer second"`, "misnamed": "certificate is valid for", "unknown": "certificate signed by unknown authority",
	} {
		out, err := toskose(environ, "ps", "-o", "json", "--context", name)
		if said := out; err != nil {
			said = err.Error()
			if !strings.Contains(said, want) {
				t.Errorf("%s: %v", name, err)
			}
		} else if !strings.Contains(said, want) {
			t.Errorf("%s: %s", name, said)
		}
	}
}
