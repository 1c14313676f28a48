package project

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker/docker/client"

	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/deploy/backend"
	"github.com/toskose/toskose/packager/deploy/engine"
	"github.com/toskose/toskose/packager/output"
)

func TestWhatIsForASwarmOnlyIsRefusedWhereThereIsNone(t *testing.T) {
	t.Parallel()
	app := &backend.Application{Dir: t.TempDir(), Info: output.Info{App: "shop"}}
	p := &Project{Engine: &engine.Engine{Application: app}}
	if err := p.checkFolder(); err == nil || !strings.Contains(err.Error(), "without docker-compose.local.yml, and the engine is not in one: package it with --target compose") {
		t.Errorf("without the file for a single engine: %v", err)
	}
	if err := os.WriteFile(filepath.Join(app.Dir, compose.LocalFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.checkFolder(); err != nil {
		t.Error(err)
	}
	for deploy, want := range map[string]string{"{replicas: 1}": "", "{replicas: 3}": `container "web": its 3 replicas cannot all publish port 8000 of a single engine`} {
		file := "services: {web: {ports: ['8000:80'], deploy: " + deploy + "}, worker: {deploy: {replicas: 5}}}"
		if err := os.WriteFile(filepath.Join(app.Dir, compose.LocalFile), []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := p.checkFolder(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("with %s: %v", deploy, err)
		}
	}
	if err := os.WriteFile(filepath.Join(app.Dir, compose.LocalFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for host, refused := range map[string]bool{"tcp://10.0.0.7:2375": true, "tcp://localhost:2375": false, "tcp://[::1]:2375": false, "unix:///x": false} {
		var err error
		if p.Docker, err = client.NewClientWithOpts(client.WithHost(host)); err != nil {
			t.Fatal(err)
		}
		app.Info.Manager.Bind = "127.0.0.1"
		if err := p.checkFolder(); (err != nil) != refused || refused && !strings.Contains(err.Error(), "at 127.0.0.1 of the engine's machine, 10.0.0.7, where") {
			t.Errorf("with the engine at %s: %v", host, err)
		}
		app.Info.Manager.Bind = "10.0.0.7"
		at, err := p.Host(t.Context())
		if err := errors.Join(err, p.checkFolder()); err != nil || at != "10.0.0.7:0" {
			t.Errorf("with the engine at %s it is %s, %v", host, at, err)
		}
	}
	app.Info.External = []string{"shop_manager-password"}
	if err := p.checkFolder(); err == nil || !strings.Contains(err.Error(), "(--secrets external), and the engine is not in a swarm") {
		t.Errorf("with secrets of a swarm: %v", err)
	}
}
