package project

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/deploy/backend"
	"github.com/toskose/toskose/packager/deploy/engine"
	testengine "github.com/toskose/toskose/packager/internal/engine"
	"github.com/toskose/toskose/packager/output"
	"github.com/toskose/toskose/packager/release"
)

// onShop is the application "shop" on an engine that answers by a function.
func onShop(t *testing.T, answer http.HandlerFunc) *Project {
	t.Helper()
	app := &backend.Application{Dir: t.TempDir(), Info: output.Info{App: "shop"}, Progress: t.Output()}
	return Of(&engine.Engine{Application: app, Docker: testengine.Fake(t, answer), ID: "engine"}, "")
}

func of(id, node string) container.Summary {
	return container.Summary{ID: id, Labels: map[string]string{packager.LabelNode: node, compose.LabelService: "service-of-" + node}}
}

func TestANodeIsRenewedWhereNoneOfItsContainersStayed(t *testing.T) {
	t.Parallel()
	before := byID([]container.Summary{of("1", "all"), of("2", "some"), of("3", "none")})
	after := byID([]container.Summary{of("4", "all"), of("2", "some"), of("5", "some"), of("3", "none"), of("6", "added")})
	if diff := cmp.Diff(map[string]bool{"all": true, "added": true}, renewedNodes(before, after)); diff != "" {
		t.Error(diff)
	}
}

func TestAContainerThatSomebodyRemovesMeanwhileIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	there := byID([]container.Summary{of("1", "web"), of("2", "db")})
	p := &Project{now: maps.Clone(there)}
	if lost := p.lost(there); lost != nil {
		t.Errorf("all are there: %v", lost)
	}
	delete(there, "1")
	lost := p.lost(there)
	want := []backend.Failure{{Service: "service-of-web", Why: "its container was removed by another program", Final: true}}
	if diff := cmp.Diff(want, lost); diff != "" {
		t.Error(diff)
	}
}

func TestWhereADeploymentCannotBeNotedNothingIsTouched(t *testing.T) {
	t.Parallel()
	p := onShop(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "[]") })
	if err := os.WriteFile(filepath.Join(p.Dir, release.KeptDir), nil, 0o600); err != nil { // where a folder should be
		t.Fatal(err)
	}
	p.Log = release.Log{{Release: "before"}}
	if _, err := p.Apply(t.Context(), release.Log{{Release: "now", Folder: p.Dir}}); !errors.Is(err, backend.ErrUntouched) {
		t.Fatalf("it says %v", err)
	}
}
