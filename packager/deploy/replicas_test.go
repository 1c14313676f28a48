package deploy

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toskose/toskose/packager/deploy/backend"
	"github.com/toskose/toskose/packager/deploy/engine"
	"github.com/toskose/toskose/packager/deploy/project"
	testengine "github.com/toskose/toskose/packager/internal/engine"
	"github.com/toskose/toskose/packager/release"
)

func TestAManagerThatStillShowsAContainerOfBeforeIsAskedAgain(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	d, _ := managed(t, &fakeBackend{renewed: map[string]bool{"backend": true}}, func(w http.ResponseWriter, _ *http.Request) {
		all := nodes("running", "running")
		all[0].Replicas, all[2].Replicas = []replica{{Instance: "old"}}, []replica{{Instance: "stays"}}
		if asked.Add(1) > 2 { // for listReplicas, and before it has noticed
			all[0].Replicas = []replica{{Instance: "new"}, {Instance: "old", Gone: time.Now()}}
		}
		reply(t, w, all)
	})
	d.kind, d.replaces, d.password = Compose, true, "pw"
	if err := errors.Join(d.listReplicas(t.Context()), d.apply(t.Context()), d.waitForUnits(t.Context())); err != nil || asked.Load() != 3 {
		t.Errorf("asked %d times: %v", asked.Load(), err)
	}
}

func TestWhatIsGoneForGoodIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	lost := []backend.Failure{{Service: "service-of-web", Why: "its container was removed by another program", Final: true}}
	d, _ := managed(t, &fakeBackend{failed: lost}, func(w http.ResponseWriter, _ *http.Request) { reply(t, w, nodes("running", "stopped")) })
	if _, err := d.wait(t.Context(), "admin", "pw"); err == nil || err.Error() != "service-of-web does not come up" {
		t.Errorf("it ends with %v", err)
	}
}

func TestWhereADeploymentCannotBeNotedNothingIsTouched(t *testing.T) {
	t.Parallel()
	docker := testengine.Fake(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "[]") })
	d, said := managed(t, &fakeBackend{}, nil)
	d.Dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(d.Dir, release.KeptDir), nil, 0o600); err != nil { // where a folder should be
		t.Fatal(err)
	}
	d.use(project.Of(&engine.Engine{Application: d.Application, Docker: docker}, ""))
	d.Log, d.release = release.Log{{Release: "before"}}, "now"
	_, err := d.applier.Apply(t.Context(), release.Log{{Release: "now", Folder: d.Dir}})
	if !errors.Is(err, backend.ErrUntouched) {
		t.Fatalf("it says %v", err)
	}
	if got := d.failedAfter(t.Context(), err, backend.Existing{Running: true}); !errors.Is(got, backend.ErrUntouched) || said.Len() > 0 {
		t.Errorf("it says %v, %s", got, said)
	}
}

func TestWhatIsInterruptedSaysHowItGoesOn(t *testing.T) {
	t.Parallel()
	d, _ := managed(t, &fakeBackend{}, nil)
	d.kind, d.Dir, d.release = Compose, "shop-2", "now"
	d.next = release.Log{{Release: "before"}}.Begin(release.Record{Release: "now"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := d.failedAfter(ctx, ctx.Err(), backend.Existing{Running: true})
	want := "cannot deploy \"shop\": context canceled\nit stays as it is: deploying the folder again resumes it\n`toskose deploy --rollback shop-2` goes back to release before"
	if err == nil || err.Error() != want {
		t.Errorf("it says %v", err)
	}
}
