package manager_test

import (
	"fmt"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/fakeunit"
	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/rest"
)

// awaitGoal waits until the goal is as it should be.
func awaitGoal(t *testing.T, app *manager.App, should string, is func(rest.Goal) bool) rest.Goal {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		goal := app.Goal()
		if is(goal) {
			return goal
		}
		if time.Now().After(deadline) {
			t.Fatalf("the goal does not become %s: %+v", should, goal)
		}
	}
}

func done(g rest.Goal) bool { return g.Done && g.Reached == 1 }

// mainProcess waits until api has a process, and returns it.
func mainProcess(t *testing.T, app *manager.App, other int) int {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		view, err := app.Component(t.Context(), "backend", "api", true)
		if err == nil && view.State == "started" && len(view.Replicas) == 1 && len(view.Replicas[0].Processes) > 0 {
			if pid := view.Replicas[0].Processes[0].PID; pid != other {
				return pid
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("api has no new process: %+v, %v", view, err)
		}
	}
}

func TestAGoalIsKeptOnARealUnit(t *testing.T) {
	t.Parallel()
	found := fakeunit.Containers{"backend": []netip.AddrPort{realUnit(t)}}
	app := application(t, found, manager.Options{})
	if plan := app.Plan(t.Context(), rest.GoalRequest{States: map[string]string{"api": "started"}}); plan.Plan == nil || plan.Targets["api"] != "started" {
		t.Fatalf("the plan is %+v", plan)
	}
	unknown := map[string]string{"apl": "up", "api": "flying"}
	if g, kept, err := app.SetGoal(t.Context(), rest.GoalRequest{States: unknown}); err != nil || !kept || len(g.Notes) != 2 || !g.Done || g.Wanted != 0 {
		t.Errorf("a goal of what there is not: %+v, kept %v, %v", g, kept, err)
	}
	if _, kept, err := app.SetGoal(t.Context(), rest.GoalRequest{States: map[string]string{"api": "up"}, By: "jo"}); err != nil || !kept {
		t.Fatalf("kept %v, %v", kept, err)
	}
	awaitGoal(t, app, "reached", done)
	pid := mainProcess(t, app, 0)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	pid = mainProcess(t, app, pid)

	// Another manager finds the goal at the unit, and keeps it.
	app.Close()
	app = application(t, found, manager.Options{})
	awaitGoal(t, app, "known", func(g rest.Goal) bool { return g.By == "jo" && g.Acting })
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	pid = mainProcess(t, app, pid)

	// A person stops it: the goal leaves it alone until it is resumed.
	if _, err := app.Stop(t.Context(), "backend", "api", "Standard.start", ""); err != nil {
		t.Fatal(err)
	}
	awaitGoal(t, app, "on hold", func(g rest.Goal) bool { return len(g.Holds) == 1 && g.Acting })
	if view, err := app.Component(t.Context(), "backend", "api", false); err != nil || view.State != "configured" {
		t.Errorf("on hold api is %+v, %v", view, err)
	}
	if _, _, err := app.ResumeGoal(t.Context(), []string{"api"}, "jo"); err != nil {
		t.Fatal(err)
	}
	awaitGoal(t, app, "reached again", done)
	mainProcess(t, app, pid)

	if _, _, err := app.SetGoal(t.Context(), rest.GoalRequest{States: map[string]string{"api": "created"}}); err != nil {
		t.Fatal(err)
	}
	// Nothing leads back to created: that is said, and nothing is done.
	goal := awaitGoal(t, app, "impossible", func(g rest.Goal) bool { return len(g.Obstacles) > 0 })
	if fmt.Sprint(goal.Obstacles) == "" || goal.Done {
		t.Errorf("%+v", goal)
	}
}
