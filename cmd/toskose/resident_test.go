//go:build !windows

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
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/freeport"
	"github.com/toskose/toskose/internal/testapp"
	"github.com/toskose/toskose/internal/testunit"
	"github.com/toskose/toskose/manager/access"
	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/packager/output"
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/tosca"
	"github.com/toskose/toskose/tosca/csar"
)

// nodes are the addresses of containers by their nodes' names.
type nodes map[string]netip.AddrPort

func (n nodes) Replicas(_ context.Context, alias string, _ int) ([]netip.AddrPort, error) {
	return []netip.AddrPort{n[alias]}, nil
}

func (nodes) Clients(context.Context, string) ([]netip.Addr, bool, error) { return nil, true, nil }

func (n nodes) Running(_ context.Context, alias string, _ []int) ([]netip.Addr, error) {
	return []netip.Addr{n[alias].Addr()}, nil
}

// resident is an application as it was packaged, whose containers are folders of this machine:
// its units are real, and so are its manager and, but for those of Thinking, its scripts.
type resident struct {
	handler    http.Handler
	port       int      // the manager's
	units      nodes    // by node
	folders    []string // of the containers
	password   string
	components []string
	open       int // what listens at 8000 in the scripts of the application listens here
}

// settle packages an archive into dir, and has it run from there until the test ends.
func settle(t *testing.T, archive, dir string, components ...map[string]config.Component) *resident {
	t.Helper()
	r := &resident{port: freeport.Find(t), units: nodes{}, open: freeport.Find(t)}
	cfg := config.Config{Manager: config.Manager{Port: r.port}}
	for _, settings := range components {
		cfg.Nodes = map[string]config.Node{"web": {Components: settings}}
	}
	app, plan := packaged(t, archive, dir, cfg)
	read := func(name string) func() ([]byte, error) {
		return func() ([]byte, error) { return os.ReadFile(filepath.Join(dir, "secrets", name)) }
	}
	password := func(node string) string {
		text, err := read(node + "-password")()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(text))
	}
	if text, err := read("manager-password")(); err == nil {
		r.password = strings.TrimSpace(string(text))
	}
	for _, c := range app.Components {
		r.components = append(r.components, c.Name)
	}
	for _, node := range app.Nodes {
		r.units[node.Name] = netip.MustParseAddrPort("127.0.0.1:9")
	}
	for _, image := range plan.Images {
		if image.Unit {
			r.units[image.Node] = r.container(t, archive, image, password(image.Node))
		}
	}
	users := func() ([]byte, error) {
		if text, err := read("manager-users")(); err == nil {
			return text, nil
		}
		return []byte(`{"users": []}`), nil
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(r.port)))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range plan.Document.Nodes {
		if n.Unit != nil {
			n.Unit.Digest = "" // the configurations are adapted to this machine
		}
	}
	server := testapp.Serve(t, plan.Document, testapp.Options{
		Found: r.units, Passwords: func(node string) []string { return []string{password(node)} }, Listen: listener,
		Access: access.Options{First: "admin", Password: read("manager-password"), Users: users, SecretKey: read("manager-secret-key")},
	})
	t.Cleanup(server.CloseClientConnections)
	r.handler = server.Config.Handler
	if standsIn(archive) { // an execution that pages ask for
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/v1/node/backend/api/create", strings.NewReader(`{"id": "first"}`))
		req.SetBasicAuth("admin", r.password)
		w := httptest.NewRecorder()
		if r.handler.ServeHTTP(w, req); w.Code != http.StatusOK {
			t.Fatalf("create of api: %d %s", w.Code, w.Body)
		}
	}
	return r
}

// standsIn reports whether an application's scripts are others.
func standsIn(archive string) bool { return strings.HasSuffix(archive, "thinking") }

// serveTLS serves the API over TLS, too, with a certificate for localhost of an authority in a file.
func (r *resident) serveTLS(t *testing.T, authority string) (address string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "an authority"}, NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(r.handler)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// packaged writes an application's folder without an engine.
func packaged(t *testing.T, archive, dir string, cfg config.Config) (*spec.Application, *packager.Plan) {
	t.Helper()
	files, err := csar.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	app, list, err := tosca.Load(t.Context(), files, tosca.Options{})
	if err != nil {
		t.Fatal(err, list)
	}
	plan, err := packager.New(app, files, cfg, packager.Options{Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	target := compose.Target(compose.Options{EndpointMode: compose.EndpointVIP, PublishMode: compose.PublishIngress})
	if err := output.Write(dir, plan, output.Options{Random: rand.Reader, Now: time.Now(), Targets: []output.Target{target}}); err != nil {
		t.Fatal(err)
	}
	return app, plan
}

// container lays out an image in a folder, and runs its unit.
func (r *resident) container(t *testing.T, archive string, image packager.Image, password string) netip.AddrPort {
	t.Helper()
	top := t.TempDir()
	r.folders = append(r.folders, top)
	open := strconv.Itoa(r.open)
	here := strings.NewReplacer("/srv/", top+"/srv/", "/tmp/", top+"/tmp/", "/data/", top+"/data/", "8000", open)
	for _, dir := range []string{"srv", "tmp", "data", "toskose/state/logs", "toskose/documents", "toskose/unit"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var conf, document string
	for _, f := range image.Files {
		text, path := string(f.Data), filepath.Join(top, f.Path)
		if f.Source != "" {
			data, err := os.ReadFile(filepath.Join(archive, filepath.FromSlash(f.Source)))
			if err != nil {
				t.Fatal(err)
			}
			text = here.Replace(string(data))
		}
		var err error
		switch {
		case f.Dir:
			err = os.MkdirAll(path, 0o755)
		case f.Path == packager.UnitConfPath:
			conf = strings.NewReplacer("/toskose/", top+"/toskose/", "toskose_ready_tcp=8000", "toskose_ready_tcp="+open).Replace(text)
		case f.Path == packager.ContainerPath:
			document = strings.ReplaceAll(text, "/toskose/", top+"/toskose/")
		case standsIn(archive) && strings.HasSuffix(path, ".sh"):
			err = os.WriteFile(path, []byte(standIn(f.Source, top)), 0o755)
		default:
			err = os.WriteFile(path, []byte(text), os.FileMode(f.Mode))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if standsIn(archive) {
		conf = regexp.MustCompile(`(?m)^toskose_ready_.*\n`).ReplaceAllString(conf, "")
	}
	return testunit.RunWith(t, func(folder string, port uint16) []byte {
		if err := os.WriteFile(filepath.Join(folder, "container.json"), []byte(document), 0o600); err != nil {
			t.Fatal(err)
		}
		conf := strings.Replace(conf, "*:%(ENV_SUPERVISORD_PORT)s", fmt.Sprintf("127.0.0.1:%d", port), 1)
		return []byte(strings.Replace(conf, "[supervisord]\n", "[supervisord]\ntoskose_documents="+top+"/toskose/documents\n", 1))
	}, "SUPERVISORD_LOG_LEVEL=INFO", "SUPERVISORD_USER=admin", "SUPERVISORD_PASSWORD="+password).Addr
}

// standIn is in the place of a script of Thinking, which needs a store and the base's Python.
func standIn(name, top string) string {
	pid := filepath.Join(top, "tmp", filepath.Base(filepath.Dir(name))+".pid")
	script := "#!/bin/sh\necho " + name + "\n"
	switch filepath.Base(name) {
	case "start.sh":
		script += "sleep 100000 &\necho $! >" + pid + "\n"
	case "stop.sh":
		script += "kill $(cat " + pid + ")\n"
	}
	return script
}
