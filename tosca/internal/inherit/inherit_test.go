package inherit_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/inherit"
)

type archive struct{ fstest.MapFS }

func (a archive) ReadFile(name string, _ int64) ([]byte, error) { return fs.ReadFile(a.MapFS, name) }

// index returns the index of a document with these type definitions, and the document.
func index(t *testing.T, types string) (*inherit.Index, *grammar.Document) {
	t.Helper()
	text := "tosca_definitions_version: tosca_simple_yaml_1_3\n" + types
	var found diag.Collector
	docs, err := grammar.Load(t.Context(), archive{fstest.MapFS{"app.yaml": {Data: []byte(text)}}}, "app.yaml", &found)
	if err != nil || len(docs) == 0 || len(found.List()) > 0 {
		t.Fatalf("%v, %v", err, found.List())
	}
	return inherit.NewIndex(docs, false), docs[0]
}

// nodeType returns a node type with all that it inherits.
func nodeType(t *testing.T, ix *inherit.Index, doc *grammar.Document, name string) *inherit.NodeType {
	t.Helper()
	return ix.Flatten(ix.Lookup(doc, grammar.NodeType, grammar.Ref{Name: name}, "the test"))
}

const family = `
node_types:
  grandparent:
    properties: {a: {type: string, default: one}, b: {type: integer, required: false}}
    requirements: [host: {capability: tosca.capabilities.Compute, relationship: tosca.relationships.HostedOn, occurrences: [1, 3]}]
    capabilities: {door: {type: tosca.capabilities.Endpoint}}
    interfaces: {Standard: {type: tosca.interfaces.node.lifecycle.Standard, operations: {create: make.sh, start: {}}}}
  parent:
    derived_from: grandparent
    properties: {c: {type: boolean}}
    requirements: [host: {capability: tosca.capabilities.Compute, node: other}, peer: {capability: tosca.capabilities.Node}]
  child:
    derived_from: parent
    properties: {a: {type: string, default: two}}
    capabilities: {door: {type: tosca.capabilities.Endpoint.Public}}
    interfaces: {Standard: {operations: {create: better.sh}}}
  other: {derived_from: tosca.nodes.Compute}
`

func TestATypeHasWhatItsAncestorsHave(t *testing.T) {
	t.Parallel()
	ix, doc := index(t, family)
	for name, want := range map[string]struct{ properties, requirements, capabilities string }{
		"grandparent": {"a b", "host", "door"},
		"parent":      {"a b c", "host peer", "door"},
		"child":       {"a b c", "host peer", "door"},
	} {
		typ := nodeType(t, ix, doc, name)
		var requirements []string
		for _, r := range typ.Reqs {
			requirements = append(requirements, r.Name)
		}
		if got := strings.Join(typ.PropertyNames(), " "); got != want.properties {
			t.Errorf("%s: the properties are %s, want %s", name, got, want.properties)
		}
		if got := strings.Join(requirements, " "); got != want.requirements {
			t.Errorf("%s: the requirements are %s, want %s", name, got, want.requirements)
		}
		if got := strings.Join(typ.CapabilityNames(), " "); got != want.capabilities {
			t.Errorf("%s: the capabilities are %s, want %s", name, got, want.capabilities)
		}
		if !typ.Complete || !typ.Is("grandparent") {
			t.Errorf("%s: complete %v, of grandparent %v", name, typ.Complete, typ.Is("grandparent"))
		}
	}
}

func TestADefinitionRefinesTheInheritedOne(t *testing.T) {
	t.Parallel()
	ix, doc := index(t, family)
	child := nodeType(t, ix, doc, "child")
	if child.Props["a"].Refines == nil || child.Props["c"].Refines != nil {
		t.Error("a refines the grandparent's definition, and c none")
	}
	if child.Props["b"].Required || !child.Props["c"].Required {
		t.Error("b is optional and c required, as in the ancestors")
	}
	host := child.Requirement("host")
	if host.Min != 1 || host.Max != 3 || host.Relation == nil || host.Relation.Name != "tosca.relationships.HostedOn" || host.Node == nil || host.Node.Name != "other" {
		t.Errorf("host is %d to %d, by %v, of %v", host.Min, host.Max, host.Relation, host.Node)
	}
	if door := child.Caps["door"]; door.Typ.Name != "tosca.capabilities.Endpoint.Public" || !door.Complete {
		t.Errorf("door is %v", door.Typ)
	}
	if found := child.CapabilityOf(ix.Lookup(doc, grammar.CapabilityType, grammar.Ref{Name: "tosca.capabilities.Endpoint"}, "the test")); found != child.Caps["door"] {
		t.Errorf("the endpoint is %v", found)
	}
}

func TestAnInterfaceHasTheLastImplementation(t *testing.T) {
	t.Parallel()
	ix, doc := index(t, family)
	for name, want := range map[string]string{"parent": "make.sh", "child": "better.sh"} {
		standard := ix.TypeInterfaces(nodeType(t, ix, doc, name).Type)["Standard"]
		if standard == nil || standard.Typ == nil || standard.Unresolved {
			t.Fatalf("%s: Standard is %+v", name, standard)
		}
		if got := standard.Operations["create"].At.Implementation.Name; got != want {
			t.Errorf("%s: create is %q, want %q", name, got, want)
		}
		if inherit.Implemented(standard.Operations["start"].At) {
			t.Errorf("%s: start has an implementation", name)
		}
	}
}

func TestATypeWithAnUnknownOrCyclicAncestorIsIncomplete(t *testing.T) {
	t.Parallel()
	ix, doc := index(t, "node_types:\n  orphan: {derived_from: nowhere}\n  one: {derived_from: two}\n  two: {derived_from: one}\n")
	for _, name := range []string{"orphan", "one", "two"} {
		typ := doc.Scope().Lookup(grammar.NodeType, name)
		if ix.WholeNodeType(typ) != nil || ix.Flatten(typ).Complete {
			t.Errorf("%s is complete", name)
		}
	}
}

func TestAnUnknownTypeIsReportedWithTheNearestName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"parnet":               `the test: unknown node type "parnet" (did you mean "parent"?)`,
		"tosker.nodes.Contain": `the file does not import tosker-types.yaml, which is built in`,
		"toskose.nodes.Tusk":   `the file does not import toskose-types.yaml, which is built in`,
	} {
		ix, doc := index(t, family)
		if found := ix.Lookup(doc, grammar.NodeType, grammar.Ref{Name: name}, "the test"); found != nil {
			t.Errorf("%s is %v", name, found)
		}
		if got := fmt.Sprint(ix.List()); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
