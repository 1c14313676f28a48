package goal_test

import (
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/spec/plan"
	"github.com/toskose/toskose/spec/protocol"
)

// TestWhoRequiresAnotherContainerWaitsUntilTheNetworkLeadsThere, and not for ever:
// what keeps clients from it may be none of what is required.
func TestWhoRequiresAnotherContainerWaitsUntilTheNetworkLeadsThere(t *testing.T) {
	t.Parallel()
	element := func(name, node string, bindings ...plan.Binding) plan.Element {
		return plan.Element{Name: name, Protocol: protocol.Software(), Bindings: append(bindings, plan.Binding{Requirement: protocol.Host, Target: node, Capability: protocol.Host})}
	}
	toAPI := plan.Binding{Requirement: protocol.Connection, Target: "api", Capability: protocol.Endpoint}
	m := goal.NewModel(goal.Model{
		Elements: []plan.Element{
			element("api", "backend"), element("log", "backend", toAPI), element("gui", "frontend", toAPI),
			{Name: "backend", Protocol: protocol.Container().Hosting()},
			{Name: "frontend", Protocol: protocol.Container().Hosting()},
		},
		Node: map[string]string{"api": "backend", "log": "backend", "gui": "frontend"},
	})
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	backend := func(name string, apart bool, since time.Duration) goal.Replica {
		start := goal.Run{Operation: protocol.Operation{Interface: protocol.Standard, Name: "start"}, To: protocol.Running, Ended: now.Add(-since)}
		return goal.Replica{Node: "backend", Name: name, Instance: name, Unresolvable: apart, Components: map[string]goal.Component{
			"api": {State: protocol.Running, Open: true, Runs: []goal.Run{start}}, "log": {State: protocol.Configured},
		}}
	}
	frontend := goal.Replica{Node: "frontend", Name: "f", Instance: "f", Unresolvable: true, Components: map[string]goal.Component{"gui": {State: protocol.Configured}}}
	for name, tt := range map[string]struct {
		backends []goal.Replica
		begins   bool
		wake     time.Duration
	}{
		"led to":                   {[]goal.Replica{backend("a", false, time.Second)}, true, 0},
		"not yet":                  {[]goal.Replica{backend("a", true, time.Second)}, false, 14 * time.Second},
		"not for long":             {[]goal.Replica{backend("a", true, time.Minute)}, true, 0},
		"one of two":               {[]goal.Replica{backend("a", true, time.Second), backend("b", false, time.Second)}, true, 0},
		"neither of two, for long": {[]goal.Replica{backend("a", true, time.Minute), backend("b", true, 5*time.Second)}, false, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := goal.Situation{Now: now, Complete: true, Replicas: append(tt.backends, frontend)}
			d := m.Decide(t.Context(), &goal.Document{All: goal.Up}, s)
			begun := map[string]bool{}
			for _, step := range d.Steps {
				begun[step.Component] = true
			}
			if begun["gui"] != tt.begins || !begun["log"] {
				t.Errorf("%v begin; %+v", begun, d.Obstacles)
			}
			if tt.begins {
				return
			}
			if len(d.Obstacles) != 1 || !strings.Contains(d.Obstacles[0].Reason, `until the network leads to "api"`) || !d.Wake.Equal(now.Add(tt.wake)) {
				t.Errorf("%+v, wake in %v", d.Obstacles, d.Wake.Sub(now))
			}
		})
	}
}
