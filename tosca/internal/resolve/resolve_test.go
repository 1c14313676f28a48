package resolve_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/inherit"
	"github.com/toskose/toskose/tosca/internal/resolve"
)

type archive struct{ fstest.MapFS }

func (a archive) ReadFile(name string, _ int64) ([]byte, error) { return fs.ReadFile(a.MapFS, name) }

// resolved returns the graph of a document with this topology.
func resolved(t *testing.T, topology string, inputs map[string]any) *resolve.Graph {
	t.Helper()
	a := archive{fstest.MapFS{"app.yaml": {Data: []byte("tosca_definitions_version: tosca_simple_yaml_1_3\ntopology_template:\n" + topology)}}}
	var found diag.Collector
	docs, err := grammar.Load(t.Context(), a, "app.yaml", &found)
	if err != nil || len(docs) == 0 || len(found.List()) > 0 {
		t.Fatalf("%v, %v", err, found.List())
	}
	g := resolve.New(a, docs, resolve.Options{Inputs: inputs, Noun: func(*inherit.NodeType) string { return "" }})
	if err := g.Resolve(t.Context()); err != nil {
		t.Fatal(err)
	}
	return g
}

const web = `
  node_templates:
    server: {type: tosca.nodes.Compute}
    front: {type: tosca.nodes.WebServer, requirements: [host: server]}
    shop: {type: tosca.nodes.WebApplication, requirements: [host: front, dependency: data]}
    data: {type: tosca.nodes.SoftwareComponent, requirements: [host: server]}
  groups:
    all: {type: tosca.groups.Root, members: [front, shop]}
  policies:
    - wide: {type: tosca.policies.Scaling, targets: [all, data]}
`

func TestEveryRequirementHasItsTarget(t *testing.T) {
	t.Parallel()
	g := resolved(t, web, nil)
	if list := g.List(); len(list) > 0 {
		t.Fatal(list)
	}
	var edges []string
	for _, n := range g.Nodes {
		for _, e := range n.Edges {
			edges = append(edges, fmt.Sprintf("%s %s %s by %s", n.Name, e.Name, e.Target.Name, e.Relation.Name))
		}
	}
	want := []string{
		"front host server by tosca.relationships.HostedOn",
		"shop host front by tosca.relationships.HostedOn",
		"shop dependency data by tosca.relationships.DependsOn",
		"data host server by tosca.relationships.HostedOn",
	}
	if fmt.Sprint(edges) != fmt.Sprint(want) {
		t.Errorf("the edges are\n%s\nwant\n%s", strings.Join(edges, "\n"), strings.Join(want, "\n"))
	}
	for name, host := range map[string]string{"front": "server", "shop": "front", "data": "server"} {
		if at := g.ByName[name].Host; at == nil || at.Name != host {
			t.Errorf("%s is on %v, want %s", name, at, host)
		}
	}
	if g.ByName["server"].Host != nil {
		t.Error("server has a host")
	}
}

func TestATargetGroupStandsForItsMembers(t *testing.T) {
	t.Parallel()
	g := resolved(t, web, nil)
	var names []string
	for _, n := range g.Policies[0].Nodes {
		names = append(names, n.Name)
	}
	if got := strings.Join(names, " "); got != "front shop data" {
		t.Errorf("the policy is for %s", got)
	}
}

func TestAnInputHasTheValueOfItsUserOrItsDefault(t *testing.T) {
	t.Parallel()
	const inputs = `
  inputs:
    port: {type: integer, default: 80}
    name: {type: string}
    api_key: {type: string}
`
	g := resolved(t, inputs+web, map[string]any{"name": "shop", "api_key": "12345678"})
	if list := g.List(); len(list) > 0 {
		t.Fatal(list)
	}
	var got []string
	for _, in := range g.InputValues() {
		got = append(got, fmt.Sprint(in.Name, "=", in.Value.Text, " ", in.Secret))
	}
	if want := "api_key=12345678 true, name=shop false, port=80 false"; strings.Join(got, ", ") != want {
		t.Errorf("%s, want %s", strings.Join(got, ", "), want)
	}
}

func TestWhatCannotBeResolvedIsReportedWhereItIsWritten(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		old, written string
		want         []string
	}{
		"an unknown target":  {"host: front", "host: frond", []string{"app.yaml:7", `"frond"`, `did you mean "front"?`}},
		"an unknown type":    {"tosca.nodes.WebServer", "tosca.nodes.WebServre", []string{"app.yaml:6", `unknown node type "tosca.nodes.WebServre"`}},
		"a target of no use": {"front: {type: tosca.nodes.WebServer, requirements: [host: server]}", "front: {type: tosca.nodes.WebServer, requirements: [host: data]}", []string{"app.yaml:6", `"host"`}},
		"a host on itself":   {"host: front", "host: shop", []string{"app.yaml:7", `"shop"`}},
	} {
		if !strings.Contains(web, c.old) {
			t.Fatalf("%s: the document has no %s", name, c.old)
		}
		got := fmt.Sprint(resolved(t, strings.Replace(web, c.old, c.written, 1), nil).List())
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
	}
}

func TestASecretIsInNoMessage(t *testing.T) {
	t.Parallel()
	g := resolved(t, "  inputs:\n    api_key: {type: integer}\n", map[string]any{"api_key": "hunter2hunter2"})
	if got := fmt.Sprint(g.List()); !strings.Contains(got, "api_key") || strings.Contains(got, "hunter2") {
		t.Errorf("reported %s", got)
	}
}
