package live_test

import (
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/cmd/toskose/live"
)

// TestATimeoutNamesRunningOperationsAndWhyTheyFailedBefore: a component that is being started is not among the obstacles.
func TestATimeoutNamesRunningOperationsAndWhyTheyFailedBefore(t *testing.T) {
	t.Parallel()
	step := func(component, instance string) string {
		return `{"component": "` + component + `", "instance": "` + instance + `", "operation": {"interface": "Standard", "operation": "start"}}`
	}
	m := &kept{
		goal: `{"acting": true, "state": "up", "wanted": 5, "reached": 2, "underway": [` + strings.Join([]string{step("pages", "a"), step("api", "b"), step("api", "c")}, ", ") + `]}`,
		app: `{"components": [{"name": "pages", "replicas": [{"instance": "a", "reason": "start failed with exit code 1; last line: \"port 8001 is in use\""}]},
			{"name": "api", "replicas": [{"instance": "b"}, {"instance": "c", "reason": "ended unexpectedly by SIGKILL"}]}]}`,
	}
	c, err := live.ClientOf(m.access(t))
	if err != nil {
		t.Fatal(err)
	}
	want := `the goal is not reached after 2s: 2 of 5 components have reached it
pages:Standard.start is running; before: start failed with exit code 1; last line: "port 8001 is in use"
api:Standard.start is running on b
api:Standard.start is running on c; before: ended unexpectedly by SIGKILL`
	if err := live.AwaitGoal(t.Context(), c, 2*time.Second, func(string) {}); err == nil || err.Error() != want {
		t.Errorf("%v, want\n%s", err, want)
	}
}
