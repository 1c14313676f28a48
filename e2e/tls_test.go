package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// signer is a certificate with its key.
type signer struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// signed makes a certificate, signed by another one or by itself.
func signed(t *testing.T, name string, by *signer) signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0), IsCA: by == nil, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	parent, private := template, key
	if by != nil {
		parent, private = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return signer{cert, key}
}

// pem gives the certificate as text.
func (s signer) pem() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.cert.Raw}))
}

// write writes the certificate and its key into a folder, and gives their paths.
func (s signer) write(t *testing.T, dir, name string) (cert, key string) {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(s.key)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")
	for path, text := range map[string]string{cert: s.pem(), key: string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))} {
		write(t, path, text)
	}
	return cert, key
}

// TestAnApplicationIsManagedOverTLSOnly: by the application's own authority, and then by
// a certificate of the user's, with a user who has a certificate, too.
func TestAnApplicationIsManagedOverTLSOnly(t *testing.T) {
	t.Parallel()
	engine := dockerEngine(t)
	flags := []string{"--tls", "-i", "token=token-" + random(), "-i", "store_password=word-" + random()}
	authority := signed(t, "users of safe", nil)
	more := "  client_ca: |\n    " + strings.ReplaceAll(strings.TrimSpace(authority.pem()), "\n", "\n    ") + "\n" +
		"secrets: [keeper.token, keeper.login, keeper.store_password, store.STORE_PASSWORD]\n"
	app := packageAs(t, engine, "testdata/safe", nil, func(string) string { return more }, flags...)
	app.target = byCompose
	app.deploy(t)
	publishedHere(t, app)
	commandsWork(t, app)
	annHasACertificate(t, app, authority)
	containers := func() string { return app.container(t, "box") + " " + app.container(t, "toskose-manager") }
	rotated(t, app, "keeper", "box-tls.crt", containers, app.there(app.dir, "rotate"), app.there(app.name, "rotate", "--authority"))
	commandsWork(t, app)

	keeper := app.container(t, "box")
	dir := filepath.Dir(app.config)
	signed(t, "shop.example.org", nil).write(t, dir, "api")
	config := strings.Replace(read(t, app.config), "manager:\n", "manager:\n  tls: {certificate: api.crt, key: api.key}\n", 1)
	write(t, app.config, config)
	r := must(t, "", "toskose", app.packaging...)
	app.said = r.stdout + r.stderr
	if !strings.Contains(r.stderr, "the certificate is for shop.example.org, but a single engine publishes the manager at 127.0.0.1") {
		t.Errorf("it does not say for whom the certificate is: %v", r)
	}
	must(t, "", "toskose", app.deploying(app.dir)...)
	commandsWork(t, app)
	if now := app.container(t, "box"); now != keeper {
		t.Error("the application's container was replaced for a certificate of the manager")
	}
	if issued := strings.TrimSpace(read(t, filepath.Join(app.dir, "secrets", "manager-api.crt"))); issued == "" {
		t.Error("the certificate is not kept")
	}
}

// publishedHere checks that nobody else reaches the manager's port.
func publishedHere(t *testing.T, app *application) {
	t.Helper()
	info, err := app.engine.ContainerInspect(t.Context(), containerOf(t, app.engine, app.name, "toskose-manager"))
	if err != nil {
		t.Fatal(err)
	}
	for port, bindings := range info.NetworkSettings.Ports {
		for _, b := range bindings {
			if b.HostIP != "127.0.0.1" {
				t.Errorf("%s is published at %s", port, b.HostIP)
			}
		}
	}
}

var asksByCurl = regexp.MustCompile(`(?m)^ +(curl .*)$`)

// commandsWork has toskose ask by the context that deploy made, and curl as packaging
// said; in the clear, nobody is answered.
func commandsWork(t *testing.T, app *application) {
	t.Helper()
	must(t, "", "toskose", "up", "--timeout", patience, "--context", app.name)
	if r := must(t, "", "toskose", "ps", "-o", "json", "--context", app.name); !strings.Contains(r.stdout, `"keeper"`) {
		t.Errorf("ps: %v", r)
	}
	if r := must(t, "", "toskose", "logs", "keeper", "--context", app.name); !strings.Contains(r.stdout, "store +OK") {
		t.Errorf("logs: %v", r)
	}
	line := asksByCurl.FindStringSubmatch(app.said)
	if line == nil {
		t.Fatalf("packaging names no curl:\n%s", app.said)
	}
	if !strings.Contains(line[1], "--cacert ") {
		t.Errorf("curl is to trust anybody: %s", line[1])
	}
	if r := must(t, "", found(t, "sh"), "-c", strings.Replace(line[1], "curl ", "curl -sSf ", 1)); !strings.Contains(r.stdout, `"box"`) {
		t.Errorf("%s: %v", line[1], r)
	}
	if r := command(t, "", found(t, "curl"), "-sS", "-u", "admin:"+app.password, app.manager+"/api/v1/app"); strings.Contains(r.stdout, "keeper") {
		t.Errorf("it is answered in the clear: %v", r)
	}
}

// annHasACertificate adds a viewer, who shows a certificate in the place of a password.
func annHasACertificate(t *testing.T, app *application, authority signer) {
	t.Helper()
	must(t, "", "toskose", "user", "add", "ann", "--dir", app.dir)
	cert, key := signed(t, "ann", &authority).write(t, t.TempDir(), "ann")
	name := app.name + "-ann"
	must(t, "", "toskose", "context", "create", name, "--manager", strings.Replace(app.manager, "http://", "https://", 1),
		"--ca", filepath.Join(app.dir, "secrets", "tls-ca.crt"), "--server-name", "localhost", "--cert", cert, "--key", key)
	if r := must(t, "", "toskose", "ps", "--context", name); !strings.Contains(r.stdout, "keeper") {
		t.Errorf("ps: %v", r)
	}
	if r := command(t, "", "toskose", "down", "--context", name); r.code == 0 || !strings.Contains(r.stderr, "viewer") {
		t.Errorf("a viewer stops the application: %v", r)
	}
	must(t, "", "toskose", "user", "rm", "ann", "--dir", app.dir)
	if r := command(t, "", "toskose", "ps", "--context", name); r.code == 0 {
		t.Errorf("a user who was removed: %v", r)
	}
	must(t, "", "toskose", "context", "rm", name)
}
