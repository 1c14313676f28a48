//go:build chaos

package e2e

import (
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/network"
)

func TestChaosOnCompose(t *testing.T) {
	source, folder := chaoticThinking(t)
	c, e := onCompose(t, folder, source, []string{"gui_port"}, "nodes:\n"+troubledNodes("", ""))
	t.Cleanup(func() { c.publish(t, "chaos-compose.md") })
	c.rise(t)
	// Redis would write it down when it ends, which a power cut does not let it.
	c.within(t, "store", "redis-cli", "save")

	c.survives(t, c.componentKilled())
	c.survives(t, c.unitKilled("api start", "logsniffer start"))
	c.survives(t, fault{
		name: "a container removed, and made again by Compose",
		strike: func(t *testing.T) time.Time {
			began := e.one(t, "backend").remove(t)
			e.compose(t, "up", "-d", "--no-deps", "--no-recreate", "backend")
			return began
		},
		runs:  each(1, apiUp, snifferUp),
		alone: c.again("backend"),
	})
	c.survives(t, c.disconnected(e))
	c.survives(t, c.silent())
	c.survives(t, c.managerKilled())
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
	for _, name := range []string{"the machine stopped, as by a power cut, and started", "the same again, within a minute of the last starts"} {
		c.survives(t, fault{
			name: name,
			strike: func(t *testing.T) time.Time {
				began := e.on[0].lab(t, "kill")
				e.on[0].lab(t, "boot")
				return began
			},
			runs:  each(1, "api start", "logsniffer start", "gui start"),
			alone: c.again("backend"),
		})
	}
	c.crashes(t)
	c.nothingIsLost(t)
	c.journalsAgree(t, len(recovery), "backend", "frontend")
	t.Run("without a goal, a machine that was stopped and started shows what does not run", func(t *testing.T) {
		c.withoutAGoal(t)
		e.on[0].lab(t, "kill")
		e.on[0].lab(t, "boot")
		standing(t, c.application, http.StatusServiceUnavailable, "configured")
	})
	e.keepLogs(t, "chaos-compose")
}

// onCompose packages an application and deploys it on the first engine.
func onCompose(t *testing.T, folder, source string, ports []string, nodes string, flags ...string) (*chaos, engines) {
	t.Helper()
	on := machines(t)
	if inSwarm(t, on[0].engine) {
		t.Fatal("the engine is in a swarm")
	}
	app := packageAs(t, on[0].engine, source, ports, func(string) string { return nodes }, append(flags, "--allow-host", folder)...)
	app.deploy(t)
	e := engines{application: app, on: on}
	e.scaling = func(t *testing.T, service string, replicas int) {
		e.compose(t, "up", "-d", "--no-deps", "--no-recreate", "--scale", fmt.Sprintf("%s=%d", service, replicas), service)
	}
	return &chaos{application: app, ground: e, folder: folder, where: func(*testing.T) string { return app.manager }}, e
}

// compose runs whichever Compose is installed on the application's files.
func (e engines) compose(t *testing.T, args ...string) {
	t.Helper()
	words := []string{found(t, "docker"), "compose"}
	if exec.CommandContext(t.Context(), "docker", "compose", "version").Run() != nil {
		words = []string{found(t, "docker-compose")}
	}
	words = append(words, "-p", e.name, "-f", filepath.Join(e.dir, "docker-compose.local.yml"))
	must(t, "", words[0], append(words[1:], args...)...)
}

// missed waits until the manager has noticed that something is wrong.
func (c *chaos) missed(t *testing.T) {
	t.Helper()
	eventually(t, "the manager misses what is cut off", func() bool {
		g, answers := c.now(t)
		return answers && !g.Done
	})
}

// disconnected takes a container off its network: no name leads to it any more. What
// runs in it goes on.
func (c *chaos) disconnected(e engines) fault {
	return fault{
		name: "a container disconnected from its network, from its connecting on",
		strike: func(t *testing.T) time.Time {
			p := e.one(t, "backend")
			now, err := p.engine.ContainerInspect(t.Context(), p.ID)
			if err != nil {
				t.Fatal(err)
			}
			for name, at := range now.NetworkSettings.Networks {
				if err := p.engine.NetworkDisconnect(t.Context(), name, p.ID, false); err != nil {
					t.Fatal(err)
				}
				defer func() {
					if err := p.engine.NetworkConnect(t.Context(), name, p.ID, &network.EndpointSettings{Aliases: at.Aliases}); err != nil {
						t.Error(err)
					}
				}()
			}
			c.missed(t)
			return time.Now()
		},
	}
}

var devices = regexp.MustCompile(`(?m)^(\d+): ([^@:]+)`)

// silent takes the link of a container down: names lead to it, and nothing arrives.
func (c *chaos) silent() fault {
	link := func(t *testing.T, name, state string) {
		must(t, "", found(t, "ip"), "link", "set", name, state)
	}
	return fault{
		name: "a container's link cut until the manager notices, from its mending on",
		strike: func(t *testing.T) time.Time {
			peer := strings.TrimSpace(c.within(t, "backend", "sh", "-c", "cat /sys/class/net/eth*/iflink"))
			for _, of := range devices.FindAllStringSubmatch(must(t, "", found(t, "ip"), "-o", "link").stdout, -1) {
				if of[1] == peer {
					link(t, of[2], "down")
					defer link(t, of[2], "up")
					c.missed(t)
					return time.Now()
				}
			}
			t.Fatalf("no device has the number %q", peer)
			return time.Time{}
		},
	}
}

// troubledNodes configures the containers with components; more is what each has
// beside, in the place of a mapping's lines.
func troubledNodes(backend, frontend string) string {
	return "  backend:\n" + backend + "    components: {logsniffer: {}, api: {liveness: {http: \"http://127.0.0.1:8081/\", status: \"404\", interval: 1s, timeout: 1s}}}\n" +
		"  frontend:\n" + frontend + "    components: {gui: {operations: {Standard.configure: {timeout: 5s}}}}\n"
}
