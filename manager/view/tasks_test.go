package view

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/mirror"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/manager/topology"
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/plan"
	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/wire"
)

// pipeline has the task "load" on the node "box", and "api" on "web", which requires nothing
// of it.
func pipeline(t *testing.T, deadline time.Duration, holds *goal.Document) (*Rules, *topology.Application) {
	t.Helper()
	model := &spec.Application{Name: "pipeline"}
	for component, node := range map[string]string{"load": "box", "api": "web"} {
		model.Nodes = append(model.Nodes, spec.Node{Name: node, Protocol: protocol.Container().Hosting(), Unit: &spec.Unit{Port: 9001, User: "admin"}})
		model.Components = append(model.Components, spec.Component{Name: component, Node: node, Host: node, Protocol: protocol.Task()})
	}
	app, err := topology.New(model, func(string) []string { return []string{"pw"} })
	if err != nil {
		t.Fatal(err)
	}
	clock := goal.NewClock(nil)
	rules := NewRules(goal.NewModel(goal.Model{
		Elements: plan.Elements(model), Node: map[string]string{"load": "box", "api": "web"},
		Tasks: map[string]goal.Task{"load": {Completions: 2, Parallelism: 2, BackoffLimit: 6, Deadline: deadline}},
	}), goal.NewObserver(nil, clock), func() *goal.Document { return holds }, clock)
	return rules, app
}

// seen is a snapshot of both nodes, of which box has executed something.
func seen(executed ...wire.Execution) *mirror.Snapshot {
	at := func(node, component string, recent []wire.Execution) *mirror.Node {
		return &mirror.Node{Name: node, Known: true, Replicas: []*mirror.Replica{{
			Node: node, Instance: "of " + node, Address: netip.MustParseAddrPort("10.0.0.1:9001"),
			Components: []*mirror.Component{{Component: component, State: protocol.Configured, Recent: recent}},
		}}}
	}
	return &mirror.Snapshot{Nodes: []*mirror.Node{at("box", "load", executed), at("web", "api", nil)}}
}

func TestATaskThatIsAsItWasIsNotShownAnew(t *testing.T) {
	t.Parallel()
	doc := &goal.Document{All: goal.Up}
	rules, app := pipeline(t, 0, doc)
	before := rules.At(seen())
	shown := func(l Look) (box, web rest.Node, task *goal.TaskStatus) {
		for _, n := range rules.OfNodes(l, app.Nodes) {
			if n.Name == "web" {
				web = n
			} else {
				box, task = n, n.Components[0].Task
			}
		}
		return box, web, task
	}
	box, web, task := shown(before)
	if again := rules.At(before.Snapshot); !before.Same(again) || task == nil || task != before.Tasks()["load"] {
		t.Errorf("nothing changed, and it is shown anew: %+v", task)
	}
	elsewhere := &mirror.Snapshot{Nodes: []*mirror.Node{before.Nodes[0], seen().Nodes[1]}}
	if sameBox, newWeb, same := shown(rules.At(elsewhere)); same != task || &sameBox.Replicas[0] != &box.Replicas[0] || &newWeb.Replicas[0] == &web.Replicas[0] {
		t.Errorf("something else changed, and it is shown anew: %+v", same)
	}
	_, web, _ = shown(rules.At(elsewhere))
	*doc = goal.Document{All: goal.Up, Tasks: map[string]goal.Record{"load": {Round: 1}}} // as another document
	next := *elsewhere
	after := rules.At(&next)
	newBox, newWeb, newTask := shown(after)
	if newTask == task || newTask.Round != 1 || &newBox.Replicas[0] == &box.Replicas[0] {
		t.Errorf("it was asked for again, and is shown as %+v", newTask)
	}
	if &newWeb.Replicas[0] != &web.Replicas[0] {
		t.Error("what has nothing to do with it is shown anew")
	}
}

// TestADeadlineThatPassesShows: nothing happens when it does, and no goal changes.
func TestADeadlineThatPassesShows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		doc := &goal.Document{All: goal.Up, Asked: wire.Revision{Counter: 1, ID: "a"}}
		rules, _ := pipeline(t, time.Minute, doc)
		begun := time.Now()
		now := seen(wire.Execution{
			ID: "goal-1-a-x", Component: "load", Interface: protocol.TaskRun.Interface, Operation: protocol.TaskRun.Name, Outcome: wire.OutcomeFailed,
			Started: begun, Ended: begun.Add(time.Second), Part: &wire.Part{Attempt: 1, Since: begun},
		})
		before := rules.At(now)
		if st := before.Tasks()["load"]; st.Phase != goal.TaskRetrying || !st.Since.Equal(begun) {
			t.Fatalf("it failed once, and is %+v", st)
		}
		time.Sleep(59 * time.Second)
		if later := rules.At(now); !before.Same(later) {
			t.Errorf("before its deadline it is %+v", later.Tasks()["load"])
		}
		time.Sleep(time.Second)
		late := rules.At(now)
		if st := late.Tasks()["load"]; before.Same(late) || st.Phase != goal.TaskFailed || st.Reason == "" {
			t.Errorf("after its deadline it is %+v", st)
		}
		time.Sleep(time.Hour)
		if later := rules.At(now); !late.Same(later) {
			t.Error("it is shown anew long after its deadline")
		}
	})
}
