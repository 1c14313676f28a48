//go:build chaos

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/swarm"
)

// onASwarm packages Thinking for a swarm of three machines: the swarm's manager has
// the page and the store; the components that are taken away, and the application's
// manager, are on the two workers.
func onASwarm(t *testing.T) (c *chaos, e engines, nodes []swarm.Node) {
	t.Helper()
	on := machines(t)
	engine := on[0].engine
	nodes = swarmNodes(t, engine)
	registries := strings.Fields(dockerRegistries(t))
	source, folder := chaoticThinking(t)
	at := func(constraint string) string {
		return "    deploy: {placement: {constraints: [" + constraint + "]}}\n"
	}
	app := packageAs(t, engine, source, []string{"gui_port"}, func(name string) string {
		image := func(node string) string {
			return fmt.Sprintf("    docker: {name: %s/%s-%s}\n", registries[0], name, node)
		}
		first := "node.id == " + nodes[0].ID
		return fmt.Sprintf("  docker: {name: %s/%s-manager}\nnodes:\n", registries[0], name) +
			troubledNodes(at("node.role == worker")+image("backend"), at(first)+image("frontend")) + "  store:\n" + at(first)
	}, "-p", "--endpoint-mode", "dnsrr", "--publish-mode", "host", "--allow-host", folder)
	app.deploy(t)
	must(t, "", found(t, "docker"), "service", "update", "-q", "--constraint-add", "node.role == worker", app.name+"_toskose-manager")
	e = engines{application: app, on: on, scaling: func(t *testing.T, service string, replicas int) {
		must(t, "", found(t, "docker"), "service", "scale", "-d", fmt.Sprintf("%s_%s=%d", app.name, service, replicas))
	}}
	c = &chaos{application: app, ground: e, folder: folder}
	c.where = c.managerOf(nodes)
	eventually(t, "the manager answers on a worker", func() bool {
		c.where(t)
		_, answers := c.now(t)
		return answers
	})
	return c, e, nodes
}

// managerOf finds the manager again when it does not answer any more.
func (c *chaos) managerOf(nodes []swarm.Node) func(*testing.T) string {
	var looked time.Time
	port := c.manager[strings.LastIndex(c.manager, ":"):]
	return func(t *testing.T) string {
		if time.Since(looked) > time.Second {
			for _, id := range running(t, c.application, "toskose-manager") {
				i := slices.IndexFunc(nodes, func(n swarm.Node) bool { return n.ID == id })
				c.manager = "http://" + nodes[i].Status.Addr + port
			}
			looked = time.Now()
		}
		return c.manager
	}
}

// apart has the application's manager and the components that are taken away be on
// different workers.
func (c *chaos) apart(t *testing.T, e engines) (backend, manager place) {
	t.Helper()
	if backend, manager = e.one(t, "backend"), e.one(t, "toskose-manager"); backend.number != manager.number {
		return backend, manager
	}
	other := e.on[1+(backend.number-1)%2] // of the machines 2 and 3
	info, err := other.engine.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range []string{"--constraint-add", "--constraint-rm"} {
		must(t, "", found(t, "docker"), "service", "update", "-q", change, "node.id == "+info.Swarm.NodeID, c.name+"_toskose-manager")
	}
	eventually(t, "the manager answers on another machine", func() bool {
		manager = e.one(t, "toskose-manager")
		_, answers := c.now(t)
		return manager.number == other.number && answers
	})
	c.reached(t)
	return backend, manager
}

// back boots a machine and waits until the swarm has it.
func back(t *testing.T, on []machine, nodes []swarm.Node, m machine) {
	t.Helper()
	m.lab(t, "boot")
	ready(t, on, nodes)
}

func ready(t *testing.T, on []machine, nodes []swarm.Node) {
	t.Helper()
	eventually(t, "all machines are ready", func() bool {
		list, err := on[0].engine.NodeList(contextAfter(t), swarm.NodeListOptions{})
		return err == nil && len(list) == len(nodes) &&
			!slices.ContainsFunc(list, func(n swarm.Node) bool { return n.Status.State != swarm.NodeStateReady })
	})
}

func TestChaosOnASwarm(t *testing.T) {
	c, e, nodes := onASwarm(t)
	t.Cleanup(func() { c.publish(t, "chaos-swarm.md") })
	c.rise(t)

	anew := c.again("backend")
	c.survives(t, c.componentKilled())
	c.survives(t, c.unitKilled(apiUp, snifferUp)) // in another container, which the swarm makes
	c.survives(t, fault{
		name:   "a container removed",
		strike: func(t *testing.T) time.Time { return e.one(t, "backend").remove(t) },
		runs:   each(1, apiUp, snifferUp),
		alone:  anew,
	})
	c.survives(t, fault{
		name: "a link cut for 5 s, from its mending on",
		strike: func(t *testing.T) time.Time {
			backend, _ := c.apart(t, e)
			backend.lab(t, "cut")
			time.Sleep(5 * time.Second)
			return backend.lab(t, "mend")
		},
	})
	c.survives(t, fault{
		name: "a link cut until the swarm has given the container up, and mended",
		strike: func(t *testing.T) time.Time {
			backend, _ := c.apart(t, e)
			began := backend.lab(t, "cut")
			t.Cleanup(func() { ready(t, e.on, nodes) })
			defer backend.lab(t, "mend")
			eventually(t, "backend runs elsewhere", func() bool { return len(e.without(backend.machine).containers(t, "backend", false)) > 0 })
			return began
		},
		runs: each(1, apiUp, snifferUp), alone: anew,
	})
	c.survives(t, c.managerKilled())
	for _, killed := range []struct{ name, service string }{
		{"the manager's machine stopped in the middle of a plan", "toskose-manager"},
		{"a machine with components stopped", "backend"},
	} {
		var stopped machine
		c.survives(t, fault{
			name: killed.name,
			strike: func(t *testing.T) time.Time {
				backend, manager := c.apart(t, e)
				t.Cleanup(func() { back(t, e.on, nodes, stopped) })
				if stopped = manager.machine; killed.service == "toskose-manager" {
					return c.midway(t, func(t *testing.T) time.Time { return stopped.lab(t, "kill") })
				}
				stopped = backend.machine
				return stopped.lab(t, "kill")
			},
			runs: map[string]runs{"toskose-manager": downAndUp(), "backend": each(1, apiUp, snifferUp)}[killed.service],
			alone: func(t *testing.T) time.Time {
				return e.without(stopped).newest(t, killed.service)
			},
		})
	}
	began := time.Now()
	for _, f := range c.scaled() {
		if c.survives(t, f); f.name == "replicas from 1 to 5" {
			c.foundSoon(t, began)
		}
	}
	c.survives(t, c.failsTwice())
	c.survives(t, c.hangs())
	c.survives(t, c.answersNothing())
	c.survives(t, c.answersErrors())
	c.crashes(t)
	c.nothingIsLost(t)
	c.journalsAgree(t, len(recovery), "backend", "frontend")
	e.keepLogs(t, "chaos-swarm")
	t.Run("deployed anew under its name, it finds no goal", func(t *testing.T) { c.deployedAnew(t) })
}

// deployedAnew: on the workers, volumes with the goal are left.
func (c *chaos) deployedAnew(t *testing.T) {
	before, _ := c.ran(t)
	must(t, "", "toskose", "undeploy", c.dir)
	must(t, "", "toskose", "deploy", "--timeout", patience, c.dir)
	eventually(t, "the manager would act", func() bool {
		g, answers := c.now(t)
		if g.Revision != "" || g.State != "" {
			t.Fatalf("it finds the goal %+v", g)
		}
		return answers && g.Acting
	})
	if all, _ := c.ran(t); len(all.minus(before)) > 0 {
		t.Errorf("there ran %v", all.minus(before))
	}
}
