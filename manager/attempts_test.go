package manager_test

import (
	"slices"
	"testing"
	"time"

	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/internal/fakeunit"
	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/unit/wire"
)

// TestWhatMustNotRunTwiceDoesNotHoweverMuchElseRuns: units and mirrors forget old
// executions, but not the last of an operation.
func TestWhatMustNotRunTwiceDoesNotHoweverMuchElseRuns(t *testing.T) {
	t.Parallel()
	if config.MaxAttempts > wire.MaxAttempts {
		t.Errorf("%d attempts can be asked for, and %d are remembered", config.MaxAttempts, wire.MaxAttempts)
	}
	u := fakeunit.Backend("i1", nil, fakeunit.End{Target: "started"})
	u.Operations["api"]["Standard.configure"] = fakeunit.Operation{From: []string{"created"}, End: fakeunit.End{Outcome: wire.OutcomeFailed, ExitCode: 1}}
	u.Operations["api"]["api_interface.push_default"] = fakeunit.Operation{From: []string{"created"}}
	conf := fakeunit.Config()
	backend := conf.Nodes["backend"]
	backend.Components = map[string]config.Component{"api": {Operations: map[string]config.Operation{"Standard.configure": {Attempts: 1}}}}
	conf.Nodes["backend"] = backend
	app, err := manager.New(fakeunit.Thinking(), conf, manager.Options{
		Containers: fakeunit.Containers{"backend": {u.Start(t, map[string]string{"api": "created"})}}, Passwords: fakeunit.PasswordOf,
		Patience: 100 * time.Millisecond, Backoff: time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(app.Close)
	if _, _, err := app.SetGoal(t.Context(), manager.GoalRequest{States: map[string]string{"api": "started"}}); err != nil {
		t.Fatal(err)
	}
	given := func(g manager.GoalView) bool {
		return len(g.Obstacles) == 1 && len(g.Underway) == 0 && g.Obstacles[0].Component == "api"
	}
	awaitGoal(t, app, "given up", given)
	for range 20 {
		if _, err := run(t, app, manager.RunRequest{Node: "backend", Component: "api", Operation: "api_interface.push_default", By: "ann"}); err != nil {
			t.Fatal(err)
		}
	}
	awaitGoal(t, app, "given up still", given)
	tried := slices.DeleteFunc(u.Executed(), func(name string) bool { return name != "api:Standard.configure" })
	if len(tried) != 1 {
		t.Errorf("it was tried %d times", len(tried))
	}
}
