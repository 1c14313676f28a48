package main

import (
	"crypto/tls"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toskose/toskose/internal/certs"
	"github.com/toskose/toskose/internal/testunit"
	"github.com/toskose/toskose/spec"
)

func TestHowUnitsAreSpokenToIsNeverGuessed(t *testing.T) {
	t.Parallel()
	if config, err := readTLS(get(nil)); config != nil || err != nil {
		t.Errorf("without an authority it is in the clear: %v, %v", config, err)
	}
	nothing := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(nothing, []byte("no certificate\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, says := range map[string]string{"/nowhere/ca.crt": "cannot read the authority of the units' certificates", nothing: "holds no certificate"} {
		if config, err := readTLS(get(map[string]string{"TOSKOSE_TLS_CA": file})); config != nil || err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, %v", file, config, err)
		}
	}
	args, env := image(t)
	env["TOSKOSE_TLS_CA"] = "/nowhere/ca.crt"
	var out, errOut testunit.Output
	if code := run(t.Context(), args, get(env), &out, &errOut); code != 1 || !strings.Contains(errOut.String(), "TOSKOSE_TLS_CA") {
		t.Errorf("%d: %s", code, errOut.String())
	}
}

// TestAChangedAuthorityCountsForTheNextConnection: the manager speaks to units that have a
// certificate of another authority, as another client, once its files say so; a connection
// of before goes on.
func TestAChangedAuthorityCountsForTheNextConnection(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	files := &unitFiles{filepath.Join(folder, "ca.crt"), filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key")}
	now := func(authority, own signed) {
		t.Helper()
		authority.write(t, files.authority, filepath.Join(folder, "ca.key"))
		own.write(t, files.cert, files.key)
	}
	first, second := sign(t, "first authority", nil), sign(t, "second authority", nil)
	now(first, sign(t, "first manager", &first))
	config, err := certs.Client(files.all(), files.load, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	unit := func(by signed) *httptest.Server {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte(r.TLS.PeerCertificates[0].Subject.CommonName + " from " + r.RemoteAddr))
		}))
		server.TLS = &tls.Config{Certificates: []tls.Certificate{sign(t, "backend", &by).pair()}, ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12}
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		server.StartTLS()
		t.Cleanup(server.Close)
		return server
	}
	config.ServerName = "backend"
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config}}
	t.Cleanup(client.CloseIdleConnections)
	ask := func(server *httptest.Server) (string, error) {
		answer, err := client.Get(server.URL)
		if err != nil {
			return "", err
		}
		defer answer.Body.Close()
		said, err := io.ReadAll(answer.Body)
		return string(said), err
	}
	old, renewed := unit(first), unit(second)
	before, err := ask(old)
	if err != nil || !strings.HasPrefix(before, "first manager") {
		t.Fatalf("%q, %v", before, err)
	}
	if said, err := ask(renewed); err == nil {
		t.Errorf("a unit of an unknown authority is believed: %s", said)
	}
	now(second, sign(t, "second manager", &second))
	if said, err := ask(renewed); err != nil || !strings.HasPrefix(said, "second manager") {
		t.Errorf("%q, %v", said, err)
	}
	if said, err := ask(old); err != nil || said != before {
		t.Errorf("the connection of before: %q, and it was %q, %v", said, before, err)
	}
	client.CloseIdleConnections()
	if said, err := ask(old); err == nil {
		t.Errorf("a unit of the former authority is believed: %s", said)
	}
	config.ServerName = "frontend"
	if said, err := ask(renewed); err == nil {
		t.Errorf("a unit of another name is believed: %s", said)
	}
}

func TestAChangedPasswordOfAUnitCountsForTheNextRequest(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, "backend-password"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("first\n")
	var logs testunit.Output
	p := newPasswords(folder)
	p.logger = slog.New(slog.NewTextHandler(&logs, nil))
	if err := p.readAll(&spec.Application{Components: []spec.Component{{Node: "backend"}}}); err != nil {
		t.Fatal(err)
	}
	for _, step := range [][2]string{{"first\n", "first"}, {"", "first"}, {"", "first"}, {"first\nsecond", "first second"}, {"second", "second"}, {"\n", "second"}} {
		put(step[0])
		if got := strings.Join(p.of("backend"), " "); got != step[1] {
			t.Errorf("with %q in its file it is %q", step[0], got)
		}
	}
	if said := logs.String(); strings.Count(said, "cannot read the password") != 2 || strings.Contains(said, "second") {
		t.Errorf("it says\n%s", said)
	}
}
