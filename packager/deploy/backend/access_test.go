package backend

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/sample"
	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/output"
)

// secured packages an application that speaks TLS.
func secured(t *testing.T) (dir string) {
	t.Helper()
	plan := &packager.Plan{App: "shop", Services: []packager.Service{{Name: "toskose-manager", IsManager: true, UnitPort: 10000}}}
	plan.Config.Manager.User = "admin"
	plan.Secrets = []packager.Secret{{Name: packager.ManagerPassword}, {Name: packager.TLSAuthority, TLS: &packager.TLS{}}}
	for name, names := range map[string][]string{"toskose-manager": {"127.0.0.1", packager.LocalName, "toskose-manager"}, "backend": {"backend"}} {
		plan.Secrets = append(plan.Secrets,
			packager.Secret{Name: name + "-tls.crt", TLS: &packager.TLS{For: name, Names: names}},
			packager.Secret{Name: name + "-tls.key", TLS: &packager.TLS{For: name, Names: names, Key: true}})
	}
	dir = t.TempDir()
	err := output.Write(dir, plan, output.Options{
		Random: rand.Reader, Now: time.Now(), Targets: []output.Target{compose.Target(compose.Options{EndpointMode: compose.EndpointVIP, PublishMode: compose.PublishIngress})},
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// serving serves with the certificate of one of the application's services.
func serving(t *testing.T, dir, service string) *httptest.Server {
	t.Helper()
	path := filepath.Join(dir, output.SecretsDir, service)
	pair, err := tls.LoadX509KeyPair(path+"-tls.crt", path+"-tls.key")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) }))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	server.Config.ErrorLog = nil
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

func TestOnlyTheApplicationsManagerIsToldThePassword(t *testing.T) {
	t.Parallel()
	dir := secured(t)
	at, err := AccessOf(dir)
	if err != nil || at.Address != "https://localhost:10000" || at.Authority != output.AuthorityFile(dir) {
		t.Fatalf("%+v, %v", at, err)
	}
	config, err := at.TLS()
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
	answer, err := client.Get(serving(t, dir, "toskose-manager").URL)
	if err != nil {
		t.Fatalf("the manager is not believed: %v", err)
	}
	answer.Body.Close()
	for who, server := range map[string]*httptest.Server{
		"a unit": serving(t, dir, "backend"), "another application": serving(t, secured(t), "toskose-manager"),
	} {
		if answer, err := client.Get(server.URL); err == nil {
			answer.Body.Close()
			t.Errorf("%s passes as the manager", who)
		}
	}
	info, err := compose.ReadInfo(dir)
	if err != nil {
		t.Fatal(err)
	}
	if client, err = managerClient(dir, info); err != nil {
		t.Fatal(err)
	}
	if answer, err = client.Get(serving(t, dir, "toskose-manager").URL); err != nil {
		t.Fatalf("deploying: %v", err)
	}
	answer.Body.Close()
}

// TestAnotherAuthorityCountsForTheNextConnection: a command may run while secrets are replaced.
func TestAnotherAuthorityCountsForTheNextConnection(t *testing.T) {
	t.Parallel()
	dir, other := secured(t), secured(t)
	at, err := AccessOf(dir)
	if err != nil {
		t.Fatal(err)
	}
	config, err := at.TLS()
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
	manager := serving(t, other, "toskose-manager")
	if answer, err := client.Get(manager.URL); err == nil {
		answer.Body.Close()
		t.Fatal("a manager of another authority is believed")
	}
	text, err := os.ReadFile(output.AuthorityFile(other))
	if err == nil {
		err = os.WriteFile(output.AuthorityFile(dir), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.Get(manager.URL)
	if err != nil {
		t.Fatalf("it is not believed when its authority is the folder's: %v", err)
	}
	answer.Body.Close()
}

func TestAnAuthorityThatIsNoneIsSaid(t *testing.T) {
	t.Parallel()
	if config, err := (Access{}).TLS(); config != nil || err != nil {
		t.Errorf("%v, %v", config, err)
	}
	dir := secured(t)
	for file, says := range map[string]string{"/nowhere": "cannot read", filepath.Join(dir, output.ConfigFile): "holds no certificate"} {
		if _, err := (Access{Authority: file}).TLS(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// TestTheUsersCertificateIsTrustedWhateverItIsFor: by those who have the folder; a
// server that has another is no manager, unless an authority vouches for it.
func TestTheUsersCertificateIsTrustedWhateverItIsFor(t *testing.T) {
	t.Parallel()
	put := func(dir string, template x509.Certificate) {
		t.Helper()
		cert, key := sample.Certificate(t, template)
		for name, text := range map[string]string{"manager-api.crt": cert, "manager-api.key": key, "served-tls.crt": cert, "served-tls.key": key} {
			if err := os.WriteFile(filepath.Join(dir, output.SecretsDir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	mine, other := secured(t), secured(t)
	past := time.Now().AddDate(0, 0, -1)
	put(mine, x509.Certificate{DNSNames: []string{"shop.example.org"}, NotBefore: past.AddDate(-1, 0, 0), NotAfter: past})
	put(other, x509.Certificate{DNSNames: []string{"shop.example.org"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
	var at Access
	info := output.Info{Manager: output.Manager{TLS: true, Name: "shop.example.org"}}
	at.trust(mine, info)
	config, err := at.TLS()
	if err != nil {
		t.Fatal(err)
	}
	ask := func() func(*httptest.Server) error {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
		return func(s *httptest.Server) error {
			answer, err := client.Get(s.URL)
			if err == nil {
				answer.Body.Close()
			}
			return err
		}
	}
	if err := ask()(serving(t, mine, "served")); err != nil {
		t.Error(err)
	}
	successor := serving(t, other, "served")
	if err := ask()(successor); err == nil {
		t.Error("any certificate will do")
	}
	config.RootCAs = x509.NewCertPool()
	config.RootCAs.AddCert(successor.Certificate())
	if err := ask()(successor); err != nil {
		t.Errorf("a successor that an authority vouches for: %v", err)
	}
	successor.URL = strings.Replace(successor.URL, "127.0.0.1", "localhost", 1)
	if err := ask()(successor); err == nil {
		t.Error("a successor that is somebody else")
	}
}
