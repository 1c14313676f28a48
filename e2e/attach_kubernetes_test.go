//go:build kubernetes

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/image"

	"github.com/toskose/toskose/internal/freeport"
)

// attachedPods are a Deployment of an image that runs supervisord, and one that does not.
const attachedPods = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: main, image: "docker.io/library/NAME-web:latest", imagePullPolicy: IfNotPresent}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: store}
spec:
  selector: {matchLabels: {app: store}}
  template:
    metadata: {labels: {app: store}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: store, image: "docker.io/library/busybox:1.36", imagePullPolicy: IfNotPresent, command: [sleep, "100000"]}]
`

// TestAWorkloadIsAttachedAndRestoredOnKubernetes applies a kustomization, the one of toskose attach, and the first one again.
func TestAWorkloadIsAttachedAndRestoredOnKubernetes(t *testing.T) {
	p := newComposedOf(t, "services: {web: {image: NAME-web, build: FOLDER/web}}\n")
	folder := p.attachOnCluster(t, attachedPods, "web")
	eventually(t, "both replicas and store are found", func() bool {
		r := commandWith(t, p.env, p.dir, "toskose", "ps")
		return strings.Count(r.stdout, "web/cron ") == 2 && strings.Count(r.stdout, " running ") >= 6 && psLists(r.stdout, "store", "running")
	})
	p.toskose(t, "up")

	for _, line := range strings.Split(p.toskose(t, "detach", folder), "\n") {
		if words := strings.Fields(line); len(words) > 0 && words[0] == "kubectl" {
			must(t, p.dir, found(t, "kubectl"), words[1:]...)
		}
	}
	if left := kubectl(t, "-n", p.name, "get", "deployment,service,secret,configmap", "-o", "name"); strings.Contains(left, "toskose") {
		t.Errorf("it leaves %s", left)
	}
	kubectl(t, "-n", p.name, "rollout", "status", "deployment/web", "--timeout=2m")
	if spec := kubectl(t, "-n", p.name, "get", "deployment", "web", "-o", "jsonpath={.spec.template.spec}"); strings.Contains(spec, "toskose") {
		t.Errorf("the pods still have %s", spec)
	}
}

// attachOnCluster builds the services of a project, applies manifests that use their images, as `toskose attach` writes them, and
// makes the manager reachable. NAME in the manifests is the project.
func (p *composed) attachOnCluster(t *testing.T, manifests string, services ...string) (folder string) {
	t.Helper()
	p.compose(t, nil, "build", "-q")
	dir := filepath.Join(p.dir, "shop")
	if err := os.Mkdir(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "kustomization.yaml"), "namespace: "+p.name+"\nresources: [all.yaml]\n")
	write(t, filepath.Join(dir, "all.yaml"), strings.ReplaceAll(manifests, "NAME", p.name))

	var result struct {
		Folder string
		Images []struct{ Image, Folder string }
	}
	port := fmt.Sprint(freeport.Find(t))
	if err := json.Unmarshal([]byte(p.toskose(t, "attach", "-k", "shop", "--tls", "--port", port, "--json")), &result); err != nil {
		t.Fatal(err)
	}
	images := []string{"busybox:1.36"}
	for _, service := range services {
		images = append(images, p.name+"-"+service+":latest")
	}
	for _, i := range result.Images {
		must(t, "", found(t, "docker"), "build", "-q", "-t", i.Image, i.Folder)
		t.Cleanup(func() {
			_, _ = p.engine.ImageRemove(contextAfter(t), i.Image, image.RemoveOptions{PruneChildren: true}) // another test may have removed it
		})
		images = append(images, i.Image)
	}
	if load := strings.Fields(os.Getenv("TOSKOSE_LOAD")); len(load) > 0 {
		must(t, "", found(t, load[0]), append(load[1:], images...)...)
	}
	kubectl(t, "create", "namespace", p.name)
	t.Cleanup(func() { kubectl(t, "delete", "namespace", p.name, "--ignore-not-found", "--timeout=2m") })
	kubectl(t, "apply", "-k", result.Folder)
	kubectl(t, "-n", p.name, "wait", "--for=condition=Ready", "pod", "--all", "--timeout=3m")
	forward(t, p.name, "service/toskose-manager", port)
	return result.Folder
}
