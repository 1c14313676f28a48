package topology

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
)

// attachedWeb has a node with programs, one of which has its name, and another node with a component of a script.
func attachedWeb(t *testing.T) *Application {
	t.Helper()
	unit := &spec.Unit{Port: 9001, User: "admin"}
	app := &spec.Application{Nodes: []spec.Node{{Name: "backend", Unit: unit}, {Name: "web", Unit: unit, Attached: &spec.Attached{}}, {Name: "worker", Unit: unit, Attached: &spec.Attached{}}}}
	operations := func(names ...string) []spec.Operation {
		var all []spec.Operation
		for _, name := range names {
			all = append(all, spec.Operation{Name: name})
		}
		return all
	}
	for _, name := range []string{"app", "web", "group:a"} {
		app.Components = append(app.Components, spec.Component{
			Name: "web/" + name, Node: "web", Protocol: protocol.Program(), Program: &spec.AttachedProgram{Name: name},
			Interfaces: []spec.Interface{{Name: "Program", Operations: operations("restart", "start", "stop")}},
		})
	}
	app.Components = append(app.Components, spec.Component{Name: "api", Node: "backend", Protocol: protocol.Software(), Interfaces: []spec.Interface{
		{Name: "Standard", Operations: []spec.Operation{{Name: "start", Script: "s.sh"}, {Name: "stop"}}},
	}})
	model, err := New(app, func(string) []string { return []string{"secret"} })
	if err != nil {
		t.Fatal(err)
	}
	return model
}

func TestAProgramIsSelectedByEachOfItsNames(t *testing.T) {
	t.Parallel()
	model := attachedWeb(t)
	for name, want := range map[string]string{
		"web": "app web group:a", "web/app": "app", "web/web/app": "app", "web/app/start": "app", "web/web/app/Program.start": "app", "web/group:a": "group:a",
		"web/web": "web", "web/web/start": "web", "web/web/web": "web", "web/app/stop": "", "": "api:Standard.start app web group:a",
		"api": "api:Standard.start", "backend/api/start": "api:Standard.start", "api/stop": "",
		"web/ap": `node "web" has no component "ap"`, "web/app/begin": `has no operation "begin"`, "worker": "",
	} {
		found, err := model.Choose(name)
		var processes []string
		for _, op := range found {
			processes = append(processes, op.Process())
		}
		if got := strings.Join(processes, " "); got != want && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q selects %q, %v, want %q", name, got, err, want)
		}
	}
}

func TestAProgramIsImplementedByItsUnit(t *testing.T) {
	t.Parallel()
	model := attachedWeb(t)
	for _, name := range []string{"app", "web/app"} {
		c, err := model.Component("web", name)
		if err != nil || c.Name() != "web/app" {
			t.Fatalf("%s: %v, %v", name, c, err)
		}
		got := ""
		for _, op := range c.Operations {
			got += fmt.Sprint(op.Name, " ", op.Describe().Implemented, " ", op.HasProcess(), "; ")
		}
		if want := "Program.restart true false; Program.start true true; Program.stop true false; "; got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
	if _, err := model.Component("worker", "app"); err == nil || !strings.Contains(err.Error(), `node "worker" has no component "app"`) {
		t.Errorf("of another node: %v", err)
	}
	if n, err := model.Node("worker"); err != nil || !n.Toskosed {
		t.Errorf("a node without programs: %+v, %v", n, err)
	}
}
