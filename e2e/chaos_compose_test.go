//go:build chaos

package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/manager/client"
)

// all of backend's and gui's, from nothing.
const (
	apiUp     = "api create configure start"
	snifferUp = "logsniffer create configure start"
	guiUp     = "gui create configure start"
)

func TestChaosOnCompose(t *testing.T) {
	on := machines(t)
	engine := on[0].engine
	if inSwarm(t, engine) {
		t.Fatal("the engine is in a swarm")
	}
	source, folder := chaoticThinking(t)
	app := packageAs(t, engine, source, []string{"gui_port"}, func(string) string { return "nodes:\n" + troubledNodes("", "") })
	app.deploy(t)
	c := &chaos{application: app, folder: folder, where: func(*testing.T) string { return app.manager }}
	t.Cleanup(func() { c.publish(t, "chaos-compose.md") })
	c.up(t)

	c.survives(t, c.componentKilled(on))
	c.survives(t, fault{
		name:   "a container's first process killed",
		strike: func(t *testing.T) time.Time { return c.one(t, on, "backend").killFirst(t) },
		runs:   each(1, "api start", "logsniffer start"),
		alone:  func(t *testing.T) time.Time { return c.startedLast(t, on, "backend") },
	})
	c.survives(t, fault{
		name: "a container removed, and made again by Compose",
		strike: func(t *testing.T) time.Time {
			began := c.one(t, on, "backend").remove(t)
			c.compose(t, "up", "-d", "--no-deps", "--no-recreate", "backend")
			return began
		},
		runs:  each(1, apiUp, snifferUp),
		alone: func(t *testing.T) time.Time { return c.startedLast(t, on, "backend") },
	})
	c.survives(t, c.managerKilled(on, func(t *testing.T) time.Time { return c.one(t, on, "toskose-manager").killFirst(t) }))
	for _, f := range c.scaled(on, func(t *testing.T, replicas int) {
		c.compose(t, "up", "-d", "--no-deps", "--no-recreate", "--scale", fmt.Sprintf("backend=%d", replicas), "backend")
	}) {
		c.survives(t, f)
	}
	c.survives(t, c.failsTwice(on))
	c.survives(t, c.hangs())
	c.survives(t, fault{
		name: "the machine stopped, as by a power cut, and started",
		strike: func(t *testing.T) time.Time {
			began := on[0].lab(t, "kill")
			on[0].lab(t, "boot")
			return began
		},
		runs:  each(1, "api start", "logsniffer start", "gui start"),
		alone: func(t *testing.T) time.Time { return c.startedLast(t, on, "backend") },
	})
	c.crashes(t, on)
	c.nothingIsLost(t)
	c.journalsAgree(t, on, len(recovery), "backend", "frontend")
	c.keepLogs(t, on, "chaos-compose")
}

// troubledNodes configures the containers with components; more is what each has
// beside, in the place of a mapping's lines.
func troubledNodes(backend, frontend string) string {
	return "  backend:\n" + backend + "    components: {logsniffer: {}}\n" +
		"  frontend:\n" + frontend + "    components: {gui: {operations: {Standard.configure: {timeout: 5s}}}}\n"
}

// up brings Thinking up with what its goal does not have: the thoughts that are
// pushed once, and one that is shared.
func (c *chaos) up(t *testing.T) {
	t.Helper()
	c.rise(t)
	// Redis would write it down when it ends, which a power cut does not let it.
	store := c.one(t, machines(t), "store")
	inContainer(t, store.engine, store.ID, "redis-cli", "save")
}

func (c *chaos) rise(t *testing.T) {
	t.Helper()
	c.run(t, "backend/api", "create", "configure", "push_default")
	c.goal(t, "up", nil)
	c.reached(t)
	if now, _ := c.ran(t); now.String() != each(1, apiUp+" api_interface.push_default", snifferUp, guiUp).String() {
		t.Fatalf("to come up, there ran %v", now)
	}
	thePageShares(t, c.application)
}

// nothingIsLost looks whether all thoughts are there, pushed once.
func (c *chaos) nothingIsLost(t *testing.T) {
	t.Helper()
	t.Run("nothing is lost", func(t *testing.T) {
		theThoughtsAreThere(t, c.application)
		if now, _ := c.ran(t); now["api.api_interface.push_default"] != 1 {
			t.Errorf("push_default ran %d times", now["api.api_interface.push_default"])
		}
	})
}

func (c *chaos) componentKilled(on []machine) fault {
	return fault{
		name:   "a component killed inside its container",
		strike: func(t *testing.T) time.Time { return c.one(t, on, "backend").killWithin(t, "server.py") },
		runs:   each(1, "api start"),
	}
}

// midway takes the application down, sets the goal that it is up, and has something
// happen in the middle of that: while api's configure runs.
func (c *chaos) midway(t *testing.T, happens func(*testing.T) time.Time) time.Time {
	t.Helper()
	c.goal(t, "down", nil)
	c.reached(t)
	over := c.troubled(t, "api.configure", "sleep 3")
	defer over()
	before, _ := c.ran(t)
	c.goal(t, "up", nil)
	eventually(t, "api is configured", func() bool {
		now, _ := c.ran(t)
		return now["api.configure"] > before["api.configure"]
	})
	return happens(t)
}

// managerKilled has the manager be killed in the middle of a plan.
func (c *chaos) managerKilled(on []machine, kill func(*testing.T) time.Time) fault {
	return fault{
		name:   "the manager killed in the middle of a plan",
		strike: func(t *testing.T) time.Time { return c.midway(t, kill) },
		runs:   downAndUp(),
		alone:  func(t *testing.T) time.Time { return c.startedLast(t, on, "toskose-manager") },
	}
}

func downAndUp() runs {
	return each(1, apiUp+" stop delete", snifferUp+" stop delete", guiUp+" stop delete")
}

// scaled are the faults that somebody wants: other numbers of replicas.
func (c *chaos) scaled(on []machine, scale func(t *testing.T, replicas int)) []fault {
	return scaledBy(scale, func(t *testing.T) time.Time { return c.startedLast(t, on, "backend") })
}

// scaledBy is scaled where last returns when the newest replica was started.
func scaledBy(scale func(t *testing.T, replicas int), last func(*testing.T) time.Time) []fault {
	change := func(from, to, made int) fault {
		return fault{
			name: fmt.Sprintf("replicas from %d to %d", from, to),
			strike: func(t *testing.T) time.Time {
				began := time.Now()
				scale(t, to)
				return began
			},
			runs: each(made, apiUp, snifferUp),
			// Without a container, the goal waits for the orchestrator.
			until: func(_ *testing.T, g client.Goal) bool {
				waits := slices.ContainsFunc(g.Obstacles, func(o client.Obstacle) bool { return strings.Contains(o.Reason, "does not run") })
				return g.Wanted == 1+2*to && g.Reached == g.Wanted && g.Done == (to > 0) && waits == (to == 0)
			},
			waiting: from == 0,
			alone: func(t *testing.T) time.Time {
				if to < from {
					return time.Time{}
				}
				return last(t)
			},
		}
	}
	return []fault{change(1, 5, 4), change(5, 0, 0), change(0, 1, 1)}
}

func (c *chaos) failsTwice(on []machine) fault {
	return fault{
		name: "a component killed, whose start then fails twice",
		strike: func(t *testing.T) time.Time {
			over := c.troubled(t, "logsniffer.start", `[ -e /chaos/second ] || { [ ! -e /chaos/first ] || : >/chaos/second; : >/chaos/first; exit 3; }`)
			t.Cleanup(over)
			return c.one(t, on, "backend").killWithin(t, "logsniffer.py")
		},
		runs: each(3, "logsniffer start"),
	}
}

func (c *chaos) hangs() fault {
	return fault{
		name: "a script that hangs once, until its time limit of 5 s",
		strike: func(t *testing.T) time.Time {
			t.Cleanup(c.troubled(t, "gui.configure", `mkdir /chaos/hung 2>/dev/null && exec sleep 1000`))
			c.goal(t, "", map[string]string{"gui": "down"})
			c.reached(t)
			began := time.Now()
			c.goal(t, "", map[string]string{"gui": "up"})
			return began
		},
		runs: each(1, guiUp+" stop delete configure"),
	}
}

// crashes has gui end again and again soon after its start, and measures what that costs.
func (c *chaos) crashes(t *testing.T, on []machine) {
	t.Helper()
	const long = 40 * time.Second
	t.Run("a crash loop costs no core", func(t *testing.T) {
		c.reached(t)
		over := c.troubled(t, "gui.start", "sleep 1.5; exit 1")
		before, _ := c.ran(t)
		unit, manager := c.one(t, on, "frontend"), c.one(t, on, "toskose-manager")
		used := unit.processorTime(t) + manager.processorTime(t)
		unit.killWithin(t, "gui.py")
		began := time.Now()
		time.Sleep(long)
		took := time.Since(began)
		used = unit.processorTime(t) + manager.processorTime(t) - used
		all, _ := c.ran(t)
		starts := all.minus(before)["gui.start"]
		if starts < 2 || used > took/4 {
			t.Errorf("%d starts, %v of processor time in %v", starts, used, took)
		}
		over()
		g := c.reached(t)
		t.Logf("%d starts, %v of processor time in %v; goal %+v", starts, used, took, g)
		c.row("a component that ends 1.5 s after each start, for "+seconds(took), fmt.Sprintf("%d starts", starts), "does not notice",
			fmt.Sprintf("%.1f %% of a core", 100*used.Seconds()/took.Seconds()))
	})
	if status, body := c.fetch(t, http.MethodGet, "gui_port", "/", ""); status != http.StatusOK || !strings.Contains(body, "Thinking") {
		t.Errorf("the page answers %d %s", status, body)
	}
}
