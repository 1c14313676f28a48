package tosca_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/tosca"
)

func TestAnEndpointIsThePortThatACapabilityDeclares(t *testing.T) {
	t.Parallel()
	doc := header + `
capability_types:
  Web: {derived_from: tosca.capabilities.Endpoint, properties: {port: {type: integer, default: 80}}}
node_types:
  Served: {derived_from: tosker.nodes.Software, capabilities: {web: {type: Web}}}
  Twice: {derived_from: Served, capabilities: {admin: {type: Web}}}
topology_template:
  inputs: {p: {type: integer, default: 8000}}
  node_templates:
    none: {type: tosker.nodes.Software, requirements: [host: box]}
    own:
      type: tosker.nodes.Software
      capabilities: {endpoint: {properties: {port: {get_input: p}}}}
      requirements: [host: box]
    udp:
      type: tosker.nodes.Software
      capabilities: {endpoint: {properties: {port: 53, protocol: udp}}}
      requirements: [host: box]
    served: {type: Served, requirements: [host: box]}
    twice: {type: Twice, requirements: [host: box]}
    chosen:
      type: Twice
      capabilities: {endpoint: {properties: {port: 9000}}}
      requirements: [host: box]
    box:
      type: tosker.nodes.Container
      capabilities: {endpoint: {properties: {port: 443}}}
      artifacts: {image: {file: busybox, type: tosker.artifacts.Image}}
`
	app, _, err := tosca.Load(t.Context(), zipped(t, map[string]string{"app.yaml": doc}), tosca.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, c := range app.Components {
		got[c.Name] = c.Endpoint
	}
	for _, n := range app.Nodes {
		got[n.Name] = n.Endpoint
	}
	want := map[string]int{"none": 0, "own": 8000, "udp": 0, "served": 80, "twice": 0, "chosen": 9000, "box": 443}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
