package check_test

import (
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/check"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/inherit"
	"github.com/toskose/toskose/tosca/internal/resolve"
)

// archive is files in memory.
type archive struct{ fstest.MapFS }

func (a archive) ReadFile(name string, _ int64) ([]byte, error) { return fs.ReadFile(a.MapFS, name) }

const first = "tosca_definitions_version: tosca_simple_yaml_1_3\n"

// noun makes the caller's those nodes whose type is named own, or own.NAME.
func noun(t *inherit.NodeType) string {
	if name, _, _ := strings.Cut(t.Name, "."); name == "own" {
		return "part"
	}
	return ""
}

// resolved resolves a document, as validation does.
func resolved(t testing.TB, doc string) (*resolve.Graph, diag.List) {
	t.Helper()
	return resolvedWithin(t, doc, 0)
}

// resolvedWithin is resolved with a limit of work; 0 stands for the usual one.
func resolvedWithin(t testing.TB, doc string, limit int) (*resolve.Graph, diag.List) {
	t.Helper()
	a := archive{fstest.MapFS{"app.yaml": {Data: []byte(doc)}}}
	var found diag.Collector
	docs, err := grammar.Load(t.Context(), a, "app.yaml", &found)
	if err != nil || len(docs) == 0 {
		t.Fatalf("not read: %v, %v", err, found.List())
	}
	s := resolve.New(a, docs, resolve.Options{Draft: true, Noun: noun})
	s.Add(found.List()...)
	if limit > 0 {
		s.Limit = limit
	}
	if err := check.Document(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	return s, s.List()
}

func codes(list diag.List) []string {
	var all []string
	for _, d := range list {
		if !slices.Contains(all, d.Code) {
			all = append(all, d.Code)
		}
	}
	slices.Sort(all)
	return all
}

const shop = first + `
capability_types:
  my.Data: {derived_from: tosca.capabilities.Root, properties: {speed: {type: integer, default: 1}}}
node_types:
  own.Store:
    derived_from: tosca.nodes.Root
    properties: {size: {type: integer, default: 1}, name: {type: string, default: {get_input: name}}}
    capabilities: {data: my.Data, host: tosca.capabilities.Container}
  own.Fast: {derived_from: own.Store, capabilities: {data: {type: my.Data, properties: {speed: {type: integer, default: 9}}}}}
  own.Page:
    derived_from: tosca.nodes.Root
    requirements:
      - store: {capability: my.Data, node: own.Store, relationship: tosca.relationships.DependsOn, occurrences: [0, 2]}
      - host: {capability: tosca.capabilities.Container, relationship: tosca.relationships.HostedOn, occurrences: [0, 1]}
topology_template:
  inputs: {name: {type: string, default: shop}}
  node_templates:
    slow: {type: own.Store}
    fast: {type: own.Fast, properties: {size: 5}}
    page:
      type: own.Page
      requirements:
        - host: slow
        - store: slow
        - store: {node_filter: {properties: [{size: {greater_than: 2}}], capabilities: [{my.Data: {properties: [{speed: {equal: 9}}]}}]}}
`

func TestRequirementsBecomeEdgesWithRelationshipsHostsAndFilledFilters(t *testing.T) {
	t.Parallel()
	s, list := resolved(t, shop)
	if len(list) > 0 {
		t.Fatal(list)
	}
	page := s.ByName["page"]
	var edges []string
	for _, e := range page.Edges {
		edges = append(edges, e.Name+" > "+e.Target.Name+" by "+e.Relation.Name)
	}
	want := []string{
		"host > slow by tosca.relationships.HostedOn", "store > slow by tosca.relationships.DependsOn", "store > fast by tosca.relationships.DependsOn",
	}
	if !slices.Equal(edges, want) {
		t.Errorf("the edges are %q, not %q", edges, want)
	}
	if page.Host != s.ByName["slow"] || page.Host.Host != nil {
		t.Errorf("the page is hosted on %v", page.Host)
	}
	if v := s.ByName["fast"].Property("name"); !v.OK || v.Node.Text != "shop" {
		t.Errorf("a default that reads an input is %+v", v)
	}
	if !s.ByName["fast"].Typ.Is("own.Store") || s.ByName["slow"].Typ.Is("own.Fast") {
		t.Error("derivation is upside down")
	}
}

func TestAFilterThatTwoNodesFulfilIsLeftOpen(t *testing.T) {
	t.Parallel()
	s, list := resolved(t, shop+"    twin: {type: own.Fast, properties: {size: 5}}\n")
	if len(list) != 1 || list[0].Code != "TOSCA-REQ-007" || !strings.Contains(list[0].Message, `"fast" and "twin" pass`) {
		t.Errorf("said: %v", list)
	}
	if len(s.ByName["page"].Edges) != 2 {
		t.Errorf("one of them was chosen: %v", s.ByName["page"].Edges)
	}
}

func TestHostsThatStandOnEachOtherAreCutWhereTheyClose(t *testing.T) {
	t.Parallel()
	s, list := resolved(t, first+`
node_types:
  my.Box:
    derived_from: tosca.nodes.Root
    capabilities: {host: tosca.capabilities.Container}
    requirements: [{host: {capability: tosca.capabilities.Container, relationship: tosca.relationships.HostedOn, occurrences: [0, 1]}}]
topology_template:
  node_templates:
    a: {type: my.Box, requirements: [{host: b}]}
    b: {type: my.Box, requirements: [{host: c}]}
    c: {type: my.Box, requirements: [{host: a}]}
    on: {type: my.Box, requirements: [{host: a}]}
`)
	if got := codes(list); !slices.Equal(got, []string{"TOSCA-REQ-008"}) || len(list) != 3 {
		t.Errorf("said: %v", list)
	}
	for n, steps := s.ByName["on"], 0; n != nil; n, steps = n.Host, steps+1 {
		if steps > 4 {
			t.Fatal("the hosts still go round")
		}
	}
}

func TestTypesAreCheckedBeforeThereIsATopology(t *testing.T) {
	t.Parallel()
	_, list := resolved(t, first+`
node_types:
  my.Page:
    derived_from: tosca.nodes.Root
    properties: {title: {type: string, default: {concat: [{get_input: name}, {get_property: [other, title]}]}}}
topology_template:
  inputs: {name: {type: string, default: x}}
  node_templates: {page: {type: my.Page, properties: {title: y}}}
`)
	if len(list) > 0 {
		t.Errorf("a type that reads what a topology may have is refused: %v", list)
	}
}

func TestWhatIsNotKnownDoesNotBringFurtherComplaints(t *testing.T) {
	t.Parallel()
	_, list := resolved(t, first+`
topology_template:
  node_templates:
    lost: {type: my.Unknown, properties: {a: 1}, requirements: [{b: page}], capabilities: {c: {properties: {d: 1}}}}
    page: {type: tosca.nodes.Root, requirements: [{dependency: lost}]}
  outputs: {e: {value: {get_property: [lost, f]}}}
`)
	if len(list) != 1 || list[0].Code != "TOSCA-TYPE-001" {
		t.Errorf("said: %v", list)
	}
}
