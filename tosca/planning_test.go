package tosca_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/spec/plan"
	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/tosca"
	"github.com/toskose/toskose/tosca/csar"
)

func TestPlansKnowWhoFulfilsWhat(t *testing.T) {
	t.Parallel()
	c := readCase(t, filepath.Join("testdata", "valid", "everything.txtar"))
	app, _, err := tosca.Load(t.Context(), c.archive, tosca.Options{Inputs: c.inputs})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]plan.Binding{}
	for _, e := range plan.Elements(app) {
		got[e.Name] = e.Bindings
		if want := []protocol.Operation{{Interface: "Standard", Name: "stop"}}; e.Name == "web" && !cmp.Equal(want, e.Unimplemented[len(e.Unimplemented)-1:]) {
			t.Errorf("of web %v are not implemented", e.Unimplemented)
		}
		if e.Name == "box" && len(e.Unimplemented) > 0 {
			t.Errorf("of a container %v are not implemented", e.Unimplemented)
		}
	}
	want := map[string][]plan.Binding{
		"box": {{Requirement: "storage", Target: "disk", Capability: "attachment"}, {Requirement: "storage", Target: "disk", Capability: "attachment"}},
		"built": {
			{Requirement: "connection", Target: "web", Capability: "endpoint"},
			{Requirement: "storage", Target: "disk", Capability: "attachment"},
			{Requirement: "scratch", Target: "disk", Capability: "attachment"},
		},
		"db":   got["db"],
		"disk": nil,
		"runtime": {
			{Requirement: "host", Target: "box", Capability: "host"}, {Requirement: "alive", Target: "box", Capability: "alive"},
		},
		"web": {
			{Requirement: "host", Target: "runtime", Capability: "host"},
			{Requirement: "alive", Target: "runtime", Capability: "alive"},
			{Requirement: "connection", Target: "db", Capability: "endpoint"},
			{Requirement: "dependency", Target: "db", Capability: "feature"},
			{Requirement: "database", Target: "db", Capability: "endpoint"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestThePlansOfThinking(t *testing.T) {
	t.Parallel()
	archive, err := csar.Open(filepath.Join("..", "examples", "thinking"))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	app, _, err := tosca.Load(t.Context(), archive, tosca.Options{})
	if err != nil {
		t.Fatal(err)
	}
	elements := plan.Elements(app)
	running, notes := plan.Up(elements, nil)
	if len(notes) > 0 {
		t.Error(notes)
	}
	push := []plan.Operation{{Component: "api", Operation: protocol.Operation{Interface: "api_interface", Name: "push_default"}}}
	for name, p := range map[string]plan.Problem{
		"up":        {Elements: elements, Goal: running},
		"down":      {Elements: elements, From: running, Goal: plan.Down(elements)},
		"push":      {Elements: elements, From: running, Goal: running, Run: push}, // the API stops under the page, and starts again
		"no-store":  {Elements: elements, From: running, Goal: map[string]string{"store": "created"}},
		"only-push": {Elements: elements, Run: push},
	} {
		made, err := plan.Make(t.Context(), p, plan.Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var operations []plan.Operation
		for _, s := range made.Steps() {
			operations = append(operations, s.Operation)
		}
		if out, err := plan.Check(p, operations); err != nil || len(out.Unmet) > 0 {
			t.Errorf("%s: the plan is refused: %v, %v", name, err, out)
		}
		text, err := made.Format("text", app.Name)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, filepath.Join("testdata", "plans", "thinking-"+name+".txt"), text)
	}
}
