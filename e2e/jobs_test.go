package e2e

import (
	"archive/tar"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/client"

	"github.com/toskose/toskose/packager"
)

// TestJobsOnOneEngineByCompose has the engine try a job again in its container.
func TestJobsOnOneEngineByCompose(t *testing.T) {
	t.Parallel()
	engine := dockerEngine(t)
	runJobs(t, engine, byCompose, "", attempts{
		failed: []string{"created", "0", "1"}, // once, as the exit code is final
		again:  []string{"created", "0", "1"}, // also for another deployment
		log:    "index 1 of import:Task.run is failed, so the unit ends with 3",
	})
}

// TestJobsOnAOneNodeSwarm has a swarm try a job again in another container.
func TestJobsOnAOneNodeSwarm(t *testing.T) {
	t.Parallel()
	engine := dockerEngine(t)
	joinSwarm(t, engine)
	const soon = ", deploy: {restart_policy: {condition: on-failure, delay: 100ms, max_attempts: "
	twice := []string{"created", "0", "1", "created", "0", "1"} // it knows of no final exit codes
	runJobs(t, engine, onSwarm, soon, attempts{failed: twice, again: slices.Concat(twice, twice), log: ofNoUse}, forSwarm...)
}

// ofNoUse is what a script says that fails.
const ofNoUse = "the import is of no use"

// attempts are what is run of a job that fails: where it is deployed, and where that is
// done once more, with what its log ends with then.
type attempts struct {
	failed, again []string
	log           string
}

// runJobs deploys jobs of which one fails four times, and one runs on; deploys the same
// again; and deploys one that fails for good.
func runJobs(t *testing.T, engine *client.Client, target, soon string, want attempts, flags ...string) {
	t.Helper()
	if err := bring("busybox:1.36"); err != nil {
		t.Fatalf("the base image is missing: %v", err)
	}
	app := packageAs(t, engine, "testdata/jobs", nil, func(string) string {
		config := "nodes:\n  worker: {job: true}\n"
		for node, attempts := range map[string]string{"loader": "1", "shaky": "5"} {
			if config += "  " + node + ": {job: true"; soon != "" {
				config += soon + attempts + "}}"
			}
			config += "}\n"
		}
		return config
	}, flags...)
	app.target = target
	app.deploy(t)
	once, tried := []string{"created", "0", "1"}, []string{"tried", "tried", "tried", "tried", "tried"}
	well := func() {
		t.Helper()
		app.jobs(t, map[string]string{"loader": "exited 0", "shaky": "exited 0", "worker": "running 0"})
		app.wrote(t, "loader", once)
		app.wrote(t, "shaky", tried)
		app.listed(t, "2/2")
	}
	well()
	must(t, "", "toskose", app.deploying(app.dir)...)
	well() // the same again runs nothing again
	app.shown(t, map[string]string{"loader": "stopped", "shaky": "stopped", "worker": "running"})

	must(t, "", "toskose", append([]string{"-i", "code=3"}, app.packaging...)...)
	fails := func(ran []string, log string) {
		t.Helper()
		r := command(t, "", "toskose", app.deploying(app.dir, "--keep")...)
		if r.code != 1 || !strings.Contains(r.stderr, "job loader has failed") || !strings.Contains(r.stderr, log) {
			t.Errorf("a job that fails: %v", r)
		}
		app.jobs(t, map[string]string{"loader": "exited 3", "shaky": "exited 0", "worker": "running 0"})
		app.wrote(t, "loader", slices.Concat(once, ran))
		app.wrote(t, "shaky", tried)
		app.listed(t, "2/3")
	}
	fails(want.failed, ofNoUse)
	fails(want.again, want.log)
}

// newestOf gives the container of a node that was made last, whether it runs or not.
func (a *application) newestOf(t *testing.T, node string) container.Summary {
	t.Helper()
	args := filters.NewArgs(filters.Arg("label", packager.LabelApp+"="+a.name), filters.Arg("label", packager.LabelNode+"="+node))
	list, err := a.engine.ContainerList(t.Context(), container.ListOptions{All: true, Filters: args})
	if err != nil || len(list) == 0 {
		t.Fatalf("%s has no container: %v", node, err)
	}
	return slices.MaxFunc(list, func(x, y container.Summary) int { return int(x.Created - y.Created) })
}

// jobs waits until containers have ended, or run, as they should.
func (a *application) jobs(t *testing.T, want map[string]string) {
	t.Helper()
	for node, state := range want {
		eventually(t, node+" is "+state, func() bool {
			about, err := a.engine.ContainerInspect(t.Context(), a.newestOf(t, node).ID)
			if err != nil {
				return false // it is replaced just now
			}
			return state == strings.TrimSpace(about.State.Status+" "+string(rune('0'+about.State.ExitCode)))
		})
	}
}

// wrote checks what a job's scripts have written to its volume.
func (a *application) wrote(t *testing.T, node string, want []string) {
	t.Helper()
	r, _, err := a.engine.CopyFromContainer(t.Context(), a.newestOf(t, node).ID, "/data/ran")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	archive := tar.NewReader(r)
	if _, err := archive.Next(); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(archive)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Fields(string(text)); !slices.Equal(got, want) {
		t.Errorf("on %s ran %q, want %q", node, got, want)
	}
}

// listed waits until so many containers run of those that should: others may yet be updated
// where deploy has ended because of a job.
func (a *application) listed(t *testing.T, want string) {
	t.Helper()
	eventually(t, "toskose ls has "+want, func() bool {
		for line := range strings.Lines(must(t, "", "toskose", "ls").stdout) {
			if fields := strings.Fields(line); len(fields) > 0 && fields[0] == a.name {
				return slices.Contains(fields, want)
			}
		}
		return false
	})
}

// shown checks what the manager says of jobs, which it has no hand in.
func (a *application) shown(t *testing.T, states map[string]string) {
	t.Helper()
	var all []struct{ Name, Kind, State, Why string }
	eventually(t, "the manager sees which jobs run", func() bool {
		_, said := a.ask(t, http.MethodGet, "/api/v1/node/")
		if err := json.Unmarshal([]byte(said.raw), &all); err != nil {
			t.Fatal(err)
		}
		return !slices.ContainsFunc(all, func(n struct{ Name, Kind, State, Why string }) bool { return n.State != states[n.Name] })
	})
	for _, n := range all {
		if n.Kind != "job" || !strings.Contains(n.Why, "run by its orchestrator") {
			t.Errorf("%+v", n)
		}
	}
	ps := a.asks(t, "ps")
	for _, task := range []string{"import", "migrate", "train"} {
		if !strings.Contains(ps, task) {
			t.Errorf("ps says nothing of %s:\n%s", task, ps)
		}
		r := command(t, "", "toskose", "run", task, "--dir", a.dir)
		if r.code != 1 || !strings.Contains(r.stderr, "run by its orchestrator") {
			t.Errorf("run %s: %v", task, r)
		}
		r = command(t, "", "toskose", "wait", task, "--for", "completed", "--dir", a.dir)
		if r.code != 1 || !strings.Contains(r.stderr, "run by its orchestrator") {
			t.Errorf("wait %s: %v", task, r)
		}
	}
	for _, path := range []string{"/api/v1/app/tasks/import/run", "/api/v1/node/loader/import/Task.run", "/api/v1/node/loader/import/create"} {
		if status, said := a.ask(t, http.MethodPost, path); status != http.StatusConflict || !strings.HasSuffix(said.Type, "job-node") {
			t.Errorf("POST %s: %d %s", path, status, said.raw)
		}
	}
}
