//go:build swarm

package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/docker/docker/client"
)

// TestThePipelineOnASwarmOfSeveralNodes runs Tasks on workers of several nodes, with the
// manager killed in the middle, and replaces containers in which they ran. The store stays
// on a node, where its volume is.
func TestThePipelineOnASwarmOfSeveralNodes(t *testing.T) {
	registries := strings.Fields(os.Getenv("TOSKOSE_REGISTRIES"))
	if len(registries) == 0 {
		t.Fatal("TOSKOSE_REGISTRIES names no registry that all nodes of the swarm reach")
	}
	engine := dockerEngine(t)
	nodes := swarmNodes(t, engine)
	app := pipeline(t, engine, func(name, workers string) string {
		image := func(node string) string { return fmt.Sprintf("docker: {name: %s/%s-%s}\n", registries[0], name, node) }
		return "  " + image("manager") + workers + "    " + image("workers") +
			"  store:\n    deploy: {placement: {constraints: [node.id == " + nodes[2].ID + "]}}\n    " + image("store")
	}, append([]string{"-p"}, forSwarm...)...)
	app.target = onSwarm
	for _, host := range strings.Fields(os.Getenv("TOSKOSE_ENGINES")) {
		machine, err := client.NewClientWithOpts(client.WithHost(host), client.WithAPIVersionNegotiation())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { machine.Close() })
		app.machines = append(app.machines, machine)
	}
	app.deploy(t)
	found := func(t *testing.T) { app.manager = managersAddress(t, app, nodes) }
	found(t)
	on := map[*client.Client]bool{}
	for _, c := range app.containers(t, "workers") {
		on[c.engine] = true
	}
	if len(on) < 2 {
		t.Errorf("the workers are on %d machines", len(on))
	}
	app.runsThePipeline(t, hazards{killManager: app.killManager, replace: app.removeContainer, found: found})
}
