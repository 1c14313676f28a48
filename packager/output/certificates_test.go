package output_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/sample"
	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/packager/output"
)

var today = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// certified writes the credentials of the sample, whose units speak TLS, and
// gives the folder of its secrets.
func certified(t *testing.T, dir string, cfg config.Config, now time.Time) string {
	t.Helper()
	plan, err := packager.New(sample.App(), sample.Archive(), cfg, packager.Options{AllowHost: sample.Host, TLS: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := output.Write(dir, plan, output.Options{Random: zeros{}, Now: now}); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, output.SecretsDir)
}

func text(t *testing.T, parts ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func pair(t *testing.T, secrets, name string) tls.Certificate {
	t.Helper()
	p, err := tls.LoadX509KeyPair(filepath.Join(secrets, name+"-tls.crt"), filepath.Join(secrets, name+"-tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestManagerAndUnitKnowEachOtherByTheirCertificates(t *testing.T) {
	t.Parallel()
	secrets := certified(t, t.TempDir(), config.Config{}, today)
	authority := x509.NewCertPool()
	if !authority.AppendCertsFromPEM([]byte(text(t, secrets, "tls-ca.crt"))) {
		t.Fatal("the authority is none")
	}
	soon := func() time.Time { return today.Add(time.Minute) }
	unit := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	unit.Config.ErrorLog = log.New(io.Discard, "", 0)
	unit.TLS = &tls.Config{
		Certificates: []tls.Certificate{pair(t, secrets, "backend")}, ClientCAs: authority, ClientAuth: tls.RequireAndVerifyClientCert, Time: soon,
		MinVersion: tls.VersionTLS12,
	}
	unit.StartTLS()
	t.Cleanup(unit.Close)
	for _, tt := range []struct {
		name  string
		as    []tls.Certificate
		works bool
	}{
		{"backend", []tls.Certificate{pair(t, secrets, "toskose-manager")}, true},
		{"backend", []tls.Certificate{pair(t, secrets, "backend")}, true}, // it asks itself for its health
		{"frontend", []tls.Certificate{pair(t, secrets, "toskose-manager")}, false},
		{"backend", nil, false},
	} {
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{
			RootCAs: authority, ServerName: tt.name, Certificates: tt.as, Time: soon, MinVersion: tls.VersionTLS12,
		}}}
		answer, err := client.Get(unit.URL)
		if (err == nil) != tt.works {
			t.Errorf("%s with %d certificates: %v", tt.name, len(tt.as), err)
		}
		if err == nil {
			answer.Body.Close()
		}
	}
}

func TestCertificatesAreReusedWhileTheyAreGood(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	secrets := certified(t, dir, config.Config{}, today)
	names := []string{"tls-ca.crt", "tls-ca.key", "backend-tls.crt", "backend-tls.key", "frontend-tls.crt", "toskose-manager-tls.key"}
	now := func() map[string]string {
		all := map[string]string{}
		for _, name := range names {
			all[name] = text(t, secrets, name)
		}
		return all
	}
	expect := func(when string, before map[string]string, changed ...string) map[string]string {
		t.Helper()
		after := now()
		for name := range after {
			want := strings.Contains(" "+strings.Join(changed, " ")+" ", " "+name+" ")
			if got := before[name] != after[name]; got != want {
				t.Errorf("%s: %s has changed: %v", when, name, got)
			}
		}
		return after
	}
	before := now()
	certified(t, dir, config.Config{}, today.Add(24*time.Hour))
	before = expect("a day later", before)
	certified(t, dir, config.Config{Nodes: map[string]config.Node{"backend": {Alias: "other"}}}, today.Add(24*time.Hour))
	before = expect("another name", before, "backend-tls.crt", "backend-tls.key")
	if err := os.WriteFile(filepath.Join(secrets, "frontend-tls.crt"), []byte("broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	certified(t, dir, config.Config{Nodes: map[string]config.Node{"backend": {Alias: "other"}}}, today.Add(24*time.Hour))
	before = expect("one is broken", before, "frontend-tls.crt") // and its key, which is not among the names
	certified(t, dir, config.Config{Nodes: map[string]config.Node{"backend": {Alias: "other"}}}, today.AddDate(9, 0, 0))
	expect("they end soon", before, names...)
}

func TestNoContainerHasTheKeyThatSigns(t *testing.T) {
	t.Parallel()
	secrets := certified(t, t.TempDir(), config.Config{}, today)
	info, err := os.Stat(filepath.Join(secrets, "tls-ca.key"))
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	block, _ := pem.Decode([]byte(text(t, secrets, "tls-ca.crt")))
	authority, err := x509.ParseCertificate(block.Bytes)
	if err != nil || !authority.IsCA || authority.NotAfter.Before(today.AddDate(9, 0, 0)) {
		t.Errorf("%+v, %v", authority, err)
	}
	plan, err := packager.New(sample.App(), sample.Archive(), config.Config{}, packager.Options{AllowHost: sample.Host, TLS: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range plan.Services {
		for _, name := range s.Secrets {
			if name == "tls-ca.key" || strings.HasSuffix(name, "-tls.key") && name != s.Name+"-tls.key" {
				t.Errorf("%s has %s", s.Name, name)
			}
		}
	}
}
