//go:build kubernetes

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
)

// podsOf waits until a workload has pods, all of which run, and returns their names.
func podsOf(t *testing.T, namespace, workload string) (names []string) {
	t.Helper()
	eventually(t, "all pods of "+workload+" run", func() bool {
		names = nil
		for _, pod := range strings.Fields(kubectl(t, "-n", namespace, "get", "pods", "-l", "app.kubernetes.io/name="+workload,
			"-o", `jsonpath={range .items[*]}{.metadata.name}/{.status.phase}/{.metadata.deletionTimestamp} {end}`)) {
			name, runs := strings.CutSuffix(pod, "/Running/")
			if !runs {
				return false
			}
			names = append(names, name)
		}
		return len(names) > 0
	})
	return names
}

// answersAgain waits until a forwarded port leads to a manager that answers: kubectl notices
// late that a pod is gone.
func (a *application) answersAgain(t *testing.T) {
	t.Helper()
	eventually(t, "the forwarded port leads to the manager", func() bool {
		status, _ := a.ask(t, http.MethodGet, "/api/v1/app")
		return status == http.StatusOK
	})
}

// goesOnCluster deploys what was packaged to the cluster, with the manager at its port of
// this machine, and removes it when the test ends.
func (a *application) goesOnCluster(t *testing.T) {
	t.Helper()
	a.target = "kubernetes"
	a.inside = func(t *testing.T, node string, words ...string) string {
		t.Helper()
		var all strings.Builder
		for _, pod := range podsOf(t, a.name, node) {
			all.WriteString(kubectl(t, append([]string{"-n", a.name, "exec", pod, "--"}, words...)...) + "\n")
		}
		return all.String()
	}
	t.Cleanup(func() { kubectl(t, "delete", "namespace", a.name, "--ignore-not-found", "--timeout=2m") })
	loaded(t, a)
	must(t, "", "toskose", a.deploying(a.dir)...)
	a.password = strings.TrimSpace(read(t, a.dir+"/secrets/manager-password"))
	forward(t, a.name, "service/toskose-manager", strings.TrimPrefix(a.manager, "http://127.0.0.1:"))
}

// TestThePipelineOnKubernetes runs Tasks to their end, with the manager killed in the middle,
// and replaces pods in which they ran.
func TestThePipelineOnKubernetes(t *testing.T) {
	t.Parallel()
	app := pipeline(t, dockerEngine(t), func(_, workers string) string { return workers }, "--target", "kubernetes")
	claimed(t, app.name, "data")
	app.goesOnCluster(t)
	remove := func(t *testing.T, pod string, flags ...string) {
		t.Helper()
		kubectl(t, append([]string{"-n", app.name, "delete", "pod", pod}, flags...)...)
	}
	app.runsThePipeline(t, hazards{
		killManager: func(t *testing.T) {
			remove(t, podsOf(t, app.name, "toskose-manager")[0], "--force", "--grace-period=0")
		},
		replace: func(t *testing.T, node string) {
			remove(t, withoutPart3(t, podsOf(t, app.name, node), func(pod string) string {
				return kubectl(t, "-n", app.name, "exec", pod, "--", "cat", "/tmp/ran")
			}))
		},
	})
}

// TestAJobOnKubernetes runs a Task without the manager. The same is not run again; another
// takes its place; one that fails is explained, and what was before runs again.
func TestAJobOnKubernetes(t *testing.T) {
	t.Parallel()
	engine := dockerEngine(t)
	if err := bring("busybox:1.36"); err != nil {
		t.Fatalf("the base image is missing: %v", err)
	}
	app := packageAs(t, engine, "testdata/counting", nil, func(string) string { return "nodes: {toolbox: {job: true}}\n" }, "--target", "kubernetes")
	app.goesOnCluster(t)
	first := app.counted(t)
	if r := must(t, "", "toskose", app.deploying(app.dir)...); !strings.Contains(r.stdout, app.name+": unchanged\n") {
		t.Errorf("deployed again, something changes: %v", r)
	}
	if again := app.counted(t); !maps.Equal(again, first) {
		t.Errorf("deployed again, the pods are %v, and were %v", again, first)
	}
	app.answersAgain(t)
	must(t, "", "toskose", "up", "--dir", app.dir, "--timeout", patience) // a goal leaves the job alone
	if said := must(t, "", "toskose", "ps", "--dir", app.dir).stdout; !strings.Contains(said, "service") {
		t.Errorf("ps:\n%s", said)
	}

	app.packaged(t, "nodes: {toolbox: {job: true, log_level: DEBUG}}\n")
	r := must(t, "", "toskose", app.deploying(app.dir)...)
	second := app.counted(t)
	for index, pod := range second {
		if first[index] == pod {
			t.Errorf("index %s did not run again: %v", index, r)
		}
	}
	if !strings.Contains(r.stdout, ": removed, it is no longer part of the application\n") {
		t.Errorf("the job before is not removed: %v", r)
	}

	app.packaging = append([]string{"-i", "failing=1"}, app.packaging...)
	app.packaged(t, "nodes: {toolbox: {job: true, log_level: DEBUG}}\n")
	r = command(t, "", "toskose", app.deploying(app.dir)...)
	for _, part := range []string{"toolbox: FailedIndexes: ", "it ended with code 3", "cannot count part 1", ", which ran before, runs again"} {
		if r.code != 1 || !strings.Contains(r.stderr, part) {
			t.Errorf("it does not say %q: %v", part, r)
		}
	}
	app.counted(t)

	must(t, "", "toskose", app.undeploying()...)
	if left := kubectl(t, "get", "namespace", app.name, "--ignore-not-found"); left != "" {
		t.Errorf("it leaves %s", left)
	}
}

// packaged packages the application again with other nodes in its toskose.yml.
func (a *application) packaged(t *testing.T, nodes string) {
	t.Helper()
	_, port, _ := strings.Cut(a.manager[len("http://"):], ":")
	if err := os.WriteFile(a.config, fmt.Appendf(nil, "manager:\n  port: %s\n%s", port, nodes), 0o600); err != nil {
		t.Fatal(err)
	}
	must(t, "", "toskose", a.packaging...)
	loaded(t, a)
}

// counted waits until the one Job is complete, looks at what each of its indexes printed and
// at what toskose says of the application, and returns the pods by their indexes.
func (a *application) counted(t *testing.T) map[string]string {
	t.Helper()
	jobs := strings.Fields(kubectl(t, "-n", a.name, "get", "jobs", "-o", "name"))
	if len(jobs) != 1 {
		t.Fatalf("the Jobs are %q", jobs)
	}
	kubectl(t, "-n", a.name, "wait", "--for=condition=complete", jobs[0], "--timeout=3m")
	var list struct {
		Items []struct {
			Metadata struct {
				Name   string
				Labels map[string]string
			}
			Status struct{ Phase string }
		}
	}
	if err := json.Unmarshal([]byte(kubectl(t, "-n", a.name, "get", "pods", "-l", "app.kubernetes.io/name=toolbox", "-o", "json")), &list); err != nil {
		t.Fatal(err)
	}
	pods := map[string]string{}
	for _, p := range list.Items {
		index := p.Metadata.Labels["batch.kubernetes.io/job-completion-index"]
		pods[index] = p.Metadata.Name
		said := kubectl(t, "-n", a.name, "logs", p.Metadata.Name)
		if p.Status.Phase != "Succeeded" || !strings.Contains(said, "count:run | created\n") || strings.Count(said, "count:run | part ") != 1 || !strings.Contains(said, "count:run | part "+index+" of 3\n") {
			t.Errorf("index %s has %s:\n%s", index, p.Status.Phase, said)
		}
	}
	if indexes := slices.Sorted(maps.Keys(pods)); len(list.Items) != 3 || !slices.Equal(indexes, []string{"0", "1", "2"}) {
		t.Errorf("the pods are %v", list.Items)
	}
	var listed []struct {
		Name   string
		Up, Of int
	}
	said := must(t, "", "toskose", "ls", "--namespace", a.name, "-o", "json").stdout
	if err := json.Unmarshal([]byte(said), &listed); err != nil || len(listed) != 1 || listed[0].Name != a.name || listed[0].Up != 2 || listed[0].Of != 2 {
		t.Errorf("it is listed as %s, %v", said, err)
	}
	return pods
}
