package deploy

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/output"
)

// TestOnlySecretsArePublished: on a cluster, rotating them applies nothing else of the folder.
func TestOnlySecretsArePublished(t *testing.T) {
	dir, calls := fakeCluster(t, `
*"kustomize "*) cat <<'YAML'
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: Secret
metadata: {name: backend-password, annotations: {io.toskose.secret: "backend-password=01020304"}}
data: {backend-password: "b2xkCm5ldw=="}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: backend}
YAML
;;
*"apply --filename -"*) cat >"$(dirname "$0")/../applied" ;;
*"get deployments.apps,statefulsets.apps,jobs.batch --selector"*name) echo deployment.apps/backend ;;
`)
	running, err := Open(t.Context(), nil, Options{Dir: dir, Target: Kubernetes, Environ: os.Environ(), Progress: io.Discard})
	if err == nil {
		err = running.Find(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	defer running.Close()
	if err := running.Publish(t.Context()); err != nil {
		t.Fatal(err)
	}
	applied, err := os.ReadFile(filepath.Join(dir, "applied"))
	if err != nil {
		t.Fatal(err)
	}
	if text := string(applied); !strings.Contains(text, "b2xkCm5ldw==") || !strings.Contains(text, "backend-password=01020304") || strings.Contains(text, "Deployment") || strings.Contains(text, "Namespace") {
		t.Errorf("applied was\n%s", text)
	}
	if got := changes(calls()); !slices.Equal(got, []string{"--namespace shop apply --filename -"}) {
		t.Errorf("calls %q", got)
	}
	if info := running.Info(); info.App != "Shop" || running.OnSwarm() {
		t.Errorf("%+v", info)
	}
}

func TestOnlyASwarmHasServices(t *testing.T) {
	t.Parallel()
	if _, err := (&Running{&deployer{}}).Services(t.Context()); err == nil || errors.Is(err, errDenied) {
		t.Error("an application elsewhere has services of a swarm")
	}
}

// TestNothingIsDeployedWhileSecretsAreReplaced: the folder has neither what was nor what will be.
func TestNothingIsDeployedWhileSecretsAreReplaced(t *testing.T) {
	dir, calls := fakeCluster(t, `*) echo "{}" ;;`)
	if err := os.MkdirAll(filepath.Join(dir, output.SecretsDir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := output.WriteSecret(dir, packager.RotationFile, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	opts := Options{Dir: dir, Target: Kubernetes, Environ: os.Environ(), Progress: io.Discard}
	_, up := Up(t.Context(), nil, opts)
	_, back := Rollback(t.Context(), nil, opts)
	for _, err := range []error{up, back} {
		if err == nil || !strings.Contains(err.Error(), "`toskose rotate "+dir+"` to finish") {
			t.Errorf("error %v", err)
		}
	}
	if got := changes(calls()); len(got) > 0 {
		t.Errorf("calls %q", got)
	}
}
