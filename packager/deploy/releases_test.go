package deploy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/packager/command"
	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/deploy/backend"
	testengine "github.com/toskose/toskose/packager/internal/engine"
	"github.com/toskose/toskose/packager/kubernetes"
	"github.com/toskose/toskose/packager/release"
)

// upgraded is a folder whose release does not come up on a cluster, and the release that runs
// there before.
func upgraded(t *testing.T) (dir string, old release.Record, calls func() []string) {
	t.Helper()
	manager := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" {
			reply(t, w, nodes("running", "running"))
		}
	}))
	t.Cleanup(manager.Close)
	was := t.TempDir()
	dir, calls = fakeCluster(t, `
*"apply --kustomize `+was+`") touch "$(dirname "$0")/back" ;;
*"apply --kustomize"*) touch "$(dirname "$0")/newer" ;;
*"get deployments.apps,statefulsets.apps,jobs.batch --selector"*name) echo deployment.apps/store ;;
*jobs.batch,pods*) if [ -e "$(dirname "$0")/back" ] || [ ! -e "$(dirname "$0")/newer" ]; then cat <<'JSON'
{"items": [`+readyManager+","+readyPod+`]}
JSON
else cat <<'JSON'
{"items": [`+readyManager+","+readyPod+","+crashing+`]}
JSON
fi ;;
*"logs store-1"*) echo cannot bind ;;
*port-forward*) echo "Forwarding from `+strings.TrimPrefix(manager.URL, "http://")+` -> 10000"; exec sleep 600 ;;`)
	for name, text := range map[string]string{kubernetes.Kustomization: kustomizationOfShop + "# before\n", "secrets/manager-password": "pw\n"} {
		path := filepath.Join(was, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	id, err := release.ID(was)
	if err != nil {
		t.Fatal(err)
	}
	old = release.Record{Release: id, At: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), By: "ada@shop", Folder: was}
	var workload command.Object
	workload.Kind, workload.Metadata.Name = "Deployment", "store"
	workload.Metadata.Annotations = map[string]string{release.Label: release.Log{old}.Encode()}
	data, err := json.Marshal(map[string]any{"items": []command.Object{workload}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "workloads"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, old, calls
}

func TestAnUpgradeThatDoesNotComeUpIsTakenBack(t *testing.T) {
	for _, keep := range []bool{false, true} {
		dir, old, calls := upgraded(t)
		var said bytes.Buffer
		backs := 0
		_, err := Up(t.Context(), nil, Options{
			Dir: dir, Target: Kubernetes, Timeout: time.Minute, Environ: os.Environ(), Progress: &said, Keep: keep, By: "eve@shop",
			Goal: &fakeGoal{restore: func(_ context.Context, undone bool) error {
				if backs++; !undone {
					t.Error("it is said to be deployed")
				}
				return nil
			}},
		})
		id, failed := release.ID(dir)
		if failed != nil {
			t.Fatal(failed)
		}
		want := []string{"apply --kustomize " + dir}
		says := `cannot deploy "Shop": store has failed 4 times
  store: pod store-1 was restarted 3 times: it ended with code 7 (Error)
    cannot bind`
		if !keep {
			want = append(want, "apply --kustomize "+old.Folder)
			says += "\nrelease " + old.Release + ", which ran before, runs again"
		}
		if err == nil || err.Error() != says {
			t.Errorf("error %v\nwant  %s", err, says)
		}
		if diff := cmp.Diff(want, changes(calls())); diff != "" {
			t.Error(diff)
		}
		var logs []release.Log
		for _, call := range calls() {
			if _, log, ok := strings.Cut(call, "--overwrite "+release.Label+"="); ok {
				logs = append(logs, release.Decode(log))
			}
		}
		last := logs[len(logs)-1]
		now, _ := last.Current()
		if (now.Release == id) != keep || (backs == 1) == keep || keep && (now.Before != old.Release || now.By != "eve@shop") {
			t.Errorf("it is at %+v, and was asked %d times", now, backs)
		}
	}
}

func TestARollbackDeploysTheReleaseBefore(t *testing.T) {
	dir, old, calls := upgraded(t)
	id, err := release.ID(dir)
	if err != nil {
		t.Fatal(err)
	}
	opts := Options{Dir: dir, Target: Kubernetes, Timeout: time.Minute, Environ: os.Environ(), Progress: &bytes.Buffer{}}
	if _, err := Rollback(t.Context(), nil, opts); err == nil || !strings.Contains(err.Error(), "release "+old.Release+" is the first one") {
		t.Errorf("error %v", err)
	}
	log := release.Log{old}.Begin(release.Record{Release: id, At: old.At.Add(time.Hour), Folder: dir}).Complete()
	var workload command.Object
	workload.Kind, workload.Metadata.Annotations = "Deployment", map[string]string{release.Label: log.Encode()}
	data, err := json.Marshal(map[string]any{"items": []command.Object{workload}})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "workloads"), data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(release.Keep(old.Folder, old.Release), release.KeepGoal(old, []byte("up, then"))); err != nil {
		t.Fatal(err)
	}
	var goal fakeGoal
	opts.Goal = &goal
	result, err := Rollback(t.Context(), nil, opts)
	if err != nil || result.Dir != old.Folder {
		t.Fatalf("%+v, %v", result, err)
	}
	if goal.loaded != "up, then" {
		t.Errorf("the goal of the release before is %q", goal.loaded)
	}
	if diff := cmp.Diff([]string{"apply --kustomize " + old.Folder}, changes(calls())); diff != "" {
		t.Error(diff)
	}
}

// TestAnInterruptedRollbackIsResumed interrupts a rollback when its containers run: the same command
// returns to the same release again, and not to the one before it.
func TestAnInterruptedRollbackIsResumed(t *testing.T) {
	manager := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" {
			reply(t, w, nodes("running", "running"))
		}
	}))
	t.Cleanup(manager.Close)
	third, _ := fakeCluster(t, `
*annotate*) for word; do case "$word" in io.toskose.releases=*)
  log=$(printf %s "${word#*=}" | sed 's/"/\\"/g')
  echo '{"items": [{"kind": "Deployment", "metadata": {"name": "store", "annotations": {"io.toskose.releases": "'"$log"'"}}}]}' >"$(dirname "$0")/../workloads" ;; esac; done ;;
*"get deployments.apps,statefulsets.apps,jobs.batch --selector"*name) echo deployment.apps/store ;;
*jobs.batch,pods*) echo '{"items": [`+readyManager+","+readyPod+`]}' ;;
*port-forward*) echo "Forwarding from `+strings.TrimPrefix(manager.URL, "http://")+` -> 10000"; exec sleep 600 ;;`)
	first, second := t.TempDir(), t.TempDir()
	opts := Options{Target: Kubernetes, Timeout: time.Minute, Environ: os.Environ()}
	for i, dir := range []string{first, second, third} {
		text := fmt.Sprintf("%s# version %d\n", kustomizationOfShop, i)
		err := os.WriteFile(filepath.Join(dir, kubernetes.Kustomization), []byte(text), 0o600)
		if err == nil && dir != third {
			err = os.CopyFS(filepath.Join(dir, "secrets"), os.DirFS(filepath.Join(third, "secrets")))
		}
		if err != nil {
			t.Fatal(err)
		}
		opts.Dir, opts.Progress = dir, &bytes.Buffer{}
		if _, err := Up(t.Context(), nil, opts); err != nil {
			t.Fatal(err)
		}
	}
	ctx, interrupt := context.WithCancel(t.Context())
	opts.Goal = &fakeGoal{restore: func(ctx context.Context, _ bool) error {
		interrupt()
		return ctx.Err()
	}}
	if result, err := Rollback(ctx, nil, opts); !errors.Is(err, context.Canceled) {
		t.Fatalf("%+v, %v", result, err)
	}
	var said bytes.Buffer
	opts.Goal, opts.Progress = nil, &said
	result, err := Rollback(t.Context(), nil, opts)
	if err != nil || result.Dir != second {
		t.Errorf("the rollback is resumed in %q, want %q: %v", result.Dir, second, err)
	}
	if !strings.Contains(said.String(), "Shop: resuming the rollback of 20") {
		t.Errorf("it says\n%s", said.String())
	}
	if result, err = Rollback(t.Context(), nil, opts); err != nil || result.Dir != first {
		t.Errorf("the next rollback is in %q, want %q: %v", result.Dir, first, err)
	}
}

func TestWhatTakesThePlaceOfAReleaseThatIsGoneSaysThatNobodyKnowsWhatChanges(t *testing.T) {
	t.Parallel()
	d, said := managed(t, &fakeBackend{}, nil)
	gone := filepath.Join(t.TempDir(), "gone")
	d.kind, d.release, d.Log = Compose, "now", release.Log{{Release: "before", Folder: gone, By: "ada@shop"}}
	d.reportDifferences()
	want := "shop: release now replaces before; the changes are unknown: release before was deployed from \"" + gone + "\" by ada@shop, and cannot be read there: "
	if !strings.HasPrefix(said.String(), want) {
		t.Errorf("it says %q", said)
	}
}

func TestWhatCannotBeDeployedAgainKeepsItsLog(t *testing.T) {
	was := t.TempDir()
	for name, text := range map[string]string{
		compose.SwarmFile:          "x-toskose: {app: shop, manager: {port: 10000, bind: 127.0.0.1}}\n",
		compose.LocalFile:          "{}\n",
		"secrets/manager-password": "pw\n",
	} {
		file := filepath.Join(was, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	id, err := release.ID(was)
	if err != nil {
		t.Fatal(err)
	}
	docker := testengine.Fake(t, func(w http.ResponseWriter, r *http.Request) {
		answer := "[]"
		switch path.Base(r.URL.Path) {
		case "info":
			answer = `{"ID": "engine", "OSType": "linux"}`
		case "version", "volumes":
			answer = "{}"
		}
		_, _ = io.WriteString(w, answer)
	})
	d, _ := managed(t, &fakeBackend{}, nil)
	d.engine, d.opts.Target = docker, Compose
	d.Log = release.Log{{Release: id, Folder: was}}
	t.Setenv("PATH", t.TempDir()) // has no Compose
	if err := d.redeploy(t.Context(), d.Log[0]); !errors.Is(err, backend.ErrUntouched) {
		t.Fatalf("it says %v", err)
	}
	if now, _ := release.ReadLog(was, "engine").Current(); now.Release != id {
		t.Errorf("it is noted that %+v runs", now)
	}
}
