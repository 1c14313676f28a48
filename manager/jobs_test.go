package manager_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/fakeunit"
	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/discovery"
	"github.com/toskose/toskose/manager/rest"
)

// jobs finds the container of a job as the test says, and no other.
type jobs struct {
	fakeunit.Containers
	running []netip.Addr
	err     error
}

func (j jobs) Running(context.Context, string, []int) ([]netip.Addr, error) { return j.running, j.err }

// withJob manages Thinking whose store is there for the task load.
func withJob(t *testing.T, found manager.Containers) *manager.App {
	t.Helper()
	model := fakeunit.Thinking()
	model.Nodes[2].Job = []string{"tool", "load"}
	app, err := manager.New(model, manager.Options{
		Containers: found, Passwords: fakeunit.PasswordOf, Patience: 100 * time.Millisecond, Backoff: time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(app.Close)
	return app
}

func TestAJobIsShownAsItsOrchestrators(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		found      jobs
		state, why string
	}{
		"runs":                         {jobs{running: []netip.Addr{netip.MustParseAddr("10.0.0.9")}}, rest.NodeRunning, "a job, run by its orchestrator"},
		"has no container":             {jobs{err: discovery.ErrNone}, rest.NodeStopped, "a job, run by its orchestrator: it has ended, or has not begun"},
		"has none that is ever found":  {jobs{err: fmt.Errorf("%w: timeout", discovery.ErrUnanswered)}, rest.NodeStopped, "a job, run by its orchestrator: it has ended, or has not begun"},
		"cannot be known, as DNS says": {jobs{err: errors.New("server misbehaving")}, rest.NodeUnreachable, "a job, run by its orchestrator: whether it runs is not known: server misbehaving"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := withJob(t, c.found)
			shown := app.App(t.Context(), manager.StatesOnly)
			i := slices.IndexFunc(shown.Nodes, func(n rest.Node) bool { return n.Name == "store" })
			n := shown.Nodes[i]
			if n.Kind != rest.Job || n.State != c.state || n.Why != c.why || !slices.Equal(n.Job, []string{"tool", "load"}) {
				t.Errorf("it is shown as %+v", n)
			}
			for _, n := range shown.Nodes {
				if n.Name != "store" && (n.Kind == rest.Job || n.Job != nil) {
					t.Errorf("%s is shown as a job: %+v", n.Name, n)
				}
			}
			missing, _ := app.Ready()
			if slices.ContainsFunc(missing, func(n manager.NotReady) bool { return n.Node == "store" }) {
				t.Error("the application is not ready until the job runs")
			}
		})
	}
}

func TestTheManagerHasNoPartInAJob(t *testing.T) {
	t.Parallel()
	app := withJob(t, jobs{err: discovery.ErrNone})
	const component, node = `component "load" is run by its orchestrator: container "store" is a job`, `node "store" is a job, run by its orchestrator`
	for what, c := range map[string]struct {
		ask  func() error
		says string
	}{
		"an operation": {func() error {
			_, err := app.Start(t.Context(), rest.RunRequest{Node: "store", Component: "load", Operation: "Task.run"})
			return err
		}, component},
		"the task": {func() error { _, _, err := app.RunTask(t.Context(), "load", true, "jo"); return err }, component},
		"what is not its task": {
			func() error { _, _, err := app.RunTask(t.Context(), "tool", true, "jo"); return err },
			`component "tool" is run by its orchestrator: container "store" is a job`,
		},
		"the component":          {func() error { _, err := app.Component(t.Context(), "store", "load", manager.StatesOnly); return err }, component},
		"an end of what runs":    {func() error { _, err := app.StopAll(t.Context(), "store", ""); return err }, node},
		"the log of the task":    {func() error { _, err := app.Lines(t.Context(), rest.LogQuery{Of: []string{"load"}}); return err }, component},
		"the end of a drain":     {func() error { return app.EndDrain("store") }, node},
		"the log of a container": {func() error { _, err := app.Lines(t.Context(), rest.LogQuery{Of: []string{"store"}}); return err }, node},
	} {
		if err := c.ask(); !errors.Is(err, rest.ErrJob) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", what, err)
		}
	}
	plan := app.Plan(t.Context(), rest.GoalRequest{States: map[string]string{"load": "completed"}})
	if want := []string{`"load" is run by its orchestrator: container "store" is a job, which goals leave alone`}; !slices.Equal(plan.Notes, want) || len(plan.Targets) > 0 {
		t.Errorf("the plan for it is %+v", plan)
	}
}
