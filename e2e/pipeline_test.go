package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"
)

// TestThePipelineOnOneEngineByCompose runs Tasks to their end, with the manager killed in
// the middle, and replaces containers in which they ran.
func TestThePipelineOnOneEngineByCompose(t *testing.T) {
	t.Parallel()
	engine := dockerEngine(t)
	app := pipeline(t, engine, func(_, workers string) string { return workers })
	app.target = byCompose
	app.deploy(t)
	app.runsThePipeline(t, hazards{
		killManager: func(t *testing.T) {
			manager := app.container(t, "toskose-manager")
			app.killManager(t)
			if err := engine.ContainerStart(t.Context(), manager, container.StartOptions{}); err != nil {
				t.Fatal(err)
			}
		},
		replace: app.removeContainer,
	})
}

// TestThePipelineOnAOneNodeSwarm does the same on a Swarm, which replaces what is gone.
func TestThePipelineOnAOneNodeSwarm(t *testing.T) {
	t.Parallel()
	engine := dockerEngine(t)
	joinSwarm(t, engine)
	app := pipeline(t, engine, func(_, workers string) string { return workers }, forSwarm...)
	app.target = onSwarm
	app.deploy(t)
	app.runsThePipeline(t, hazards{killManager: app.killManager, replace: app.removeContainer})
}

// pipeline packages the example with its toskose.yml, or what is made of that. Part 3 of its
// import begins only where there is no file /tmp/hold, so that there is a middle of it.
func pipeline(t *testing.T, engine *client.Client, config func(name, workers string) string, flags ...string) *application {
	t.Helper()
	source := filepath.Join(t.TempDir(), "pipeline")
	if err := os.CopyFS(source, os.DirFS("../examples/pipeline")); err != nil {
		t.Fatal(err)
	}
	edit(t, source, "scripts/import.sh", "sleep 0.3\n", "while [ -e /tmp/hold ] && [ \"$INPUT_TASK_INDEX\" = 3 ]; do sleep 0.1; done\n")
	workers := read(t, filepath.Join(source, "toskose.yml"))
	return packageAs(t, engine, source, nil, func(name string) string { return config(name, workers) }, flags...)
}

// hazards are what befalls an application, in the way that there is where it runs.
type hazards struct {
	killManager func(*testing.T)                // another one starts
	replace     func(t *testing.T, node string) // one of the node's containers, but not that of part 3
	found       func(*testing.T)                // finds the manager anew; nil: it is where it was
}

// runsThePipeline kills the manager in the middle of the pipeline. At the end it replaces a
// container of each kind of rerun: the store, where the migration counts as done, and a
// worker, whose part is imported again.
func (a *application) runsThePipeline(t *testing.T, by hazards) {
	t.Helper()
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		for _, asked := range [][]string{{"goal"}, {"ps"}, {"ps", "import"}, {"history"}, {"events"}} {
			t.Log(command(t, "", "toskose", append(asked, "--dir", a.dir, "--manager", a.manager)...))
		}
	})
	again := func() {
		t.Helper()
		must(t, "", "toskose", a.deploying(a.dir)...)
		if by.found != nil {
			by.found(t)
		}
		eventually(t, "the manager answers", func() bool {
			status, _ := a.ask(t, http.MethodGet, "/api/v1/app")
			return status == http.StatusOK
		})
	}
	a.in(t, "workers", "touch", "/tmp/hold")
	// With fewer, a part may be another worker's at its next attempt.
	eventually(t, "all workers are found", func() bool { return strings.Count(a.asks(t, "ps"), "\nworkers ") == 5 })
	a.asks(t, "up", "--no-wait")
	eventually(t, "all but part 3 is imported", func() bool { return len(a.ran(t, "workers")) == 4 })
	by.killManager(t)
	a.in(t, "workers", "rm", "/tmp/hold") // part 3 goes on, without a manager
	again()
	a.completed(t, "migrated served")

	by.replace(t, "store")
	by.replace(t, "workers")
	again()
	a.completed(t, "served")
}

// completed waits for all Tasks, and looks at what ran in the containers: in the store as
// it says, each part of the import once, and part 3 at its third attempt.
func (a *application) completed(t *testing.T, store string) {
	t.Helper()
	eventually(t, "the service runs", func() bool { return strings.HasSuffix(strings.Join(a.ran(t, "store"), " "), "served") })
	eventually(t, "five parts are imported", func() bool { return len(a.ran(t, "workers")) >= 5 })
	a.asks(t, "wait", "--timeout", patience)
	for _, task := range []string{"migrate", "import"} {
		a.asks(t, "wait", task, "--for", "completed")
	}
	if got := strings.Join(a.ran(t, "store"), " "); got != store {
		t.Errorf("in the store ran %q, want %q", got, store)
	}
	parts := a.ran(t, "workers")
	slices.Sort(parts)
	if got := strings.Join(parts, " "); got != "0 1 2 3 4" {
		t.Errorf("the parts %s were imported", got)
	}
	if attempts := a.lines(t, "workers", "/tmp/attempts"); !slices.Equal(attempts, []string{"3", "3", "3"}) {
		t.Errorf("the attempts at part 3 were %q", attempts)
	}
}

// ran are the lines that scripts have left in the containers of a node.
func (a *application) ran(t *testing.T, node string) []string {
	t.Helper()
	return a.lines(t, node, "/tmp/ran")
}

// lines are those of a file in all containers of a node.
func (a *application) lines(t *testing.T, node, file string) []string {
	t.Helper()
	return strings.Fields(a.in(t, node, "sh", "-c", "cat "+file+" 2>/dev/null || :"))
}

// withoutPart3 finds a container in which part 3 did not run: each of its attempts looks at
// those before it in the same container, and with one worker less it may have another.
func withoutPart3[C any](t *testing.T, containers []C, ran func(C) string) C {
	t.Helper()
	i := slices.IndexFunc(containers, func(c C) bool { return !slices.Contains(strings.Fields(ran(c)), "3") })
	if i < 0 {
		t.Fatalf("part 3 ran in all of %v", containers)
	}
	return containers[i]
}

// removeContainer removes one of a node's containers.
func (a *application) removeContainer(t *testing.T, node string) {
	t.Helper()
	one := withoutPart3(t, a.containers(t, node), func(c placed) string { return inContainer(t, c.engine, c.id, "cat", "/tmp/ran") })
	if err := one.engine.ContainerRemove(t.Context(), one.id, container.RemoveOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
}

// killManager kills the manager.
func (a *application) killManager(t *testing.T) {
	t.Helper()
	one := a.containers(t, "toskose-manager")[0]
	if err := one.engine.ContainerKill(t.Context(), one.id, "KILL"); err != nil {
		t.Fatal(err)
	}
}
