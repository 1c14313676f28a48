package deploy

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/release"
)

func TestAManagerThatStillShowsAContainerOfBeforeIsAskedAgain(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	d, _ := managed(t, &fakeRunner{}, func(w http.ResponseWriter, _ *http.Request) {
		all := nodes("running", "running")
		all[0].Replicas, all[2].Replicas = []replica{{Instance: "old"}}, []replica{{Instance: "stays"}}
		if asked.Add(1) > 2 { // for recall, and before it has noticed
			all[0].Replicas = []replica{{Instance: "new"}, {Instance: "old", Gone: time.Now()}}
		}
		reply(t, w, all)
	})
	d.replaces, d.where.renewed = true, func() map[string]bool { return map[string]bool{"backend": true} }
	if _, err := d.bring(t.Context(), release.Log{}, "pw"); err != nil || asked.Load() != 3 {
		t.Errorf("asked %d times: %v", asked.Load(), err)
	}
}

func of(id, node string) container.Summary {
	return container.Summary{ID: id, Labels: map[string]string{packager.LabelNode: node, projectServiceLabel: "service-of-" + node}}
}

func TestANodeIsRenewedWhereNoneOfItsContainersStayed(t *testing.T) {
	t.Parallel()
	p := &project{
		past: byID([]container.Summary{of("1", "all"), of("2", "some"), of("3", "none")}),
		now:  byID([]container.Summary{of("4", "all"), of("2", "some"), of("5", "some"), of("3", "none"), of("6", "added")}),
	}
	if diff := cmp.Diff(map[string]bool{"all": true, "added": true}, p.renewed()); diff != "" {
		t.Error(diff)
	}
}

func TestAContainerThatSomebodyRemovesMeanwhileIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	there := byID([]container.Summary{of("1", "web"), of("2", "db")})
	p := &project{now: maps.Clone(there)}
	if lost := p.lost(there); lost != nil {
		t.Errorf("all are there: %v", lost)
	}
	delete(there, "1")
	lost := p.lost(there)
	want := []failure{{service: "service-of-web", why: "somebody else has removed its container", final: true}}
	if diff := cmp.Diff(want, lost, cmp.AllowUnexported(failure{})); diff != "" {
		t.Error(diff)
	}
	d, _ := managed(t, &fakeRunner{failed: lost}, func(w http.ResponseWriter, _ *http.Request) { reply(t, w, nodes("running", "stopped")) })
	if _, err := d.wait(t.Context(), "admin", "pw"); err == nil || err.Error() != "service-of-web does not come up" {
		t.Errorf("it ends with %v", err)
	}
}

func TestWhereADeploymentCannotBeNotedNothingIsTouched(t *testing.T) {
	t.Parallel()
	engine := engineOf(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "[]") })
	d, said := onShop(engine)
	d.opts.Dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(d.opts.Dir, release.KeptDir), nil, 0o600); err != nil { // where a folder should be
		t.Fatal(err)
	}
	d.where, d.log, d.release = onProject(d), release.Log{{Release: "before"}}, "now"
	err := d.where.up(t.Context(), release.Log{{Release: "now", Folder: d.opts.Dir}})
	if !errors.Is(err, errUntouched) {
		t.Fatalf("it says %v", err)
	}
	if got := d.failed(t.Context(), err, earlier{running: true}); !errors.Is(got, errUntouched) || said.Len() > 0 {
		t.Errorf("it says %v, %s", got, said)
	}
}

func TestWhatIsInterruptedSaysHowItGoesOn(t *testing.T) {
	t.Parallel()
	d, _ := managed(t, &fakeRunner{}, nil)
	d.kind, d.opts.Dir, d.log, d.release = Compose, "shop-2", release.Log{{Release: "before"}}, "now"
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := d.failed(ctx, ctx.Err(), earlier{running: true})
	want := "cannot deploy \"shop\": context canceled\nit stays as it is: deploying the folder again goes on\n`toskose deploy --rollback shop-2` goes back to release before"
	if err == nil || err.Error() != want {
		t.Errorf("it says %v", err)
	}
}
