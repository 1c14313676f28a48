//go:build kubernetes

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/image"
)

// withOperator installs the operator for lines of robots until the test ends. The cluster gets its image by TOSKOSE_LOAD.
func withOperator(t *testing.T) {
	t.Helper()
	engine := dockerEngine(t)
	must(t, "..", found(t, "make"), "build", "BIN="+bin, "VERSION="+run, "PROGRAMS=toskose-operator")
	name, dir := "toskose-operator:"+run, filepath.Join(t.TempDir(), "plant")
	must(t, "", "toskose", "operator", "--levels", "assemblyline,asset", "--image", name, "--build", "-o", dir)
	t.Cleanup(func() {
		if _, err := engine.ImageRemove(context.Background(), name, image.RemoveOptions{}); err != nil {
			t.Error(err)
		}
	})
	load(t, name)
	t.Cleanup(func() { kubectl(t, "delete", "-k", dir, "--ignore-not-found", "--timeout=3m") })
	kubectl(t, "apply", "-k", dir)
	kubectl(t, "-n", "toskose-system", "wait", "--for=condition=Available", "deployment", "--all", "--timeout=3m")
}

// load brings images to the cluster's nodes.
func load(t *testing.T, images ...string) {
	t.Helper()
	if words := strings.Fields(os.Getenv("TOSKOSE_LOAD")); len(words) > 0 {
		must(t, "", found(t, words[0]), append(words[1:], images...)...)
	}
}

// counted returns how many resources of each kind of a plant there are.
func counted(t *testing.T) string {
	t.Helper()
	var all []string
	for _, kind := range []string{"assemblylines", "assets", "applications.toskose.io", "components.toskose.io"} {
		all = append(all, fmt.Sprint(len(strings.Fields(kubectl(t, "get", kind, "-A", "-o", "name")))))
	}
	return strings.Join(all, " ")
}

// TestAPlantOnKubernetes brings up the example's line with pods that have a shell.
func TestAPlantOnKubernetes(t *testing.T) {
	if err := bases(); err != nil {
		t.Fatalf("the base images are missing: %v", err)
	}
	withOperator(t)
	load(t, "redis:7")
	whole := strings.ReplaceAll(read(t, "../examples/plant/line-1.yaml"), "registry.k8s.io/pause:3.10", "redis:7")
	first, _, ok := strings.Cut(whole, "    - name: robot-2\n")
	if !ok {
		t.Fatal("the example has no second robot")
	}
	post := func(text string) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "line.yaml")
		write(t, file, text)
		kubectl(t, "apply", "-f", file)
	}
	ready := func() {
		t.Helper()
		kubectl(t, "wait", "--for=condition=Ready", "assemblyline/line-1", "--timeout=3m")
	}
	process := func(template string) string {
		t.Helper()
		return kubectl(t, "-n", "plant", "get", "pods", "-l", "app.kubernetes.io/name=process", "-o", "go-template="+template)
	}
	const uid, name = "{{range .items}}{{.metadata.uid}} {{end}}", "{{(index .items 0).metadata.name}}"
	t.Cleanup(func() { kubectl(t, "delete", "assemblyline", "--all", "--timeout=3m") })

	post(first)
	ready()
	pod := process(uid)
	post(whole)
	eventually(t, "the pod of the shared component has the entries of both applications", func() bool {
		file := kubectl(t, "-n", "plant", "exec", process(name), "--", "cat", "/etc/config/process.properties")
		return strings.Contains(file, "applications = line-1-robot-1-processing, line-1-robot-2-processing\n")
	})
	if after := process(uid); after != pod {
		t.Errorf("the second application has replaced the pod %s by %s", pod, after)
	}
	ready()
	if got := counted(t); got != "1 2 4 9" {
		t.Errorf("the line has %s resources, want 1 2 4 9", got)
	}
	for _, kind := range []string{"assets", "applications.toskose.io"} {
		states := strings.Fields(kubectl(t, "get", kind, "-A", "-o", "go-template={{range .items}}{{.status.ready}} {{end}}"))
		if slices.ContainsFunc(states, func(s string) bool { return s != "Running" }) {
			t.Errorf("the %s of a line that is ready are %v", kind, states)
		}
	}

	stored := strings.Replace(whole, "    - name: robot-1\n      deploy: true\n", "    - name: robot-1\n      deploy: false\n", 1)
	pods := func() int {
		return len(strings.Fields(kubectl(t, "-n", "plant", "get", "pods", "-o", "name", "--field-selector=status.phase=Running")))
	}
	post(stored)
	eventually(t, "a stored robot has no pods", func() bool { return pods() == 5 })
	post(whole)
	eventually(t, "a deployed robot has its pods", func() bool { return pods() == 9 })

	kubectl(t, "delete", "assemblyline", "line-1", "--timeout=3m")
	eventually(t, "everything below a removed line is removed, except the shared component", func() bool { return counted(t) == "0 0 0 1" })
	if after := process(uid); after != pod {
		t.Errorf("without applications, the shared component has the pod %s, and had %s", after, pod)
	}
}

// TestThinkingBelowAnAssetOnKubernetes goes through the life of a packaged application below a robot.
func TestThinkingBelowAnAssetOnKubernetes(t *testing.T) {
	withOperator(t)
	robot := func(name string, deploy bool) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "robot.yaml")
		write(t, file, fmt.Sprintf(`{apiVersion: levels.toskose.io/v1alpha1, kind: Asset, metadata: {name: %s},
  spec: {name: %s, deploy: %v, applications: []}}`, name, name, deploy))
		kubectl(t, "apply", "-f", file)
	}
	state := func(name string) string {
		t.Helper()
		return kubectl(t, "get", "asset", name, "-o", "go-template={{.status.ready}} {{range .status.applications}}{{.name}}={{.situation}}{{end}}")
	}
	t.Cleanup(func() { kubectl(t, "delete", "asset", "--all", "--timeout=3m") })
	robot("robot-1", false)
	app := packageIt(t, dockerEngine(t), "../examples/thinking", thinkingsPorts, "--target", "kubernetes", "--under", "asset/robot-1")
	loaded(t, app)
	t.Cleanup(func() { kubectl(t, "delete", "namespace", app.name, "--ignore-not-found", "--timeout=2m") })
	claimed(t, app.name, "dbvolume")
	if r := must(t, "", "toskose", "deploy", app.dir); !strings.Contains(r.stdout, "is stored") || kubectl(t, "-n", app.name, "get", "pods", "-o", "name") != "" {
		t.Errorf("below a stored robot: %v", r)
	}

	robot("robot-1", true)
	must(t, "", "toskose", "deploy", app.dir)
	forward(t, app.name, "service/toskose-manager", strings.TrimPrefix(app.manager, "http://127.0.0.1:"))
	app.password = strings.TrimSpace(read(t, filepath.Join(app.dir, "secrets", "manager-password")))
	eventually(t, "the manager answers", func() bool {
		status, _ := app.ask(t, http.MethodGet, "/api/v1/app")
		return status == http.StatusOK
	})
	must(t, "", "toskose", "up", "--dir", app.dir)
	running := "Running " + app.name + "/" + app.name + "=Running"
	eventually(t, "the robot is running", func() bool { return state("robot-1") == running })

	before := pods(t, app.name)
	write(t, app.config, read(t, app.config)+"nodes: {frontend: {log_level: DEBUG}}\n")
	must(t, "", "toskose", app.packaging...)
	loaded(t, app)
	must(t, "", "toskose", "deploy", app.dir)
	after := pods(t, app.name)
	for name, same := range map[string]bool{"backend": true, "store": true, "frontend": false} {
		if (before[name] == after[name]) != same || after[name] == "" {
			t.Errorf("the upgrade leaves the pod of %s: %s, %s", name, before[name], after[name])
		}
	}
	must(t, "", "toskose", "deploy", "--rollback", app.dir)
	eventually(t, "the robot is running after the rollback", func() bool { return state("robot-1") == running })

	must(t, "", "toskose", "volume", "backup", "--stop", app.name, filepath.Join(t.TempDir(), "backup.tar"))
	if paused := kubectl(t, "-n", app.name, "get", "application.toskose.io", app.name, "-o", `jsonpath={.metadata.annotations.toskose\.io/paused}`); paused != "" {
		t.Errorf("after the backup the operator is still paused: %s", paused)
	}
	eventually(t, "the robot is running after the backup", func() bool { return state("robot-1") == running })

	must(t, "", "toskose", "undeploy", "--volumes", app.dir)
	if left := kubectl(t, "get", "applications.toskose.io,components.toskose.io", "-A", "-o", "name"); left != "" {
		t.Errorf("undeployed, it leaves %s", left)
	}
	eventually(t, "the robot has no application", func() bool { return state("robot-1") == "Running " })
}
