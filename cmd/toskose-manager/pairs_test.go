package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/certs"
	packaged "github.com/toskose/toskose/packager/output"
)

// TestTheManagerShowsEachUnitTheCertificateThatItTrusts: while units are replaced one after
// the other, some trust the authority of before only, and others only the one that is new.
func TestTheManagerShowsEachUnitTheCertificateThatItTrusts(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	first := sign(t, "backend", nil)
	names := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: first.cert.Raw}))
	var authorities, own, keys string
	var units []*httptest.Server
	for range 2 {
		authority, err := packaged.NewAuthority(time.Now())
		if err != nil {
			t.Fatal(err)
		}
		issue := func() packaged.Certificate {
			made, err := packaged.Reissue(names, authority, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			return made
		}
		manager, unit := issue(), issue()
		authorities, own, keys = authorities+authority.Cert, manager.Cert+own, manager.Key+keys // the newest first
		pair, err := tls.X509KeyPair([]byte(unit.Cert), []byte(unit.Key))
		if err != nil {
			t.Fatal(err)
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM([]byte(authority.Cert))
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: roots, MinVersion: tls.VersionTLS12}
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		server.StartTLS()
		t.Cleanup(server.Close)
		units = append(units, server)
	}
	files := &unitFiles{filepath.Join(folder, "ca.crt"), filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key")}
	for path, text := range map[string]string{files.authority: authorities, files.cert: own, files.key: keys} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	config, err := certs.Client(files.all(), files.load, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	config.ServerName = "backend"
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config}}
	t.Cleanup(client.CloseIdleConnections)
	for i, unit := range units {
		answer, err := client.Get(unit.URL)
		if err != nil {
			t.Errorf("unit %d: %v", i, err)
			continue
		}
		answer.Body.Close()
	}
	if certificate, authorities, err := files.own(); err != nil || len(authorities) != 2 || certificate != certs.Fingerprints([]byte(own))[0] {
		t.Errorf("it uses %s, %s, %v", certificate, authorities, err)
	}
	api := &serverTLS{cert: files.cert, key: files.key}
	if _, err := api.load(); err != nil {
		t.Errorf("the API with two certificates: %v", err)
	}
	if err := os.WriteFile(files.cert, []byte(names), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := files.load(); err == nil {
		t.Error("keys of no certificate are taken")
	}
}
