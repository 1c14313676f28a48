package rotate

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	manager "github.com/toskose/toskose/manager/client"
	"github.com/toskose/toskose/packager/rotate"
)

// TestWhereComponentsStand: what somebody has stopped counts as stopped after a while, and
// those of other nodes do not count.
func TestWhereComponentsStand(t *testing.T) {
	t.Parallel()
	now := time.Now()
	component := func(node, name, state, why string) manager.Component {
		return manager.Component{Name: name, Node: node, State: state, Replicas: []manager.Replica{{State: state, Why: why, Untouched: why == ""}}}
	}
	app := manager.App{Components: []manager.Component{
		component("backend", "api", "running", "start succeeded"), component("backend", "cache", "deleted", ""),
		component("backend", "stopped", "configured", "stop succeeded"), component("backend", "stopping", "configured", "stop succeeded"),
		component("frontend", "gui", "running", "start succeeded"),
	}}
	goal := manager.Goal{State: "up", Acting: true, Done: true, Holds: map[string]manager.Hold{
		"stopped": {By: "jo", At: now.Add(-time.Minute)}, "stopping": {By: "jo", At: now.Add(-time.Second)},
	}}
	want := rotate.NodeState{
		Goal: true, Done: true, States: map[string]string{"api": "running", "cache": "deleted"},
		Created: []string{"api", "stopped", "stopping"}, Changing: []string{"stopping has just been stopped by jo"},
	}
	if diff := cmp.Diff(want, standing("backend", app, goal, now)); diff != "" {
		t.Error(diff)
	}
	if is := standing("frontend", app, manager.Goal{State: "none"}, now); is.Goal || is.Done || !slices.Equal(is.Changing, []string{"the manager does not know the goal yet"}) {
		t.Errorf("a manager that has just begun: %+v", is)
	}
}

func TestWhatAReplacementWaitsFor(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		now  manager.Drain
		want []string
	}{
		{manager.Drain{Empty: true}, nil},
		{manager.Drain{}, []string{"an operation is starting"}},
		{manager.Drain{Underway: []manager.Busy{{Component: "api", Operation: "Standard.start"}}, Silent: []string{"10.0.0.1:9001"}}, []string{"Standard.start of api runs", "no answer: 10.0.0.1:9001"}},
	} {
		if got := waiting(tt.now); !slices.Equal(got, tt.want) {
			t.Errorf("%+v: %q", tt.now, got)
		}
	}
}
