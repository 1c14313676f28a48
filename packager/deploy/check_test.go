package deploy

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/docker/docker/client"
	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/output"
)

func TestASwarmThatLacksSecretsIsToldHowTheyAreMade(t *testing.T) {
	t.Parallel()
	have := []string{"shop_manager-password", "other_backend-password"}
	const command = "docker secret create %s FILE"
	err := missingSecrets("swarm", []string{"shop_backend-password", "shop_manager-password", "shop_api.key"}, have, command)
	want := "the swarm lacks 2 of the 3 external secrets; create them:\n" +
		"    docker secret create shop_backend-password FILE\n    docker secret create shop_api.key FILE"
	if err == nil || err.Error() != want {
		t.Errorf("error %v\nwant  %s", err, want)
	}
	if err := missingSecrets("swarm", []string{"shop_manager-password"}, have, command); err != nil {
		t.Error(err)
	}
}

func TestWhatIsForASwarmOnlyIsRefusedWhereThereIsNone(t *testing.T) {
	t.Parallel()
	d := &deployer{opts: Options{Dir: t.TempDir()}, info: output.Info{App: "shop"}}
	p := &project{d: d}
	if err := p.check(t.Context()); err == nil || !strings.Contains(err.Error(), "without docker-compose.local.yml, and the engine is not in one: package it with --target compose") {
		t.Errorf("without the file for a single engine: %v", err)
	}
	if err := os.WriteFile(filepath.Join(d.opts.Dir, compose.LocalFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.check(t.Context()); err != nil {
		t.Error(err)
	}
	for host, refused := range map[string]bool{"tcp://10.0.0.7:2375": true, "tcp://localhost:2375": false, "tcp://[::1]:2375": false, "unix:///x": false} {
		var err error
		if d.engine, err = client.NewClientWithOpts(client.WithHost(host)); err != nil {
			t.Fatal(err)
		}
		d.info.Manager.Bind = "127.0.0.1"
		if err := p.check(t.Context()); (err != nil) != refused || refused && !strings.Contains(err.Error(), "at 127.0.0.1 of the engine's machine, 10.0.0.7, where") {
			t.Errorf("with the engine at %s: %v", host, err)
		}
		d.info.Manager.Bind = "10.0.0.7"
		if err := p.check(t.Context()); err != nil || p.host() != "10.0.0.7:0" {
			t.Errorf("with the engine at %s it is %s, %v", host, p.host(), err)
		}
	}
	d.info.External = []string{"shop_manager-password"}
	if err := p.check(t.Context()); err == nil || !strings.Contains(err.Error(), "(--secrets external), and the engine is not in a swarm") {
		t.Errorf("with secrets of a swarm: %v", err)
	}
}

func TestWhoDoesNotKnowThePasswordAsksWhetherAllIsReady(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	d, said := managed(t, &fakeRunner{}, func(w http.ResponseWriter, r *http.Request) {
		if _, _, sent := r.BasicAuth(); sent || r.URL.Path != "/readyz" {
			t.Errorf("asked %s with a password: %v", r.URL, sent)
		}
		switch asked.Add(1) {
		case 1:
			w.WriteHeader(http.StatusBadGateway)
		case 2:
			w.WriteHeader(http.StatusServiceUnavailable)
			reply(t, w, map[string]any{"status": 503, "nodes": []string{"frontend"}})
		default:
			reply(t, w, map[string]any{"status": "ready"})
		}
	})
	d.info.External = []string{"shop_manager-password"}
	if _, err := d.wait(t.Context(), "admin", ""); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("backend: answers\nfrontend: answers\n", said.String()); diff != "" {
		t.Error(diff)
	}
}
