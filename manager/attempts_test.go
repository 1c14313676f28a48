package manager_test

import (
	"slices"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/fakeunit"
	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/unit/wire"
)

// TestWhatMustNotRunTwiceDoesNotHoweverMuchElseRuns: units and mirrors forget old
// executions, but not the last of an operation.
func TestWhatMustNotRunTwiceDoesNotHoweverMuchElseRuns(t *testing.T) {
	t.Parallel()
	if spec.MaxAttempts > wire.MaxAttempts {
		t.Errorf("%d attempts can be asked for, and %d are remembered", spec.MaxAttempts, wire.MaxAttempts)
	}
	u := fakeunit.Backend("i1", nil, fakeunit.End{Target: "started"})
	u.Operations["api"]["Standard.configure"] = fakeunit.Operation{From: []string{"created"}, End: fakeunit.End{Outcome: wire.OutcomeFailed, ExitCode: 1}}
	u.Operations["api"]["api_interface.push_default"] = fakeunit.Operation{From: []string{"created"}}
	model := fakeunit.Thinking()
	model.Components[0].Policy = &spec.Policy{Attempts: map[string]int{"Standard.configure": 1}}
	app, err := manager.New(model, manager.Options{
		Containers: fakeunit.Containers{"backend": {u.Start(t, map[string]string{"api": "created"})}}, Passwords: fakeunit.PasswordOf,
		Patience: 100 * time.Millisecond, Backoff: time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(app.Close)
	if _, _, err := app.SetGoal(t.Context(), rest.GoalRequest{States: map[string]string{"api": "started"}}); err != nil {
		t.Fatal(err)
	}
	given := func(g rest.Goal) bool {
		return len(g.Obstacles) == 1 && len(g.Underway) == 0 && g.Obstacles[0].Component == "api"
	}
	awaitGoal(t, app, "given up", given)
	for range 20 {
		if _, err := run(t, app, rest.RunRequest{Node: "backend", Component: "api", Operation: "api_interface.push_default", By: "ann"}); err != nil {
			t.Fatal(err)
		}
	}
	awaitGoal(t, app, "given up still", given)
	tried := slices.DeleteFunc(u.Executed(), func(name string) bool { return name != "api:Standard.configure" })
	if len(tried) != 1 {
		t.Errorf("it was tried %d times", len(tried))
	}
}
