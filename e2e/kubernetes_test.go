//go:build kubernetes

package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// These tests run on the cluster that kubectl is set to, with images of the
// engine at hand; `make e2e-kubernetes` has more.

// TestThinkingOnKubernetes deploys the manifests that toskose writes.
func TestThinkingOnKubernetes(t *testing.T) {
	app, namespace := onCluster(t, "kubernetes")
	t.Cleanup(func() { kubectl(t, "delete", "namespace", namespace, "--ignore-not-found", "--timeout=2m") })
	tell := func(name string, part func(*testing.T)) {
		if !t.Run(name, part) {
			t.FailNow()
		}
	}
	claimed(t, namespace, "dbvolume")
	tell("a container that does not come up is explained and removed", func(t *testing.T) { brokenStore(t, app, namespace) })
	claimed(t, namespace, "dbvolume") // the volume went with it
	must(t, "", "toskose", "deploy", app.dir)
	if level := kubectl(t, "get", "namespace", namespace, "-o", `jsonpath={.metadata.labels.pod-security\.kubernetes\.io/enforce}`); level != "baseline" {
		t.Errorf("the namespace enforces %q", level)
	}
	managed(t, app, namespace, "service/frontend-public", "service/backend-public")
	tell("deployed again, nothing changes", func(t *testing.T) { deployedAgain(t, app, namespace) })
	must(t, "", "toskose", "up", "--dir", app.dir)
	tell("only what differs is replaced and is up when it is deployed", func(t *testing.T) { otherPassword(t, app, namespace) })
	tell("undeployed, the volume stays until it is to go", func(t *testing.T) { undeployed(t, app, namespace) })
}

// brokenStore gives store an option that Redis does not have.
func brokenStore(t *testing.T, app *application, namespace string) {
	dir := filepath.Join(t.TempDir(), "broken")
	if err := os.CopyFS(dir, os.DirFS(app.dir)); err != nil {
		t.Fatal(err)
	}
	manifest := filepath.Join(dir, "kubernetes", "node-store.yaml")
	text := strings.Replace(read(t, manifest), "imagePullPolicy: IfNotPresent\n", "imagePullPolicy: IfNotPresent\n          command: [redis-server, --no-such-option, x]\n", 1)
	write(t, manifest, text)
	r := command(t, "", "toskose", "deploy", "--timeout", "5m", dir)
	for _, part := range []string{"store has failed", "store: pod store-0 was restarted", "no-such-option"} {
		if r.code != 1 || !strings.Contains(r.stderr, part) {
			t.Errorf("it does not say %q: %v", part, r)
		}
	}
	if left := kubectl(t, "get", "namespace", namespace, "--ignore-not-found"); left != "" {
		t.Errorf("it leaves %s", left)
	}
}

// pods gives the identity of each workload's pod, those left out that are ending.
func pods(t *testing.T, namespace string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for line := range strings.Lines(kubectl(t, "-n", namespace, "get", "pods", "-o",
		`jsonpath={range .items[*]}{.metadata.labels.app\.kubernetes\.io/name} {.metadata.uid} {.metadata.deletionTimestamp}{"\n"}{end}`)) {
		if words := strings.Fields(line); len(words) == 2 {
			out[words[0]] = words[1]
		}
	}
	return out
}

func deployedAgain(t *testing.T, app *application, namespace string) {
	before := pods(t, namespace)
	if r := must(t, "", "toskose", "deploy", app.dir); !strings.Contains(r.stdout, "unchanged") {
		t.Errorf("something has: %v", r)
	}
	if after := pods(t, namespace); !maps.Equal(before, after) {
		t.Errorf("the pods were %v and are %v", before, after)
	}
	if changed := kubectl(t, "diff", "-k", app.dir); changed != "" {
		t.Errorf("it differs:\n%s", changed)
	}
}

// otherPassword gives a unit another password, which it reads, and another log level, which
// replaces it, and brings in what the next deployment has to remove.
func otherPassword(t *testing.T, app *application, namespace string) {
	before := pods(t, namespace)
	config := read(t, app.config) + "nodes: {frontend: {password: another-of-many, log_level: DEBUG}}\n"
	write(t, app.config, config)
	must(t, "", "toskose", app.packaging...)
	loaded(t, app)
	former := filepath.Join(t.TempDir(), "service.yaml")
	text := fmt.Sprintf(`---
{apiVersion: v1, kind: Service, metadata: {name: former, labels: {app.kubernetes.io/part-of: %s,
  app.kubernetes.io/managed-by: toskose}}, spec: {clusterIP: None, selector: {a: b}}}`, namespace)
	write(t, former, text)
	kubectl(t, "-n", namespace, "apply", "-f", former)
	refused := command(t, "", "toskose", "deploy", app.dir)
	if refused.code == 0 || !strings.Contains(refused.stderr, "(frontend-password)") {
		t.Errorf("another password is deployed without a word: %v", refused)
	}
	must(t, "", "toskose", "deploy", "--new-secrets", app.dir)
	for _, component := range []string{"frontend/gui", "backend/api", "backend/logsniffer"} {
		var said answer
		eventually(t, "the forwarded port leads to the new manager", func() bool {
			var status int
			status, said = app.ask(t, http.MethodGet, "/api/v1/node/"+component)
			return status == http.StatusOK
		})
		if said.State != "running" {
			t.Errorf("deployed with a goal, %s is %q: %s", component, said.State, said.raw)
		}
	}
	after := pods(t, namespace)
	for name, same := range map[string]bool{"backend": true, "store": true, "frontend": false} {
		if (before[name] == after[name]) != same || after[name] == "" {
			t.Errorf("the pod of %s was %s and is %s", name, before[name], after[name])
		}
	}
	if left := kubectl(t, "-n", namespace, "get", "service", "former", "--ignore-not-found"); left != "" {
		t.Error("what the application had before is not removed")
	}
	if password := kubectl(t, "-n", namespace, "get", "secrets", "frontend-password", "-o", `go-template={{index .data "frontend-password" | base64decode}}`); strings.TrimSpace(password) != "another-of-many" {
		t.Errorf("its password is %q", password)
	}
}

func undeployed(t *testing.T, app *application, namespace string) {
	must(t, "", "toskose", "undeploy", app.dir)
	if left := kubectl(t, "-n", namespace, "get", "all,secrets,networkpolicies", "-o", "name"); left != "" {
		t.Errorf("it leaves %s", left)
	}
	if claims := kubectl(t, "-n", namespace, "get", "persistentvolumeclaims", "-o", "name"); strings.TrimSpace(claims) != "persistentvolumeclaim/dbvolume" {
		t.Errorf("the volumes are %q", claims)
	}
	must(t, "", "toskose", "undeploy", "--volumes", app.dir)
	if left := kubectl(t, "get", "namespace", namespace, "--ignore-not-found"); left != "" {
		t.Errorf("it leaves %s", left)
	}
}

// TestThinkingThroughKompose applies what kompose makes of docker-compose.yml.
func TestThinkingThroughKompose(t *testing.T) {
	app, namespace := onCluster(t, "swarm")
	manifests := filepath.Join(t.TempDir(), "manifests")
	if err := os.Mkdir(manifests, 0o700); err != nil {
		t.Fatal(err)
	}
	must(t, "", found(t, "kompose"), "convert", "-f", filepath.Join(app.dir, "docker-compose.yml"), "-o", manifests)
	claimed(t, namespace, "dbvolume")
	t.Cleanup(func() { kubectl(t, "delete", "namespace", namespace, "--ignore-not-found", "--timeout=2m") })
	kubectl(t, "create", "namespace", namespace)
	kubectl(t, "-n", namespace, "apply", "-f", manifests)
	kubectl(t, "-n", namespace, "expose", "deployment", "backend", "--name", "api", "--cluster-ip", "None", "--port", "1")
	kubectl(t, "-n", namespace, "expose", "deployment", "frontend", "--name", "frontend-public", "--port", fmt.Sprint(app.ports["gui_port"]), "--target-port", "8080")
	managed(t, app, namespace, "service/frontend-public", "deployment/backend")
}

func kubectl(t *testing.T, args ...string) string {
	t.Helper()
	return must(t, "", found(t, "kubectl"), args...).stdout
}

// onCluster packages Thinking and brings its images to the cluster's nodes, by
// the command that TOSKOSE_LOAD is.
func onCluster(t *testing.T, target string) (app *application, namespace string) {
	t.Helper()
	app = packageIt(t, dockerEngine(t), "../examples/thinking", thinkingsPorts, "--target", target)
	loaded(t, app)
	return app, app.name
}

// loaded brings an application's images to the cluster's nodes.
func loaded(t *testing.T, app *application) {
	t.Helper()
	if load := strings.Fields(os.Getenv("TOSKOSE_LOAD")); len(load) > 0 {
		must(t, "", found(t, load[0]), append(append(load[1:], app.images(t)...), "redis:7")...)
	}
}

// managed waits until all containers are there, and goes through the parts of
// the story that need no engine.
func managed(t *testing.T, app *application, namespace, frontend, backend string) {
	t.Helper()
	kubectl(t, "-n", namespace, "wait", "--for=condition=Ready", "pod", "--all", "--timeout=3m")
	forward(t, namespace, "service/toskose-manager", strings.TrimPrefix(app.manager, "http://127.0.0.1:"))
	app.password = strings.TrimSpace(read(t, filepath.Join(app.dir, "secrets", "manager-password")))
	tell := func(name string, part func(*testing.T, *application)) {
		if !t.Run(name, func(t *testing.T) { part(t, app) }) {
			t.FailNow()
		}
	}
	for _, node := range []string{"store", "backend", "frontend"} { // the names of some lead there later than those of others
		eventually(t, "the manager finds "+node, func() bool { return app.state(t, node) == "running" })
	}
	tell("no operation is allowed before its time", nothingBeforeItsTime)
	tell("every component comes up in the paper's order", everythingComesUp)
	tell("another user in a container cannot read its secrets", func(t *testing.T, app *application) {
		anotherUserReadsNoSecret(t, func(words ...string) string {
			pod := kubectl(t, "-n", namespace, "get", "pods", "-o", "name", "--field-selector=status.phase=Running")
			for line := range strings.Lines(pod) {
				if strings.HasPrefix(line, "pod/backend-") {
					return kubectl(t, append([]string{"-n", namespace, "exec", strings.TrimSpace(line), "--"}, words...)...)
				}
			}
			t.Fatalf("no pod of the backend runs: %s", pod)
			return ""
		}, "backend-password")
	})
	forward(t, namespace, frontend, fmt.Sprint(app.ports["gui_port"]))
	ports := map[string]string{}
	for input, inside := range map[string]string{"api_port": "8081", "log_port": "8082"} {
		ports[input] = fmt.Sprint(app.ports[input])
		if !strings.HasPrefix(backend, "service/") {
			ports[input] += ":" + inside
		}
	}
	forward(t, namespace, backend, ports["api_port"], ports["log_port"])
	tell("the page answers and shares thoughts", thePageShares)
	tell("the log viewer shows and filters what the API did", theLogIsShown)
	tell("what is not there is not found", unknownNames)
}

// claimed gives the volume that is claimed a place, where the cluster does not
// do that by itself. What removes the pod that has it is to be registered after it: Redis
// does not end where it cannot write any more.
func claimed(t *testing.T, namespace, claim string) {
	t.Helper()
	if kubectl(t, "get", "storageclass", "-o", "name") != "" {
		return
	}
	name := namespace + "-" + claim
	manifest := filepath.Join(t.TempDir(), "volume.yaml")
	text := fmt.Sprintf(`---
{apiVersion: v1, kind: PersistentVolume, metadata: {name: %s}, spec: {capacity: {storage: 1Gi},
  accessModes: [ReadWriteOnce], claimRef: {namespace: %s, name: %s}, hostPath: {path: /var/tmp/%s, type: DirectoryOrCreate}}}`, name, namespace, claim, name)
	write(t, manifest, text)
	if err := errors.Join(os.MkdirAll("/var/tmp/"+name, 0o700), os.Chmod("/var/tmp/"+name, 0o777)); err != nil { // a folder of the host's is root's otherwise
		t.Fatal(err)
	}
	t.Cleanup(func() {
		kubectl(t, "delete", "persistentvolume", name, "--wait=false", "--ignore-not-found")
		os.RemoveAll("/var/tmp/" + name)
	})
	kubectl(t, "delete", "persistentvolume", name, "--ignore-not-found") // one that was claimed once is not given again
	kubectl(t, "apply", "-f", manifest)
}

// forward makes ports of something in the cluster be ports of this machine,
// until the test ends. kubectl ends when nothing listens yet where it forwards
// to, and is begun anew.
func forward(t *testing.T, namespace, what string, ports ...string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	kubectl, ended := found(t, "kubectl"), make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			cmd := exec.CommandContext(ctx, kubectl, append([]string{"-n", namespace, "port-forward", what}, ports...)...)
			cmd.Stderr = os.Stderr
			cmd.WaitDelay = 5 * time.Second
			_ = cmd.Run() // it says why it ended
			select {
			case <-ctx.Done():
			case <-time.After(200 * time.Millisecond):
			}
		}
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	for _, port := range ports {
		local, _, _ := strings.Cut(port, ":")
		eventually(t, what+" is at port "+local, func() bool {
			conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", "127.0.0.1:"+local)
			if err == nil {
				conn.Close()
			}
			return err == nil
		})
	}
}
