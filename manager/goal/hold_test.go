package goal_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/toskose/toskose/manager/goal"
)

// TestWhoIsPutOnHoldAndWhoIsLedBack has a case for each condition of the two rules.
func TestWhoIsPutOnHoldAndWhoIsLedBack(t *testing.T) {
	t.Parallel()
	led := at("api", configured, ran("stop", running, configured, by("jo"), ended(time.Second)))
	back := func(by change, before time.Duration) named { return at("api", running, start(by, ended(before))) }
	executing := func(c named) named {
		c.Executing = &goal.Run{ID: ours, Operation: standard("start"), From: c.State}
		return c
	}
	for name, tt := range map[string]struct {
		held     bool // before
		replicas []goal.Replica
		holds    []string
		resumed  []string
	}{
		"led away":                                {replicas: []goal.Replica{on("backend", "b1", led)}, holds: []string{"api by jo"}},
		"led away where the goal has no say":      {replicas: []goal.Replica{away(on("backend", "b1", led), "outdated", false)}},
		"led away, and under way":                 {replicas: []goal.Replica{on("backend", "b1", executing(led))}},
		"led away in vain":                        {replicas: []goal.Replica{on("backend", "b1", at("api", configured, ran("stop", running, configured, by("jo"), failed, ended(time.Second))))}},
		"led back":                                {held: true, replicas: []goal.Replica{on("backend", "b1", back(by("ann"), time.Second))}, resumed: []string{"api by ann"}},
		"led back, and under way":                 {held: true, replicas: []goal.Replica{on("backend", "b1", executing(back(by("ann"), time.Second)))}},
		"led back in vain":                        {held: true, replicas: []goal.Replica{on("backend", "b1", at("api", running, ran("load", running, running, by("ann"), failed, ended(time.Second))))}},
		"there, and last led elsewhere":           {held: true, replicas: []goal.Replica{on("backend", "b1", at("api", running, ran("stop", running, configured, by("ann"), ended(time.Second))))}},
		"led back by two, the last of them ended": {held: true, replicas: []goal.Replica{on("backend", "b1", back(by("bo"), time.Second)), on("backend", "b2", back(by("ann"), 2*time.Second))}, resumed: []string{"api by bo"}},
		"led back but where the goal has no say": {
			held:     true,
			replicas: []goal.Replica{on("backend", "b1", back(by("ann"), time.Second)), away(on("backend", "b2", at("api", configured)), "outdated", false)},
			resumed:  []string{"api by ann"},
		},
		"led back only where the goal has no say": {held: true, replicas: []goal.Replica{away(on("backend", "b2", back(by("ann"), time.Second)), "outdated", false)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := small()
			d := &goal.Document{At: ago(time.Hour), States: map[string]string{"api": goal.Up}}
			if tt.held {
				d.Holds = map[string]goal.Hold{"api": {By: "jo", At: ago(time.Minute)}}
			}
			made := goal.NewModel(m).Decide(t.Context(), d, goal.Situation{Now: now, Complete: true, Replicas: tt.replicas})
			for what, sides := range map[string][2][]string{"on hold": {who(made.Holds), tt.holds}, "no longer": {who(made.Resumed), tt.resumed}} {
				if !slices.Equal(sides[0], sides[1]) {
					t.Errorf("%s are %v, not %v", what, sides[0], sides[1])
				}
			}
		})
	}
}

// who returns "component by person" of holds.
func who(holds map[string]goal.Hold) (all []string) {
	for _, name := range slices.Sorted(maps.Keys(holds)) {
		all = append(all, name+" by "+holds[name].By)
	}
	return all
}
