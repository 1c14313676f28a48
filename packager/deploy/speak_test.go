package deploy

import (
	"crypto/rand"
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
	at, err := Manager(dir)
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
	d := &deployer{opts: Options{Dir: dir}}
	if d.info, err = compose.ReadInfo(dir); err != nil {
		t.Fatal(err)
	}
	address := strings.TrimPrefix(serving(t, dir, "toskose-manager").URL, "https://")
	if code, _, err := d.get(t.Context(), scheme(d.info)+address, "admin", "pw"); code != http.StatusOK {
		t.Errorf("deploying: %d, %v", code, err)
	}
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
