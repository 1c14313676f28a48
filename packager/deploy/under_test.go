package deploy

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const operatorKinds = `
*api-resources*) echo applications.toskose.io; echo components.toskose.io ;;`

// belowALevel is a fakeCluster whose folder was packaged below a level.
func belowALevel(t *testing.T, branches string) (dir string, calls func() []string) {
	t.Helper()
	dir, calls = fakeCluster(t, branches)
	text := strings.Replace(kustomizationOfShop, "  annotations:\n", "  annotations:\n    io.toskose.under: asset/robot-1\n", 1)
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, calls
}

func TestAClusterWithoutTheOperatorIsRefused(t *testing.T) {
	dir, calls := belowALevel(t, "")
	_, err := Up(t.Context(), nil, Options{Dir: dir, Target: Kubernetes, Timeout: time.Minute, Environ: os.Environ(), Progress: &bytes.Buffer{}})
	want := `cannot deploy "Shop": install the operator first: ` + "`toskose operator --levels asset -o plant`, then `kubectl apply -k plant` (the cluster has no applications.toskose.io)"
	if err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
	if made := changes(calls()); len(made) > 0 {
		t.Errorf("it has changed something: %v", made)
	}
}

func TestBelowAStoredLevelAnApplicationIsStored(t *testing.T) {
	dir, calls := belowALevel(t, operatorKinds+`
*"apply --kustomize"*) echo "application.toskose.io/shop created" ;;
*"get applications.toskose.io"*) echo '{"items": [{"metadata": {"name": "shop", "uid": "a", "generation": 1}, "status": {"observedGeneration": 1, "ready": "Stored"}}]}' ;;`)
	var said bytes.Buffer
	var goal fakeGoal
	result, err := Up(t.Context(), nil, Options{Dir: dir, Target: Kubernetes, Timeout: time.Minute, Environ: os.Environ(), Progress: &said, Goal: &goal})
	if err != nil || !result.Stored || result.Address != "" || len(goal.managers) > 0 {
		t.Errorf("the result is %+v, and the goal was asked for at %v: %v", result, goal.managers, err)
	}
	recorded := slices.ContainsFunc(calls(), func(c string) bool {
		return strings.HasPrefix(c, "--namespace shop annotate application.toskose.io/shop --overwrite io.toskose.releases=")
	})
	if !recorded {
		t.Errorf("the release is not recorded with the application:\n%s", strings.Join(calls(), "\n"))
	}
}

func TestADeploymentWaitsUntilTheOperatorHasSeenAllComponents(t *testing.T) {
	dir, calls := belowALevel(t, operatorKinds+`
*"apply --kustomize"*) echo "application.toskose.io/shop configured" ;;
*"get applications.toskose.io"*) echo '{"items": [{"metadata": {"name": "shop", "uid": "a", "generation": 2}, "status": {"observedGeneration": 2, "ready": "Deploying", "components": [{"name": "api"}]}}]}' ;;
*"get components.toskose.io"*) echo '{"items": [{"metadata": {"name": "shop-api", "generation": 1, "ownerReferences": [{"kind": "Application", "uid": "a", "controller": true}]},
  "status": {"observedGeneration": 1, "conditions": [{"type": "Conflict", "status": "True", "message": "deployment \"api\" exists, and belongs to no owner"}]}}]}' ;;`)
	_, err := Up(t.Context(), nil, Options{Dir: dir, Target: Kubernetes, Timeout: time.Second, Environ: os.Environ(), Progress: &bytes.Buffer{}})
	want := `the operator is not done after 1s: component "shop-api": deployment "api" exists, and belongs to no owner`
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the error is %v, want one with %s", err, want)
	}
	removed := []string{
		"apply --kustomize " + dir,
		"--namespace shop delete --ignore-not-found --cascade=foreground --wait application.toskose.io/shop",
		"--namespace shop delete " + kinds + " --selector SHOP --cascade=foreground --wait",
	}
	if diff := cmp.Diff(removed, changes(calls())); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func TestWorkloadsOfTheOperatorAreNeitherPrunedNorAnnotated(t *testing.T) {
	dir, calls := belowALevel(t, operatorKinds+`
*"get deployments.apps,statefulsets.apps,jobs.batch,services"*) echo deployment.apps/api deployment.apps/old service/old ;;
*"get deployments.apps,statefulsets.apps,jobs.batch --selector"*name) echo deployment.apps/api deployment.apps/old ;;
*"apply --kustomize"*) echo "application.toskose.io/shop configured" ;;
*"get applications.toskose.io"*) echo '{"items": [{"metadata": {"name": "shop", "uid": "a", "generation": 1}, "status": {"observedGeneration": 1, "ready": "Stored"}}]}' ;;`)
	workloads := `{"items": [
  {"kind": "Deployment", "metadata": {"name": "api", "ownerReferences": [{"kind": "Component", "uid": "c", "controller": true}]}},
  {"kind": "Deployment", "metadata": {"name": "old"}}]}`
	if err := os.WriteFile(filepath.Join(dir, "workloads"), []byte(workloads), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Up(t.Context(), nil, Options{Dir: dir, Target: Kubernetes, Timeout: time.Minute, Environ: os.Environ(), Progress: &bytes.Buffer{}}); err != nil {
		t.Fatal(err)
	}
	want := []string{"apply --kustomize " + dir, "--namespace shop delete --ignore-not-found --cascade=foreground deployment.apps/old service/old"}
	if diff := cmp.Diff(want, changes(calls())); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	for _, c := range calls() {
		if strings.Contains(c, "annotate") && strings.Contains(c, "deployment.apps/api") {
			t.Errorf("a workload of the operator was annotated: %s", c)
		}
	}
}
