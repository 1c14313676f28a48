//go:build kubernetes

package e2e

import (
	"encoding/json"
	"maps"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// podSpec is what a pod may do.
type podSpec struct {
	Metadata struct{ Name string }
	Spec     struct {
		Security struct {
			NonRoot bool `json:"runAsNonRoot"`
		} `json:"securityContext"`
		Containers []struct {
			Security struct {
				Escalation   *bool `json:"allowPrivilegeEscalation"`
				ReadOnlyRoot bool  `json:"readOnlyRootFilesystem"`
				Capabilities struct{ Drop []string }
			} `json:"securityContext"`
		}
	}
}

// TestAnApplicationWithoutRootComesUpInARestrictedNamespaceOnKubernetes: unit and manager
// do without all rights, and who may use the manager changes with the next deployment.
func TestAnApplicationWithoutRootComesUpInARestrictedNamespaceOnKubernetes(t *testing.T) {
	engine := dockerEngine(t)
	if err := bring("busybox:1.36"); err != nil {
		t.Fatal(err)
	}
	app := packageIt(t, engine, "testdata/restricted", nil, "--target", "kubernetes")
	loaded(t, app)
	claimed(t, app.name, "dbvolume")
	t.Cleanup(func() { kubectl(t, "delete", "namespace", app.name, "--ignore-not-found", "--timeout=2m") })
	must(t, "", "toskose", "deploy", "--timeout", "3m", app.dir)
	if level := kubectl(t, "get", "namespace", app.name, "-o", `jsonpath={.metadata.labels.pod-security\.kubernetes\.io/enforce}`); level != "restricted" {
		t.Errorf("the namespace enforces %q", level)
	}
	withoutRights(t, app.name)
	forward(t, app.name, "service/toskose-manager", strings.TrimPrefix(app.manager, "http://127.0.0.1:"))
	must(t, "", "toskose", "up", "--timeout", "3m", "--dir", app.dir)
	said := must(t, "", "toskose", "logs", "hermit", "--dir", app.dir).stdout
	for _, line := range []string{"1000", "CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2", "created"} {
		if !strings.Contains(said, line) {
			t.Errorf("the operations do not say %q:\n%s", line, said)
		}
	}
	othersComeAndGo(t, app)
	itsDataComesBack(t, app)
}

// itsDataComesBack backs up the volume and restores it by pods that nobody is root in, while
// the pod that has it runs: on the same node.
func itsDataComesBack(t *testing.T, app *application) {
	t.Helper()
	app.password = strings.TrimSpace(read(t, filepath.Join(app.dir, "secrets", "manager-password")))
	file := filepath.Join(t.TempDir(), "restricted.tar")
	before := pods(t, app.name)
	if r := must(t, "", "toskose", "volume", "backup", "--stop", app.dir, file); !strings.Contains(r.stdout, "hermit: stop\n") || !strings.Contains(r.stdout, "hermit: start\n") {
		t.Errorf("the component is not stopped: %v", r)
	}
	kubectl(t, "-n", app.name, "exec", "cell-0", "--", "sh", "-c", "echo other >/data/made; echo more >/data/more")
	must(t, "", "toskose", "volume", "restore", "--stop", app.name, file)
	if has := kubectl(t, "-n", app.name, "exec", "cell-0", "--", "sh", "-c", "cat /data/*; ls -A /data"); has != "kept\nmade\n" {
		t.Errorf("the volume has %q", has)
	}
	if after := pods(t, app.name); !maps.Equal(before, after) {
		t.Errorf("the pods were %v and are %v", before, after)
	}
	eventually(t, "the component runs again", func() bool { return app.state(t, "cell/hermit") == "running" })
}

// withoutRights looks at what pods may do.
func withoutRights(t *testing.T, namespace string) {
	t.Helper()
	var list struct{ Items []podSpec }
	if err := json.Unmarshal([]byte(kubectl(t, "-n", namespace, "get", "pods", "-o", "json")), &list); err != nil || len(list.Items) != 2 {
		t.Fatalf("%d pods, %v", len(list.Items), err)
	}
	for _, pod := range list.Items {
		manager := strings.HasPrefix(pod.Metadata.Name, "toskose-manager")
		for _, c := range pod.Spec.Containers {
			s := c.Security
			if s.Escalation == nil || *s.Escalation || !pod.Spec.Security.NonRoot || len(s.Capabilities.Drop) != 1 || s.Capabilities.Drop[0] != "ALL" || s.ReadOnlyRoot != manager {
				t.Errorf("%s may more than it needs: %+v", pod.Metadata.Name, pod.Spec)
			}
		}
	}
}

// othersComeAndGo adds a viewer, and removes them; each counts with the next deployment.
func othersComeAndGo(t *testing.T, app *application) {
	t.Helper()
	before := pods(t, app.name)
	password := strings.TrimSpace(must(t, "", "toskose", "user", "add", "ann", "--dir", app.dir).stdout)
	asked := func(method, path string) (status int) {
		eventually(t, "the forwarded port leads to the new manager", func() bool {
			status, _ = app.askAs(t, "ann", password, method, path)
			return status != 0
		})
		return status
	}
	must(t, "", "toskose", "deploy", "--timeout", "3m", app.dir)
	for path, want := range map[string]int{"GET /api/v1/app": http.StatusOK, "POST /api/v1/node/cell/hermit/stop": http.StatusForbidden} {
		method, path, _ := strings.Cut(path, " ")
		eventually(t, method+" "+path+" is answered as a viewer's", func() bool { return asked(method, path) == want })
	}
	must(t, "", "toskose", "user", "rm", "ann", "--dir", app.dir)
	must(t, "", "toskose", "deploy", "--timeout", "3m", app.dir)
	eventually(t, "a user who was removed is refused", func() bool { return asked(http.MethodGet, "/api/v1/app") == http.StatusUnauthorized })
	if after := pods(t, app.name); after["cell"] != before["cell"] || after["cell"] == "" {
		t.Errorf("the pods were %v and are %v", before, after)
	}
}
