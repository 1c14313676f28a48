package attach_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/manager/attach"
	"github.com/toskose/toskose/manager/mirror"
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/plan"
	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/wire"
)

// shop has two attached nodes, and a standalone one.
func shop() *spec.Application {
	node := func(name string, a *spec.Attached) spec.Node {
		n := spec.Node{Name: name, Protocol: protocol.Container(), Attached: a}
		if a != nil {
			n.Unit = &spec.Unit{Port: 9001, User: "admin"}
		}
		return n
	}
	return &spec.Application{Name: "shop", Nodes: []spec.Node{
		node("db", nil), node("queue", &spec.Attached{}),
		node("web", &spec.Attached{Requires: map[string][]string{"app": {"queue/broker", "db", "queue/broker"}, "absent": {"queue/other"}}}),
	}}
}

func TestEachProgramIsAComponent(t *testing.T) {
	t.Parallel()
	app := shop()
	model := attach.Model(app, map[string][]spec.AttachedProgram{"web": {{Name: "app", Autostart: true}, {Name: "workers:a"}}})
	if err := model.Validate(); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, c := range model.Components {
		found[c.Name] = fmt.Sprint(c.Node, " ", c.Host, " ", c.Connections, " ", *c.Program, " ", len(c.Unimplemented()))
	}
	want := map[string]string{
		"web/app": "web web [db queue/broker] {app true} 0", "web/workers:a": "web web [] {workers:a false} 0",
		"queue/broker": "queue queue [] {broker false} 0", // required, and not reported
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Error(diff)
	}
	if !slices.IsSortedFunc(model.Components, func(a, b spec.Component) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the components are not sorted")
	}
	if len(app.Components) > 0 {
		t.Error("the document has changed")
	}
	var operations []string
	for name := range model.Components[1].Operations() {
		operations = append(operations, name.String())
	}
	if !slices.Equal(operations, []string{"Program.restart", "Program.start", "Program.stop"}) {
		t.Errorf("the operations are %v", operations)
	}
	for _, e := range plan.Elements(model) {
		if e.Name != "web/app" {
			continue
		}
		i := slices.IndexFunc(e.Bindings, func(b plan.Binding) bool { return b.Target == "queue/broker" })
		if want := (plan.Binding{Requirement: "connection", Target: "queue/broker", Capability: "endpoint", Live: true}); i < 0 || e.Bindings[i] != want {
			t.Errorf("the bindings are %v", e.Bindings)
		}
	}
}

// replica reports programs, NAME or NAME* with autostart.
func replica(names ...string) *mirror.Replica {
	r := &mirror.Replica{Address: netip.MustParseAddrPort("10.0.0.1:9001"), Instance: "i1"}
	for _, name := range names {
		short := strings.TrimSuffix(name, "*")
		r.Programs = append(r.Programs, wire.ProgramComponent{Component: short, Autostart: short != name})
	}
	return r
}

func unreachable(r *mirror.Replica) *mirror.Replica {
	r.Problem = mirror.ErrBehind // any
	return r
}

func gone(r *mirror.Replica) *mirror.Replica {
	r.Gone = time.Unix(1, 0)
	return r
}

func TestProgramsAreLearnedFromAllReplicas(t *testing.T) {
	t.Parallel()
	var learned attach.Programs
	for _, step := range []struct {
		why      string
		replicas []*mirror.Replica
		want     string
	}{
		{"none yet", nil, "[]"},
		{"the first answers", []*mirror.Replica{replica("a*", "b"), unreachable(&mirror.Replica{})}, "[{a true} {b false}]"},
		{"replicas differ", []*mirror.Replica{replica("a", "b*"), replica("a*", "c")}, "[{a true} {b true} {c false}]"},
		{"one is unreachable, and keeps its programs", []*mirror.Replica{unreachable(replica("a", "b*")), replica("c")}, "[{a false} {b true} {c false}]"},
		{"it is removed", []*mirror.Replica{gone(replica("a")), replica("c")}, "[{c false}]"},
		{"its container is removed", nil, "[{c false}]"},
		{"another has not answered", []*mirror.Replica{unreachable(&mirror.Replica{})}, "[{c false}]"},
		{"another has answered", []*mirror.Replica{replica("d*")}, "[{d true}]"},
		{"all programs are removed", []*mirror.Replica{replica()}, "[]"},
	} {
		refused := learned.Update(shop(), &mirror.Snapshot{Nodes: []*mirror.Node{{Name: "web", Known: true, Replicas: step.replicas}}})
		if got := fmt.Sprint(learned.Of()["web"]); got != step.want || len(refused) > 0 {
			t.Errorf("%s: %s, want %s; refused %v", step.why, got, step.want, refused)
		}
	}
}

func TestNamesThatCannotBeComponentsAreRefused(t *testing.T) {
	t.Parallel()
	app := shop()
	app.Volumes = []spec.Volume{{Name: "web/taken"}}
	many := make([]string, 1200)
	for i := range many {
		many[i] = fmt.Sprintf("p%04d", i)
	}
	for name, why := range map[string]string{
		"": "without a name", strings.Repeat("x", 256): "longer than 255 bytes", "a/b": "no space, slash", "a b": "no space",
		"a\x1b[2J": "cannot be printed", "a\u202eb": "cannot be printed", "a:b:c": "one colon", "\xff": "cannot be printed", "taken": `named "web/taken"`,
	} {
		var learned attach.Programs
		now := &mirror.Snapshot{Nodes: []*mirror.Node{{Name: "web", Known: true, Replicas: []*mirror.Replica{replica(name, "good")}}}}
		refused := learned.Update(app, now)["web"]
		if got := fmt.Sprint(learned.Of()["web"]); got != "[{good false}]" || len(refused) != 1 || !strings.Contains(refused[0], why) {
			t.Errorf("%.20q: %s, refused %q", name, got, refused)
		}
		if again := learned.Update(app, now); len(again) > 0 {
			t.Errorf("%.20q is reported again: %v", name, again)
		}
	}
	var learned attach.Programs
	refused := learned.Update(app, &mirror.Snapshot{Nodes: []*mirror.Node{{Name: "web", Replicas: []*mirror.Replica{replica(many...)}}}})["web"]
	if n := len(learned.Of()["web"]); n != 1000 || len(refused) != 1 || !strings.Contains(refused[0], "200 programs") {
		t.Errorf("%d of %d programs, refused %q", n, len(many), refused)
	}
}
