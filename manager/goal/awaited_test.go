package goal_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/spec/plan"
	"github.com/toskose/toskose/spec/protocol"
)

func TestClientsWaitForWhatIsWantedUpAndNotForThemselves(t *testing.T) {
	t.Parallel()
	type uses map[string]string // requirement by target
	type component struct {
		node string
		uses uses
	}
	running := func(names ...string) map[string]string {
		all := map[string]string{}
		for _, n := range names {
			all[n] = protocol.Running
		}
		return all
	}
	for name, tt := range map[string]struct {
		components map[string]component
		goal       map[string]string // by component, beside up for all
		want       map[string]map[string]string
	}{
		"each container for its own": {
			components: map[string]component{
				"api": {"backend", nil}, "log": {"backend", uses{"api": protocol.Dependency}}, "gui": {"frontend", uses{"api": protocol.Connection}},
			},
			want: map[string]map[string]string{"backend": running("api", "log"), "frontend": running("gui")},
		},
		"what is not wanted up is not waited for": {
			components: map[string]component{"api": {"backend", nil}, "log": {"backend", nil}, "gui": {"frontend", nil}},
			goal:       map[string]string{"log": protocol.Configured, "gui": goal.Down},
			want:       map[string]map[string]string{"backend": running("api")},
		},
		"who is led to its own container does not wait for that": {
			components: map[string]component{"db": {"all", nil}, "web": {"all", uses{"db": protocol.Connection}}},
			want:       map[string]map[string]string{"all": running("db")},
		},
		"nor by way of another": {
			components: map[string]component{
				"api": {"backend", nil}, "gui": {"frontend", uses{"api": protocol.Connection}}, "worker": {"backend", uses{"gui": protocol.Connection}},
			},
			want: map[string]map[string]string{"backend": running("api"), "frontend": running("gui")},
		},
		"nor do two containers wait for each other": {
			components: map[string]component{
				"db": {"one", nil}, "web": {"one", uses{"api": protocol.Connection}}, "api": {"two", nil}, "job": {"two", uses{"db": "storage-of-jobs"}},
			},
			want: map[string]map[string]string{"one": running("db"), "two": running("api", "job")},
		},
		"a container that is named itself": {
			components: map[string]component{"api": {"backend", nil}, "gui": {"frontend", uses{"backend": protocol.Dependency}}, "job": {"backend", uses{"gui": protocol.Dependency}}},
			want:       map[string]map[string]string{"backend": running("api"), "frontend": running("gui")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := goal.Model{Node: map[string]string{}}
			seen := map[string]bool{}
			for name, c := range tt.components {
				e := plan.Element{Name: name, Protocol: protocol.Software(), Bindings: []plan.Binding{{Requirement: protocol.Host, Target: c.node, Capability: protocol.Host}}}
				for target, requirement := range c.uses {
					e.Bindings = append(e.Bindings, plan.Binding{Requirement: requirement, Target: target, Capability: protocol.Offering(requirement)})
				}
				m.Node[name] = c.node
				m.Elements = append(m.Elements, e)
				if !seen[c.node] {
					seen[c.node] = true
					m.Elements = append(m.Elements, plan.Element{Name: c.node, Protocol: protocol.Container().Hosting()})
				}
			}
			made := goal.NewModel(m)
			targets, notes := made.Targets(&goal.Document{All: goal.Up, States: tt.goal})
			if len(notes) > 0 {
				t.Fatal(notes)
			}
			if diff := cmp.Diff(tt.want, made.Awaited(targets)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAStateBeyondUpIsWaitedForToo(t *testing.T) {
	t.Parallel()
	m := goal.NewModel(goal.Model{
		Elements: []plan.Element{{Name: "api", Protocol: own()}, {Name: "backend", Protocol: protocol.Container().Hosting()}},
		Node:     map[string]string{"api": "backend"},
	})
	got := m.Awaited(map[string]string{"api": "busy"})
	if diff := cmp.Diff(map[string]map[string]string{"backend": {"api": "busy"}}, got); diff != "" {
		t.Error(diff)
	}
}
