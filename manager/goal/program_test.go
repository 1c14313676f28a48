package goal_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/spec/plan"
	"github.com/toskose/toskose/spec/protocol"
)

const offline = protocol.Stopped

// programs is an application of attached containers: web with app, which connects to queue/broker, and helper, which
// has no autostart.
func programs() goal.Model {
	program := func(name, node string, uses ...string) plan.Element {
		e := software(name, node, uses...)
		e.Protocol = protocol.Program()
		return e
	}
	return goal.Model{
		Elements: []plan.Element{
			{Name: "queue", Protocol: protocol.Container()},
			program("queue/broker", "queue"),
			{Name: "web", Protocol: protocol.Container()},
			program("web/app", "web", "queue/broker"), program("web/helper", "web"), program("web/once", "web"),
		},
		Node:     map[string]string{"web/app": "web", "web/helper": "web", "web/once": "web", "queue/broker": "queue"},
		Policies: map[string]goal.Policy{},
		Programs: map[string]goal.Program{"web/app": {Autostart: true}, "web/helper": {}, "web/once": {Autostart: true}, "queue/broker": {}},
	}
}

func completed(name string) named {
	c := at(name, offline)
	c.Completed = true
	return c
}

func program(operation, from, to string, changes ...change) goal.Run {
	r := ran(operation, from, to, changes...)
	r.Operation.Interface = "Program"
	return r
}

func TestTheGoalKeepsProgramsAsTheirSettingsSay(t *testing.T) {
	t.Parallel()
	queue := on("queue", "q1", at("queue/broker", running))
	web := func(components ...named) goal.Replica { return on("web", "w1", components...) }
	for name, tt := range map[string]struct {
		doc       goal.Document
		replicas  []goal.Replica
		steps     []string
		reached   string
		obstacles []string
	}{
		"up is for programs with autostart, and for what they require": {
			doc:      goal.Document{All: goal.Up},
			replicas: []goal.Replica{on("queue", "q1", at("queue/broker", offline)), web(at("web/app", offline), at("web/helper", offline), at("web/once", offline))},
			steps:    []string{"queue/broker start on q1", "web/once start on w1"}, reached: "0 of 3",
		},
		"a program starts when what it requires runs": {
			doc:      goal.Document{All: goal.Up},
			replicas: []goal.Replica{queue, web(at("web/app", offline), at("web/helper", running), at("web/once", running))},
			steps:    []string{"web/app start on w1"}, reached: "2 of 3",
		},
		"a program that lost what it requires runs on": {
			doc:      goal.Document{All: goal.Up},
			replicas: []goal.Replica{on("queue", "q1", at("queue/broker", offline)), web(at("web/app", running), at("web/helper", offline), completed("web/once"))},
			steps:    []string{"queue/broker start on q1"}, reached: "2 of 3",
		},
		"a program that the goal names, too": {
			doc:      goal.Document{All: goal.Up, States: map[string]string{"web/helper": goal.Up}},
			replicas: []goal.Replica{queue, web(at("web/app", running), at("web/helper", offline), at("web/once", running))},
			steps:    []string{"web/helper start on w1"}, reached: "3 of 4",
		},
		"a program that has completed is not started again": {
			doc:      goal.Document{All: goal.Up},
			replicas: []goal.Replica{queue, web(at("web/app", running), at("web/helper", offline), completed("web/once"))}, reached: "3 of 3",
		},
		"a completed program is as down as any other": {
			doc:      goal.Document{States: map[string]string{"web": goal.Down}},
			replicas: []goal.Replica{queue, web(at("web/app", running), at("web/helper", running), completed("web/once"))},
			steps:    []string{"web/app stop on w1", "web/helper stop on w1"}, reached: "1 of 3",
		},
		"a FATAL program is started again after a pause": {
			doc: goal.Document{All: goal.Up, Asked: asked},
			replicas: []goal.Replica{queue, web(at("web/helper", offline), completed("web/once"), at("web/app", offline,
				program("start", offline, running, failed, ended(3*time.Second)), program("start", offline, running, failed, ended(time.Second))))},
			steps: []string{"web/app start on w1"}, reached: "2 of 3",
		},
		"and not before": {
			doc: goal.Document{All: goal.Up, Asked: asked},
			replicas: []goal.Replica{queue, web(at("web/helper", offline), completed("web/once"), at("web/app", offline,
				program("start", offline, running, failed, ended(3*time.Second)), program("start", offline, running, failed, ended(time.Millisecond))))},
			reached: "2 of 3", obstacles: []string{"web/app"},
		},
		"a replica may be without a program": {
			doc:      goal.Document{All: goal.Up},
			replicas: []goal.Replica{queue, web(at("web/app", running), completed("web/once")), on("web", "w2", at("web/app", running))}, reached: "4 of 4",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.doc.At = ago(2 * time.Hour)
			made := goal.NewModel(programs()).Decide(t.Context(), &tt.doc, goal.Situation{Now: now, Complete: true, Replicas: tt.replicas})
			var steps, obstacles []string
			for _, s := range made.Steps {
				steps = append(steps, fmt.Sprintf("%s %s on %s", s.Component, s.Operation.Name, s.Instance))
			}
			for _, o := range made.Obstacles {
				obstacles = append(obstacles, o.Component)
			}
			slices.Sort(steps)
			if !slices.Equal(steps, tt.steps) || !slices.Equal(obstacles, tt.obstacles) {
				t.Errorf("steps %v, obstacles %v", steps, made.Obstacles)
			}
			if got := fmt.Sprintf("%d of %d", made.Reached, made.Wanted); got != tt.reached {
				t.Errorf("reached %s, want %s", got, tt.reached)
			}
		})
	}
}

// TestTheGoalUpNamesWhatRuns: programs without autostart that run when it is set, unless it says something else of them.
func TestTheGoalUpNamesWhatRuns(t *testing.T) {
	t.Parallel()
	m := programs()
	m.Groups = map[string][]string{"all": {"web", "queue"}}
	model := goal.NewModel(m)
	s := goal.Situation{Now: now, Complete: true, Replicas: []goal.Replica{
		on("queue", "q1", at("queue/broker", offline)), on("web", "w1", at("web/app", running), at("web/helper", offline)), on("web", "w2", at("web/helper", running)),
	}}
	for name, tt := range map[string]struct {
		doc  goal.Document
		want string
	}{
		"all":               {goal.Document{All: goal.Up}, "web/helper=up"},
		"its container":     {goal.Document{States: map[string]string{"web": goal.Up}}, "web/helper=up web=up"},
		"its group":         {goal.Document{States: map[string]string{"all": goal.Up}}, "all=up web/helper=up"},
		"another container": {goal.Document{States: map[string]string{"queue": goal.Up}}, "queue=up"},
		"itself":            {goal.Document{All: goal.Up, States: map[string]string{"web/helper": offline}}, "web/helper=stopped"},
		"none of its own":   {goal.Document{All: goal.Up, States: map[string]string{"web": goal.None}}, "web=none"},
		"down":              {goal.Document{All: goal.Down}, ""},
	} {
		var got []string
		for component, state := range model.WithRunning(&tt.doc, s).States {
			got = append(got, component+"="+state)
		}
		slices.Sort(got)
		if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
