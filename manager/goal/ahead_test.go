package goal_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/manager/goal"
)

// What is ahead is what of the plan is neither made nor under way; a component's next
// step says whom it waits for.
func TestWhatIsAhead(t *testing.T) {
	t.Parallel()
	m := goal.NewModel(small())
	d := &goal.Document{Revision: asked, Asked: asked, States: map[string]string{"gui": goal.Up, "plugin": goal.None}}
	var before *goal.Decision
	for _, turn := range []struct {
		backend, frontend []goal.Replica
		underway          []goal.Step // beside what is decided
		want              []string
	}{
		{
			[]goal.Replica{on("backend", "b1", at("api", created), at("plugin", deleted)), on("backend", "b2", at("api", created), at("plugin", deleted))},
			[]goal.Replica{on("frontend", "f1", at("gui", created))},
			nil,
			[]string{"2 api Standard.start", "3 gui Standard.start after api"},
		},
		{
			[]goal.Replica{on("backend", "b1", at("api", running), at("plugin", deleted)), on("backend", "b2", busy("api", configured, "start"), at("plugin", deleted))},
			[]goal.Replica{on("frontend", "f1", at("gui", configured))},
			[]goal.Step{{Component: "api", Operation: standard("start")}},
			[]string{"3 gui Standard.start after api"},
		},
	} {
		s := goal.Situation{Now: now, Complete: true, Replicas: slices.Concat(turn.backend, turn.frontend)}
		made := m.Continue(t.Context(), before, d, s)
		var got []string
		for _, a := range made.Ahead(append(made.Steps, turn.underway...)) {
			text := fmt.Sprintf("%d %s %s", a.Level, a.Component, a.Operation)
			if len(a.After) > 0 {
				text += " after " + strings.Join(a.After, ", ")
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(turn.want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		before = made
	}
	if ahead := (&goal.Decision{}).Ahead(nil); ahead != nil {
		t.Errorf("without a plan: %v", ahead)
	}
}
