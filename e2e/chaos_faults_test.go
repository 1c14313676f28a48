//go:build chaos

package e2e

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toskose/toskose/manager/client"
	"github.com/toskose/toskose/unit/wire"
)

// all of backend's and gui's, from nothing.
const (
	apiUp     = "api create configure start"
	snifferUp = "logsniffer create configure start"
	guiUp     = "gui create configure start"
)

// rise brings Thinking up with what its goal does not have: the thoughts that are
// pushed once, and one that is shared.
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

// killWithin kills the processes of a container whose command line has a word,
// which nobody has asked the unit for.
func (c *chaos) killWithin(t *testing.T, service, word string) time.Time {
	t.Helper()
	return c.signalWithin(t, service, word, syscall.SIGKILL)
}

func (c *chaos) signalWithin(t *testing.T, service, word string, sig syscall.Signal) time.Time {
	t.Helper()
	said := c.within(t, service, "python3", "-c", `
import os, sys, time
for pid in filter(str.isdigit, os.listdir("/proc")):
    command = open(f"/proc/{pid}/cmdline").read()
    if int(pid) != os.getpid() and sys.argv[1] in command:
        print(time.time())
        os.kill(int(pid), int(sys.argv[2]))
`, word, strconv.Itoa(int(sig)))
	since, err := strconv.ParseFloat(strings.TrimSpace(strings.SplitN(said, "\n", 2)[0]), 64)
	if err != nil {
		t.Fatalf("no process has %q in its command line: %q", word, said)
	}
	return time.Unix(0, int64(since*1e9))
}

// again returns when the orchestrator had a service's newest container running.
func (c *chaos) again(service string) func(*testing.T) time.Time {
	return func(t *testing.T) time.Time { return c.newest(t, service) }
}

func (c *chaos) componentKilled() fault {
	return fault{
		name:   "a component killed inside its container",
		strike: func(t *testing.T) time.Time { return c.killWithin(t, "backend", "server.py") },
		runs:   each(1, "api start"),
	}
}

// unitKilled has a container end. What has to run then depends on whether the
// orchestrator starts it again, or another from nothing.
func (c *chaos) unitKilled(runs ...string) fault {
	return fault{
		name:   "a container's first process killed",
		strike: func(t *testing.T) time.Time { return c.kill(t, "backend") },
		runs:   each(1, runs...),
		alone:  c.again("backend"),
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

func (c *chaos) managerKilled() fault {
	return fault{
		name: "the manager killed in the middle of a plan",
		strike: func(t *testing.T) time.Time {
			return c.midway(t, func(t *testing.T) time.Time { return c.kill(t, "toskose-manager") })
		},
		runs:  downAndUp(),
		alone: c.again("toskose-manager"),
	}
}

func downAndUp() runs {
	return each(1, apiUp+" stop delete", snifferUp+" stop delete", guiUp+" stop delete")
}

// scaled are the faults that somebody wants: other numbers of replicas.
func (c *chaos) scaled() []fault {
	change := func(from, to, made int) fault {
		return fault{
			name: fmt.Sprintf("replicas from %d to %d", from, to),
			strike: func(t *testing.T) time.Time {
				began := time.Now()
				c.scale(t, "backend", to)
				return began
			},
			runs: each(made, apiUp, snifferUp),
			// Without a container, nothing shows that its two components have reached the goal, which waits for the orchestrator.
			until: func(_ *testing.T, g client.Goal) bool {
				waits := slices.ContainsFunc(g.Obstacles, func(o client.Obstacle) bool { return strings.Contains(o.Reason, "no running container is found") })
				return g.Wanted == 1+2*max(to, 1) && g.Reached == 1+2*to && g.Done == (to > 0) && waits == (to == 0)
			},
			waiting: from == 0,
			alone: func(t *testing.T) time.Time {
				if to < from {
					return time.Time{}
				}
				return c.newest(t, "backend")
			},
		}
	}
	return []fault{change(1, 5, 4), change(5, 0, 0), change(0, 1, 1)}
}

func (c *chaos) failsTwice() fault {
	return fault{
		name: "a component killed, whose start then fails twice",
		strike: func(t *testing.T) time.Time {
			over := c.troubled(t, "logsniffer.start", `[ -e /chaos/second ] || { [ ! -e /chaos/first ] || : >/chaos/second; : >/chaos/first; exit 3; }`)
			t.Cleanup(over)
			return c.killWithin(t, "backend", "logsniffer.py")
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

// answersNothing stops the processes of api, whose port still accepts: its liveness checks fail.
func (c *chaos) answersNothing() fault {
	return fault{
		name: "a component hangs, its port open, checked each second",
		strike: func(t *testing.T) time.Time {
			return c.signalWithin(t, "backend", "server.py", syscall.SIGSTOP)
		},
		runs: each(1, "api start"),
	}
}

// answersErrors makes api respond with 500 until it is started again: its liveness checks fail.
func (c *chaos) answersErrors() fault {
	return fault{
		name: "a component answers 500, checked each second",
		strike: func(t *testing.T) time.Time {
			t.Cleanup(c.troubled(t, "api.start", "rm -f /chaos/broken"))
			began := time.Now()
			write(t, filepath.Join(c.folder, "broken"), "")
			return began
		},
		runs: each(1, "api start"),
	}
}

// crashes has gui end again and again soon after its start, and measures what that costs.
func (c *chaos) crashes(t *testing.T) {
	t.Helper()
	const long = 40 * time.Second
	t.Run("a crash loop costs no core", func(t *testing.T) {
		c.reached(t)
		over := c.troubled(t, "gui.start", "sleep 1.5; exit 1")
		before, _ := c.ran(t)
		both := func() time.Duration { return c.used(t, "frontend") + c.used(t, "toskose-manager") }
		used := both()
		c.killWithin(t, "frontend", "gui.py")
		began := time.Now()
		time.Sleep(long)
		took := time.Since(began)
		used = both() - used
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
	eventually(t, "the page answers", func() bool { // Kubernetes leads to it when it has asked the unit
		status, body := c.fetch(t, http.MethodGet, "gui_port", "/", "")
		return status == http.StatusOK && strings.Contains(body, "Thinking")
	})
}

// foundSoon measures how long the replicas that were made since waited for their
// first operation, from the start of their unit on.
func (c *chaos) foundSoon(t *testing.T, since time.Time) {
	t.Helper()
	found, longest := 0, time.Duration(0)
	for _, j := range c.journals(t, "backend") {
		var booted, begun time.Time
		for _, e := range j.entries {
			switch {
			case e.Kind == wire.EntryBoot && booted.IsZero():
				booted = e.Time
			case e.Kind == wire.EntryStart && begun.IsZero():
				begun = e.Time
			}
		}
		if booted.Before(since) {
			continue
		}
		if begun.IsZero() {
			t.Errorf("the journal of %s has no operation", j.host)
		}
		found++
		longest = max(longest, begun.Sub(booted))
	}
	if found == 0 {
		t.Error("no unit has begun")
	}
	c.row(fmt.Sprintf("from the start of a new unit to its first operation, of %d the longest", found), "", "", seconds(longest))
}

// journalsAgree compares what scripts wrote down with the journals that there are:
// nothing ran that no journal has, nothing twice that it has once.
func (c *chaos) journalsAgree(t *testing.T, columns int, services ...string) {
	t.Helper()
	t.Run("the journals say the same", func(t *testing.T) {
		_, byHost := c.ran(t)
		all, executions := c.journals(t, services...), 0
		for _, j := range all {
			executions += agrees(t, j.host, j.entries, byHost[j.host])
		}
		cells := []string{fmt.Sprintf("journals of the %d containers that are left, compared", len(all)), fmt.Sprintf("%d executions", executions)}
		c.row(append(cells, make([]string, columns-len(cells))...)...)
	})
}

// agrees returns how many executions a journal has.
func agrees(t *testing.T, name string, journal []wire.Entry, written runs) (executions int) {
	t.Helper()
	begun, succeeded, ids := runs{}, runs{}, map[string]int{}
	last := map[string]string{} // operation by component, unless what it left has ended
	for _, e := range journal {
		switch x := e.Execution; {
		case e.Kind == wire.EntryBoot:
			clear(last)
		case e.Kind == wire.EntryGone:
			delete(last, e.Component)
		case e.Kind == wire.EntryExit && x != nil && x.Outcome == wire.OutcomeSucceeded:
			if last[e.Component] == x.Operation {
				t.Errorf("%s: %s.%s succeeded twice in a row: %s", name, e.Component, x.Operation, x.ID)
			}
			last[e.Component] = x.Operation
		}
		x := e.Execution
		if x == nil {
			continue
		}
		operation := e.Component + "." + strings.TrimPrefix(x.Interface+"."+x.Operation, "Standard.")
		switch e.Kind { //nolint:exhaustive // the others run nothing
		case wire.EntryStart:
			begun[operation]++
			ids[x.ID]++
		case wire.EntryExit:
			if x.Outcome == wire.OutcomeSucceeded {
				succeeded[operation]++
			}
		}
	}
	for id, n := range ids {
		if n > 1 {
			t.Errorf("%s: execution %s began %d times", name, id, n)
		}
	}
	// One that was begun may have been ended before its script wrote it down.
	for operation, n := range written {
		if n > begun[operation] {
			t.Errorf("%s: %s ran %d times, and its journal has %d", name, operation, n, begun[operation])
		}
	}
	for operation, n := range succeeded {
		if n > written[operation] {
			t.Errorf("%s: %s succeeded %d times, and ran %d times", name, operation, n, written[operation])
		}
	}
	return begun.sum()
}
