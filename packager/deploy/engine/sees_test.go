package engine

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"github.com/toskose/toskose/packager/deploy/backend"
	testengine "github.com/toskose/toskose/packager/internal/engine"
	"github.com/toskose/toskose/packager/output"
)

func TestAnEngineSaysWhatItsMachineHas(t *testing.T) {
	t.Parallel()
	docker := testengine.Connect(t)
	app := "toskose-test-seen"
	testengine.Import(t, docker, "toskose-test-seen:1", map[string]string{"f": "x"}, "VOLUME /data", "LABEL io.toskose.app="+app)
	e := &Engine{Application: &backend.Application{Info: output.Info{App: app}}, Docker: docker}
	here := t.TempDir()
	for path, want := range map[string]bool{here: true, filepath.Join(here, "nothing"): false} {
		if seen, err := e.Sees(t.Context(), path); err != nil || seen != want {
			t.Errorf("%s is seen: %v, %v", path, seen, err)
		}
	}
}

// TestTheProbeOfACommandThatWasKilledIsRemoved: the kill came between making it and removing it.
func TestTheProbeOfACommandThatWasKilledIsRemoved(t *testing.T) {
	t.Parallel()
	docker := testengine.Connect(t)
	app := "toskose-test-killed"
	testengine.Import(t, docker, app+":1", map[string]string{"f": "x"}, "LABEL io.toskose.app="+app)
	e := &Engine{Application: &backend.Application{Info: output.Info{App: app}}, Docker: docker}
	left := func() container.CreateResponse {
		t.Helper()
		made, err := docker.ContainerCreate(t.Context(), &container.Config{Image: app + ":1", Cmd: []string{"true"}}, nil, nil, nil, e.probe())
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	first := left()
	if seen, err := e.Sees(t.Context(), t.TempDir()); err != nil || !seen {
		t.Errorf("seen %v, %v", seen, err)
	}
	second := left()
	if err := e.RemoveProbe(t.Context()); err != nil {
		t.Error(err)
	}
	for _, id := range []string{first.ID, second.ID} {
		if _, err := docker.ContainerInspect(t.Context(), id); !errdefs.IsNotFound(err) {
			t.Errorf("container %s is left: %v", id, err)
		}
	}
}

// TestAContainerThatAsksGoesWithItsVolumes: an image may ask for some, which the engine makes with the container.
func TestAContainerThatAsksGoesWithItsVolumes(t *testing.T) {
	t.Parallel()
	var removed string
	e, _ := onShop(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/images/json"):
			_, _ = io.WriteString(w, `[{"Id": "sha256:1"}]`)
		case r.Method == http.MethodDelete:
			removed = r.URL.RequestURI()
			w.WriteHeader(http.StatusNoContent)
		default:
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, `{"Id": "probe"}`)
		}
	})
	if seen, err := e.Sees(t.Context(), "/somewhere"); err != nil || !seen {
		t.Fatalf("seen %v, %v", seen, err)
	}
	if !strings.HasSuffix(removed, "/containers/probe?v=1") {
		t.Errorf("removed by %s", removed)
	}
}
