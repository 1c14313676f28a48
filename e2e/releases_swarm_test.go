//go:build swarm

package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestThinkingIsUpgradedAndRolledBackOnSeveralNodes goes through three versions of Thinking,
// each container on a node of its own.
func TestThinkingIsUpgradedAndRolledBackOnSeveralNodes(t *testing.T) {
	registries := strings.Fields(os.Getenv("TOSKOSE_REGISTRIES"))
	if len(registries) == 0 {
		t.Fatal("TOSKOSE_REGISTRIES names no registry that all nodes of the swarm reach")
	}
	engine := dockerEngine(t)
	nodes := swarmNodes(t, engine)
	if err := bases(); err != nil {
		t.Fatalf("the base images are missing: %v", err)
	}
	app := prepare(t, engine, "../examples/thinking", thinkingsPorts, func(string) string { return "" },
		"-p", "--endpoint-mode", "dnsrr", "--publish-mode", "host")
	port := strings.TrimPrefix(app.manager, "http://127.0.0.1:")
	t.Cleanup(func() { must(t, "", "toskose", "undeploy", "--volumes", "--timeout", patience, app.dir) })
	where := surroundings{
		configure: func(t *testing.T, frontend bool) {
			config := fmt.Sprintf("manager:\n  port: %s\n  docker: {name: %s/%s-manager}\nnodes:\n", port, registries[0], app.name)
			for i, node := range []string{"backend", "store", "frontend"} {
				if node == "frontend" && !frontend {
					continue
				}
				config += fmt.Sprintf("  %s:\n    deploy: {placement: {constraints: [node.id == %s]}}\n", node, nodes[i].ID)
				if node != "store" {
					config += fmt.Sprintf("    docker: {name: %s/%s-%s}\n", registries[0], app.name, node)
				}
			}
			write(t, app.config, config)
		},
		deployed: func(t *testing.T) { app.manager = managersAddress(t, app, nodes) },
	}
	goThroughReleases(t, app, where)
	for _, step := range []struct {
		name string
		do   func(*testing.T)
	}{
		{"it is listed, and compared", func(t *testing.T) { itIsListed(t, app, where) }},
		{"another application has containers of the same names", func(t *testing.T) { besideAnother(t, app, registries[0], nodes) }},
		{"new passwords are asked for, and stay", func(t *testing.T) { newPasswords(t, app, where) }},
		{"secrets that nothing has any more leave", func(t *testing.T) { oldSecretsLeave(t, app, where) }},
		{"passwords are replaced while it is used", func(t *testing.T) { rotatedOverNodes(t, app, where) }},
		{"a volume of another machine is backed up and restored", func(t *testing.T) { aVolumeElsewhere(t, app, nodes[1]) }},
		{"it is undeployed by its name", func(t *testing.T) { undeployedByName(t, app, nodes[1]) }},
	} {
		if t.Failed() || !t.Run(step.name, step.do) {
			return
		}
	}
}
