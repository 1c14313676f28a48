//go:build swarm || chaos

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/swarm"
	"github.com/docker/docker/client"
)

// These tests run on a swarm of three nodes or more, whose manager DOCKER_HOST
// is; `make e2e-swarm` has more.

// TestThinkingOnASwarmOfSeveralNodes pushes images to each registry that
// TOSKOSE_REGISTRIES names, as Docker's configuration says who may, and has
// other nodes pull them from there. Each application is deployed in both ways
// that there are.
func TestThinkingOnASwarmOfSeveralNodes(t *testing.T) {
	registries := strings.Fields(os.Getenv("TOSKOSE_REGISTRIES"))
	if len(registries) == 0 {
		t.Fatal("TOSKOSE_REGISTRIES names no registry that all nodes of the swarm reach")
	}
	engine := dockerEngine(t)
	nodes := swarmNodes(t, engine)
	for _, registry := range registries {
		t.Run(registry, func(t *testing.T) { overNodes(t, engine, nodes, registry) })
	}
}

// swarmNodes gives the nodes of the engine's swarm, its own first.
func swarmNodes(t *testing.T, engine *client.Client) []swarm.Node {
	t.Helper()
	info, err := engine.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !info.Swarm.ControlAvailable {
		t.Fatalf("the engine is no manager of a swarm: it is %s", info.Swarm.LocalNodeState)
	}
	nodes, err := engine.NodeList(t.Context(), swarm.NodeListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(nodes) < 3 {
		t.Fatalf("the swarm has %d nodes, and the test wants three", len(nodes))
	}
	slices.SortStableFunc(nodes, func(a, b swarm.Node) int {
		switch info.Swarm.NodeID {
		case a.ID:
			return -1
		case b.ID:
			return 1
		}
		return 0
	})
	return nodes
}

// overNodes has each container of Thinking on a node of its own.
func overNodes(t *testing.T, engine *client.Client, nodes []swarm.Node, registry string) {
	places := map[string]swarm.Node{"backend": nodes[0], "frontend": nodes[1], "store": nodes[2]}
	app := packageAs(t, engine, "../examples/thinking", thinkingsPorts, func(name string) string {
		config := fmt.Sprintf("  docker: {name: %s/%s-manager}\nnodes:\n", registry, name)
		for _, node := range []string{"backend", "frontend", "store"} {
			config += fmt.Sprintf("  %s:\n    deploy: {placement: {constraints: [node.id == %s]}}\n", node, places[node].ID)
			if node != "store" {
				config += fmt.Sprintf("    docker: {name: %s/%s-%s}\n", registry, name, node)
			}
		}
		return config
	}, "-p", "--endpoint-mode", "dnsrr", "--publish-mode", "host")
	// A node's own ports are the machine's, or they are at the node's address.
	app.at = map[string]string{"gui_port": nodes[1].Status.Addr}
	t.Cleanup(func() { must(t, "", "toskose", "undeploy", "--volumes", app.dir) })

	deployments := []struct {
		name string
		do   func(*testing.T)
	}{
		{"toskose deploy", func(t *testing.T) {
			said := must(t, "", "toskose", "deploy", "--timeout", "5m", app.dir).stdout
			at := regexp.MustCompile(`Its manager is at (http://\S+),`).FindStringSubmatch(said)
			if at == nil {
				t.Fatalf("it does not say where the manager is:\n%s", said)
			}
			app.manager = at[1]
		}},
		{"docker stack deploy", func(t *testing.T) {
			must(t, "", "toskose", "undeploy", app.dir)
			must(t, "", found(t, "docker"), "stack", "deploy", "--resolve-image", "never", "--with-registry-auth",
				"-c", filepath.Join(app.dir, "docker-compose.yml"), app.name)
		}},
	}
	for _, deployment := range deployments {
		if !t.Run(deployment.name, func(t *testing.T) {
			deployment.do(t)
			app.password = strings.TrimSpace(read(t, filepath.Join(app.dir, "secrets", "manager-password")))
			app.manager = managersAddress(t, app, nodes)
			eventually(t, "the manager finds all containers", func() bool {
				var found []struct{ State string }
				_, said := app.ask(t, http.MethodGet, "/api/v1/node/")
				err := json.Unmarshal([]byte(said.raw), &found)
				return err == nil && len(found) == len(places) && !slices.ContainsFunc(found, func(n struct{ State string }) bool { return n.State != "running" })
			})
			theyRunOn(t, app, places)
			for _, part := range []struct {
				name string
				tell func(*testing.T, *application)
			}{
				{"no operation is allowed before its time", nothingBeforeItsTime},
				{"every component comes up in the paper's order", everythingComesUp},
				{"another user in a container cannot read its secrets", othersReadNoSecret},
				{"the page answers and shares thoughts", thePageShares},
				{"the log viewer shows and filters what the API did", theLogIsShown},
				{"stopping api leaves logsniffer and the thoughts alone", apiStopsAlone},
				{"what is not there is not found", unknownNames},
			} {
				if !t.Run(part.name, func(t *testing.T) { part.tell(t, app) }) {
					return
				}
			}
		}) {
			return
		}
	}
}

// running gives the nodes that the tasks of a service run on.
func running(t *testing.T, app *application, service string) []string {
	t.Helper()
	tasks, err := app.engine.TaskList(t.Context(), swarm.TaskListOptions{Filters: filters.NewArgs(
		filters.Arg("service", app.name+"_"+service), filters.Arg("desired-state", "running"))})
	if err != nil {
		t.Fatal(err)
	}
	var nodes []string
	for _, task := range tasks {
		if task.Status.State == swarm.TaskStateRunning {
			nodes = append(nodes, task.NodeID)
		}
	}
	return nodes
}

func theyRunOn(t *testing.T, app *application, places map[string]swarm.Node) {
	t.Helper()
	for service, node := range places {
		var on []string
		eventually(t, "the swarm has heard that "+service+" runs", func() bool { // its container may answer before
			on = running(t, app, service)
			return len(on) > 0
		})
		if !slices.Equal(on, []string{node.ID}) {
			t.Errorf("%s runs on %q, want %s", service, on, node.ID)
		}
	}
}

// managersAddress is the port of the node that the manager is on.
func managersAddress(t *testing.T, app *application, nodes []swarm.Node) string {
	t.Helper()
	var on []string
	eventually(t, "the manager runs", func() bool {
		on = running(t, app, "toskose-manager")
		return len(on) == 1
	})
	port := app.manager[strings.LastIndex(app.manager, ":"):]
	for _, node := range nodes[1:] {
		if node.ID == on[0] {
			return "http://" + node.Status.Addr + port
		}
	}
	return "http://127.0.0.1" + port
}
