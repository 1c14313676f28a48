package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"

	"github.com/docker/docker/client"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/image"
)

// TestWhatIsInUseIsAskedForTheTargets: Compose publishes at an address, and a stack at all.
func TestWhatIsInUseIsAskedForTheTargets(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := "[]"
		switch path.Base(r.URL.Path) {
		case "info":
			answer = `{"ID": "engine", "Swarm": {"ControlAvailable": true, "LocalNodeState": "active"}}`
		case "json":
			answer = `[{"Id": "1", "Names": ["/other"], "State": "running", "Ports": [{"IP": "127.0.0.2", "PublicPort": 10000, "PrivatePort": 80, "Type": "tcp"}]}]`
		}
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	docker, err := client.NewClientWithOpts(client.WithHost("tcp://"+server.Listener.Addr().String()), client.WithVersion("1.41"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { docker.Close() })
	plan := &packager.Plan{App: "shop", Services: []packager.Service{{
		Name: "toskose-manager", IsManager: true, Ports: []packager.Port{{Host: 10000, Container: 10000, Protocol: "tcp", Bind: "127.0.0.1"}},
	}}}
	for targets, want := range map[string]string{"compose": "", "swarm": "port 10000/tcp is in use", "swarm compose": "port 10000/tcp is in use"} {
		f := packageFlags{images: imageFlags{opts: image.Options{Output: image.Engine}}, targets: targetFlags{targets: strings.Fields(targets)}}
		got := strings.Join(f.inUse(t.Context(), docker, plan), "\n")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("for %s: %q, want %q", targets, got, want)
		}
	}
}
