package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
)

// TestThePipelineOnOneEngineByCompose runs Tasks to their end, with the manager killed in
// the middle, and replaces the containers in which they ran.
func TestThePipelineOnOneEngineByCompose(t *testing.T) {
	t.Parallel()
	engine := dockerEngine(t)
	app := deploy(t, engine, byCompose, "../examples/pipeline", nil)
	must(t, "", "toskose", "up", "--dir", app.dir, "--no-wait")
	eventually(t, "something is imported", func() bool { return len(app.ran(t, "workers")) > 0 })
	manager := app.container(t, "toskose-manager")
	if err := engine.ContainerKill(t.Context(), manager, "KILL"); err != nil {
		t.Fatal(err)
	}
	if err := engine.ContainerStart(t.Context(), manager, container.StartOptions{}); err != nil {
		t.Fatal(err)
	}
	must(t, "", "toskose", app.deploying(app.dir)...)
	app.completed(t, "migrated served")

	for _, node := range []string{"store", "workers"} {
		if err := engine.ContainerRemove(t.Context(), app.container(t, node), container.RemoveOptions{Force: true}); err != nil {
			t.Fatal(err)
		}
	}
	must(t, "", "toskose", app.deploying(app.dir)...)
	app.completed(t, "served") // and the migration, which is never run again, counts as done
}

// TestThePipelineOnAOneNodeSwarm runs Tasks to their end on a Swarm.
func TestThePipelineOnAOneNodeSwarm(t *testing.T) {
	t.Parallel()
	engine := dockerEngine(t)
	joinSwarm(t, engine)
	app := deploy(t, engine, onSwarm, "../examples/pipeline", nil, forSwarm...)
	must(t, "", "toskose", "up", "--dir", app.dir, "--no-wait")
	app.completed(t, "migrated served")
}

// completed waits for all Tasks, and looks at what ran in the containers: in the store as
// it says, each part of the import once, and the report until its third attempt.
func (a *application) completed(t *testing.T, store string) {
	t.Helper()
	must(t, "", "toskose", "wait", "--dir", a.dir, "--timeout", patience)
	if got := strings.Join(a.ran(t, "store"), " "); got != store {
		t.Errorf("in the store ran %q, want %q", got, store)
	}
	parts := a.ran(t, "workers")
	slices.Sort(parts)
	if got := strings.Join(parts, " "); got != "0 1 2 3 4" {
		t.Errorf("the parts %s were imported", got)
	}
	if attempts := strings.Count(a.in(t, "workers", "cat", "/tmp/attempts"), "report"); attempts != 3 {
		t.Errorf("the report had %d attempts", attempts)
	}
	for _, task := range []string{"migrate", "import", "report"} {
		if r := must(t, "", "toskose", "wait", task, "--for", "completed", "--dir", a.dir); r.code != 0 {
			t.Errorf("%s: %v", task, r)
		}
	}
}

// ran are the lines that scripts have left in a container.
func (a *application) ran(t *testing.T, node string) []string {
	t.Helper()
	return strings.Fields(a.in(t, node, "sh", "-c", "cat /tmp/ran 2>/dev/null || :"))
}
