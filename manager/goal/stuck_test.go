package goal_test

import (
	"slices"
	"testing"
	"time"

	"github.com/toskose/toskose/manager/goal"
)

// TestAGoalIsStuckWhenNothingIsTriedAgain: clients that wait for it end at once.
func TestAGoalIsStuckWhenNothingIsTriedAgain(t *testing.T) {
	t.Parallel()
	never := slices.Repeat([]goal.Run{ran("configure", created, configured, failed)}, 3)
	held := map[string]goal.Hold{"gui": {By: "jo", Operation: "Standard.stop"}}
	leased := map[string]goal.Hold{"gui": {By: "jo", Operation: "Standard.stop", Lease: "backup"}}
	api := on("backend", "b1", at("api", created, never...), at("plugin", deleted))
	for name, tt := range map[string]struct {
		states   map[string]string
		holds    map[string]goal.Hold
		replicas []goal.Replica
		stuck    bool
	}{
		"an operation has used its attempts":       {map[string]string{"api": goal.Up}, nil, []goal.Replica{api}, true},
		"and a dependent waits for it":             {map[string]string{"api": goal.Up, "gui": goal.Up}, nil, []goal.Replica{api, on("frontend", "f1", at("gui", configured))}, true},
		"while another component can still start":  {map[string]string{"api": goal.Up, "gui": configured}, nil, []goal.Replica{api, on("frontend", "f1", at("gui", created))}, false},
		"while another component is being started": {map[string]string{"api": goal.Up, "gui": configured}, nil, []goal.Replica{api, on("frontend", "f1", busy("gui", created, "configure"))}, false},
		"a start is tried again": {
			map[string]string{"api": goal.Up},
			nil,
			[]goal.Replica{on("backend", "b1", at("api", configured, start(failed, ended(2*time.Second)), start(failed, ended(time.Second/2), seq(2))))},
			false,
		},
		"a container may come back":  {map[string]string{"api": goal.Up, "gui": goal.Up}, nil, []goal.Replica{api}, false},
		"a person holds a component": {map[string]string{"api": goal.Up, "gui": goal.Up}, held, []goal.Replica{on("backend", "b1", at("api", running)), on("frontend", "f1", at("gui", configured))}, true},
		"a backup holds a component": {map[string]string{"api": goal.Up, "gui": goal.Up}, leased, []goal.Replica{on("backend", "b1", at("api", running)), on("frontend", "f1", at("gui", configured))}, false},
		"it is reached":              {map[string]string{"api": goal.Up}, nil, []goal.Replica{on("backend", "b1", at("api", running))}, false},
	} {
		d := &goal.Document{Revision: asked, Asked: asked, At: ago(2 * time.Hour), States: tt.states, Holds: tt.holds}
		made := goal.NewModel(small()).Decide(t.Context(), d, goal.Situation{Now: now, Complete: true, Replicas: tt.replicas})
		if made.Stuck != tt.stuck {
			t.Errorf("%s: stuck %t, %d of %d, steps %v, %+v", name, made.Stuck, made.Reached, made.Wanted, made.Steps, made.Obstacles)
		}
	}
}

// TestRecentStartsAreSettling: a component may still fail until its start counts as stable.
func TestRecentStartsAreSettling(t *testing.T) {
	t.Parallel()
	d := &goal.Document{Revision: asked, Asked: asked, At: ago(2 * time.Hour), States: map[string]string{"api": goal.Up}}
	for age, want := range map[time.Duration][]string{time.Second: {"api"}, 2 * time.Minute: nil} {
		api := at("api", running, start(ended(age)))
		api.Open = true
		made := goal.NewModel(small()).Decide(t.Context(), d, goal.Situation{Now: now, Complete: true, Replicas: []goal.Replica{on("backend", "b1", api)}})
		if !made.Done() || !slices.Equal(made.Settling, want) {
			t.Errorf("started %v ago: done %t, settling %q", age, made.Done(), made.Settling)
		}
	}
}

// TestTheComponentsOfDeadContainersCount: three components of two containers, one of which is not found.
func TestTheComponentsOfDeadContainersCount(t *testing.T) {
	t.Parallel()
	for _, target := range []string{goal.Up, goal.Down} {
		d := &goal.Document{Revision: asked, Asked: asked, At: ago(2 * time.Hour), All: target}
		state := map[string]string{goal.Up: running, goal.Down: deleted}[target]
		made := goal.NewModel(small()).Decide(t.Context(), d, goal.Situation{Now: now, Complete: true, Replicas: []goal.Replica{on("backend", "b1", at("api", state), at("plugin", state))}})
		if made.Wanted != 3 || made.Done() || made.Stuck {
			t.Errorf("%s: %d of %d, %+v", target, made.Reached, made.Wanted, made.Obstacles)
		}
		if i := slices.IndexFunc(made.Obstacles, func(o goal.Obstacle) bool { return o.Node == "frontend" && o.Missing }); i < 0 {
			t.Errorf("%s: the dead container is not named: %+v", target, made.Obstacles)
		}
	}
}
