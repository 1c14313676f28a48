package running

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/swarm"
	"github.com/docker/docker/client"
	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/command"
	"github.com/toskose/toskose/packager/compose"
)

// gone is the answer about what there is no longer.
const gone = "gone"

// fakeEngine answers by the ends of paths.
func fakeEngine(t *testing.T, answers map[string]any) *client.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for end, answer := range answers {
			if strings.HasSuffix(r.URL.Path, end) {
				if asked, ok := answer.(func(*http.Request) any); ok {
					answer = asked(r)
				}
				if answer == gone {
					w.WriteHeader(http.StatusNotFound)
				}
				if err := json.NewEncoder(w).Encode(answer); err != nil {
					t.Error(err)
				}
				return
			}
		}
		t.Errorf("asked for %s", r.URL)
	}))
	t.Cleanup(server.Close)
	docker, err := client.NewClientWithOpts(client.WithHost("tcp://"+strings.TrimPrefix(server.URL, "http://")), client.WithVersion("1.41"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { docker.Close() })
	return docker
}

func service(id, name, node string, running, desired uint64, ports ...swarm.PortConfig) swarm.Service {
	s := swarm.Service{ID: id, Endpoint: swarm.Endpoint{Ports: ports}, ServiceStatus: &swarm.ServiceStatus{RunningTasks: running, DesiredTasks: desired}}
	s.Spec.Name, s.Spec.Labels = name, map[string]string{compose.LabelStack: strings.Split(name, "_")[0]}
	s.Spec.TaskTemplate.ContainerSpec = &swarm.ContainerSpec{Labels: map[string]string{packager.LabelApp: "x"}, Env: []string{"A=b"}}
	if node != "" {
		s.Spec.TaskTemplate.ContainerSpec.Labels[packager.LabelNode] = node
	}
	return s
}

func TestStacksAreListedWithTheirManagersMachines(t *testing.T) {
	t.Parallel()
	manager := service("m", "shop_toskose-manager", "", 1, 1, swarm.PortConfig{PublishedPort: 10000, PublishMode: swarm.PortConfigPublishModeHost})
	manager.Spec.TaskTemplate.ContainerSpec.Env = []string{managerTLS + "=/x"}
	foreign := service("f", "wiki_gui", "gui", 1, 1)
	foreign.Spec.TaskTemplate.ContainerSpec.Labels = nil
	docker := fakeEngine(t, map[string]any{
		"/info":            map[string]any{"Swarm": map[string]any{"ControlAvailable": true, "NodeID": "self"}},
		"/containers/json": []any{},
		"/services": []swarm.Service{
			service("b", "shop_backend", "backend", 2, 3), manager, foreign,
			service("n", "blog_toskose-manager", "", 1, 1, swarm.PortConfig{PublishedPort: 10001, PublishMode: swarm.PortConfigPublishModeIngress}),
		},
		"/tasks":       []swarm.Task{{NodeID: "other", Status: swarm.TaskStatus{State: swarm.TaskStateRunning}}},
		"/nodes/other": swarm.Node{Status: swarm.NodeStatus{Addr: "10.0.0.7"}},
	})
	got, err := OnEngine(t.Context(), docker)
	if err != nil {
		t.Fatal(err)
	}
	want := []Application{
		{Name: "blog", Target: "swarm", Manager: "http://127.0.0.1:10001", Up: 1, Of: 1},
		{Name: "shop", Target: "swarm", Manager: "https://10.0.0.7:10000", Up: 3, Of: 4},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestAStackWhoseServicesAreBeingRemovedIsInNobodysWay: the swarm lists them and does not know
// them a moment later.
func TestAStackWhoseServicesAreBeingRemovedIsInNobodysWay(t *testing.T) {
	t.Parallel()
	job := service("j", "blog_import", "import", 0, 1)
	job.Spec.TaskTemplate.ContainerSpec.Labels[packager.LabelJob] = "task"
	docker := fakeEngine(t, map[string]any{
		"/info":            map[string]any{"Swarm": map[string]any{"ControlAvailable": true, "NodeID": "self"}},
		"/containers/json": []any{},
		"/services": []swarm.Service{
			service("m", "blog_toskose-manager", "", 0, 1, swarm.PortConfig{PublishedPort: 10000, PublishMode: swarm.PortConfigPublishModeHost}), job,
			service("s", "shop_toskose-manager", "", 1, 1, swarm.PortConfig{PublishedPort: 10001, PublishMode: swarm.PortConfigPublishModeIngress}),
		},
		"/tasks": gone,
	})
	got, err := OnEngine(t.Context(), docker)
	if err != nil {
		t.Fatal(err)
	}
	want := []Application{
		{Name: "blog", Target: "swarm", Manager: "http://127.0.0.1:10000", Of: 2},
		{Name: "shop", Target: "swarm", Manager: "http://127.0.0.1:10001", Up: 1, Of: 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestAJobThatIsCompletedNeedsNoContainer: one that has failed does, and one that runs is counted.
func TestAJobThatIsCompletedNeedsNoContainer(t *testing.T) {
	t.Parallel()
	job := func(id string, running uint64) swarm.Service {
		s := service(id, "shop_"+id, id, running, 1)
		s.Spec.TaskTemplate.ContainerSpec.Labels[packager.LabelJob] = "task"
		return s
	}
	of := func(id, state string) map[string]any {
		labels := map[string]string{packager.LabelApp: "blog", compose.LabelProject: "blog", packager.LabelNode: id, packager.LabelJob: "task"}
		return map[string]any{"Id": id, "State": state, "Labels": labels}
	}
	ended := func(id string, code int) map[string]any {
		return map[string]any{"Id": id, "State": map[string]any{"Status": "exited", "ExitCode": code}}
	}
	task := func(of string, second int64, state swarm.TaskState) swarm.Task {
		return swarm.Task{ServiceID: of, Meta: swarm.Meta{CreatedAt: time.Unix(second, 0)}, Status: swarm.TaskStatus{State: state}}
	}
	tasks := map[string][]swarm.Task{
		"done":   {task("done", 2, swarm.TaskStateComplete), task("done", 1, swarm.TaskStateFailed)},
		"failed": {task("failed", 1, swarm.TaskStateComplete), task("failed", 2, swarm.TaskStateFailed)},
		"runs":   {task("runs", 1, swarm.TaskStateRunning)},
		"new":    {},
	}
	docker := fakeEngine(t, map[string]any{
		"/info":                   map[string]any{"Swarm": map[string]any{"ControlAvailable": true, "NodeID": "self"}},
		"/containers/json":        []any{of("done", "exited"), of("failed", "exited"), of("runs", "running"), of("again", "restarting")},
		"/containers/done/json":   ended("done", 0),
		"/containers/failed/json": ended("failed", 3),
		"/containers/again/json":  map[string]any{"Id": "again", "State": map[string]any{"Status": "restarting", "ExitCode": 0}},
		"/services":               []swarm.Service{job("done", 0), job("failed", 0), job("runs", 1), job("new", 0)},
		"/tasks": func(r *http.Request) any {
			for id, of := range tasks {
				if strings.Contains(r.URL.Query().Get("filters"), `"`+id+`"`) {
					return of
				}
			}
			return nil
		},
	})
	got, err := OnEngine(t.Context(), docker)
	if err != nil {
		t.Fatal(err)
	}
	want := []Application{{Name: "blog", Target: "compose", Up: 1, Of: 3}, {Name: "shop", Target: "swarm", Up: 1, Of: 3}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestACluster is not parallel: it changes PATH.
func TestACluster(t *testing.T) {
	dir := t.TempDir()
	script := `#!/bin/sh
case "$*" in
*"--namespace copy get deployments.apps,statefulsets.apps,jobs.batch --selector app.kubernetes.io/managed-by=toskose "*) cat <<'JSON'
{"items": [
 {"kind": "Job", "metadata": {"name": "tool-1", "namespace": "copy", "labels": {"app.kubernetes.io/part-of": "shop"}}, "status": {"active": 1, "ready": 1}},
 {"kind": "Job", "metadata": {"name": "tool-2", "namespace": "copy", "labels": {"app.kubernetes.io/part-of": "shop"}}, "status": {"active": 1, "ready": 0}},
 {"kind": "Job", "metadata": {"name": "tool-3", "namespace": "copy", "labels": {"app.kubernetes.io/part-of": "shop"}}, "status": {"succeeded": 3, "ready": 0, "conditions": [{"type": "SuccessCriteriaMet", "status": "True"}, {"type": "Complete", "status": "True"}]}},
 {"kind": "Job", "metadata": {"name": "tool-4", "namespace": "copy", "labels": {"app.kubernetes.io/part-of": "shop"}}, "status": {"failed": 1, "ready": 1, "conditions": [{"type": "Failed", "status": "True"}]}}
]}
JSON
;;
*"get deployments.apps,statefulsets.apps,jobs.batch --selector app.kubernetes.io/managed-by=toskose --all-namespaces"*) cat <<'JSON'
{"items": [
 {"metadata": {"name": "backend", "namespace": "shop", "labels": {"app.kubernetes.io/part-of": "shop"}}, "spec": {"replicas": 3}, "status": {"readyReplicas": 2}},
 {"metadata": {"name": "toskose-manager", "namespace": "shop", "labels": {"app.kubernetes.io/part-of": "shop"}},
  "spec": {"template": {"spec": {"containers": [{"env": [{"name": "TOSKOSE_MANAGER_PORT", "value": "10000"}]}]}}}, "status": {"readyReplicas": 1}},
 {"metadata": {"name": "backend", "namespace": "copy", "labels": {"app.kubernetes.io/part-of": "shop"}}, "spec": {"replicas": 0}, "status": {}}
]}
JSON
;;
*) echo "the connection was refused" >&2; exit 1 ;;
esac
`
	if err := os.WriteFile(filepath.Join(dir, "kubectl"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	got, err := OnCluster(t.Context(), command.Cluster{Context: "staging", Environ: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	want := []Application{
		{Name: "shop", Target: "kubernetes", Namespace: "copy"},
		{Name: "shop", Target: "kubernetes", Namespace: "shop", Manager: "http://localhost:10000", Forward: "kubectl --context staging --namespace shop port-forward service/toskose-manager 10000", Up: 3, Of: 4},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	got, err = OnCluster(t.Context(), command.Cluster{Namespace: "copy", Environ: os.Environ()})
	if diff := cmp.Diff([]Application{{Name: "shop", Target: "kubernetes", Namespace: "copy", Up: 1, Of: 3}}, got); diff != "" || err != nil {
		t.Errorf("Jobs: %v %s", err, diff)
	}
	if (command.Cluster{Environ: os.Environ()}).Configured(t.Context()) {
		t.Error("kubectl has no current context, and it is said to be configured")
	}
}
