//go:build chaos

package e2e

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/manager/client"
	"github.com/toskose/toskose/unit/wire"
)

// These tests take from a running application what it stands on, while a goal
// keeps it up. They want engines of their own: `make chaos` and `make
// chaos-swarm` have more.

// chaos is Thinking with a goal, to which faults happen one after the other.
// What is here knows no orchestrator.
type chaos struct {
	*application
	ground
	folder string                  // is /chaos in every container with components
	where  func(*testing.T) string // the manager's address, which may be another by now
	table  []string
}

// ground is what an application stands on: engines, or a cluster.
type ground interface {
	// within runs a command in the one container of a service.
	within(t *testing.T, service string, command ...string) string
	// kill kills its first process, which nothing in it can, and returns when.
	kill(t *testing.T, service string) time.Time
	// newest returns when the newest container of a service was started.
	newest(t *testing.T, service string) time.Time
	// used returns the processor time that the one container of a service has used.
	used(t *testing.T, service string) time.Duration
	// journals returns the journals of services that can still be read.
	journals(t *testing.T, services ...string) []journal
	// scale has a service have so many replicas.
	scale(t *testing.T, service string, replicas int)
}

// journal is what the unit of a container has written down.
type journal struct {
	host    string // the container's name for itself
	entries []wire.Entry
}

// decoded reads the entries of a journal.
func decoded(t *testing.T, lines io.Reader) (all []wire.Entry) {
	t.Helper()
	for decoder := json.NewDecoder(lines); decoder.More(); {
		var e wire.Entry
		if err := decoder.Decode(&e); err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// chaoticThinking copies Thinking's CSAR. Each script writes down that it runs, in
// a folder that all containers share, and then does what the folder has for it to
// do first. backend publishes no port, so that it can have replicas.
func chaoticThinking(t *testing.T) (source, folder string) {
	t.Helper()
	source, folder = filepath.Join(t.TempDir(), "thinking"), t.TempDir()
	if err := os.CopyFS(source, os.DirFS("../examples/thinking")); err != nil {
		t.Fatal(err)
	}
	const first = `echo "$(cat /etc/hostname) $TOSKOSE_COMPONENT ${TOSKOSE_OPERATION#Standard.}" >>/chaos/ran
[ ! -e "/chaos/$TOSKOSE_COMPONENT.${TOSKOSE_OPERATION#Standard.}" ] || . "/chaos/$TOSKOSE_COMPONENT.${TOSKOSE_OPERATION#Standard.}"
`
	scripts, err := filepath.Glob(filepath.Join(source, "scripts", "*", "*.sh"))
	if err != nil || len(scripts) < 12 {
		t.Fatalf("Thinking has the scripts %q: %v", scripts, err)
	}
	for _, path := range scripts {
		interpreter, rest := "#!/bin/sh\n", read(t, path)
		if line, after, _ := strings.Cut(rest, "\n"); strings.HasPrefix(line, "#!") {
			interpreter, rest = line+"\n", after
		}
		write(t, path, interpreter+first+rest)
	}
	entry := filepath.Join(source, "thinking.yaml")
	text := read(t, entry)
	shared := "        share_data: {/chaos: " + folder + "}\n"
	for _, change := range [][2]string{
		{"        ports:\n          8081: { get_input: api_port }\n          8082: { get_input: log_port }\n", shared},
		{"          8080: { get_input: gui_port }\n", "          8080: { get_input: gui_port }\n" + shared},
	} {
		if !strings.Contains(text, change[0]) {
			t.Fatalf("Thinking has no\n%s", change[0])
		}
		text = strings.Replace(text, change[0], change[1], 1)
	}
	write(t, entry, text)
	write(t, filepath.Join(folder, "ran"), "")
	const route = "            route = routes.get(url.path)\n"
	edit(t, source, "scripts/api/app/server.py", route, "            if __import__('os').path.exists('/chaos/broken'):\n                raise Refused(500, 'broken')\n"+route)
	return source, folder
}

// troubled has an operation do something else first, until the test says that it
// is over. It can leave files in /chaos, and source, exit or sleep.
func (c *chaos) troubled(t *testing.T, operation, script string) (over func()) {
	t.Helper()
	path := filepath.Join(c.folder, operation)
	write(t, path, script+"\n")
	return func() {
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
}

// runs is how often each operation ran, as COMPONENT.OPERATION.
type runs map[string]int

// each returns what it is when these run n times each: "api create start".
func each(n int, components ...string) runs {
	all := runs{}
	if n == 0 {
		return all
	}
	for _, words := range components {
		names := strings.Fields(words)
		for _, operation := range names[1:] {
			all[names[0]+"."+operation] += n
		}
	}
	return all
}

func (r runs) sum() (n int) {
	for _, times := range r {
		n += times
	}
	return n
}

func (r runs) minus(before runs) runs {
	all := maps.Clone(r)
	for name, n := range before {
		if all[name] -= n; all[name] == 0 {
			delete(all, name)
		}
	}
	return all
}

// String sorts, for messages.
func (r runs) String() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(r)) {
		all = append(all, fmt.Sprintf("%d %s", r[name], name))
	}
	return cmp.Or(strings.Join(all, ", "), "nothing")
}

// ran counts what scripts have written down, and in which containers.
func (c *chaos) ran(t *testing.T) (total runs, byHost map[string]runs) {
	t.Helper()
	total, byHost = runs{}, map[string]runs{}
	for line := range strings.Lines(read(t, filepath.Join(c.folder, "ran"))) {
		words := strings.Fields(line)
		if len(words) != 3 {
			t.Fatalf("a script wrote down %q", line)
		}
		name := words[1] + "." + words[2]
		total[name]++
		if byHost[words[0]] == nil {
			byHost[words[0]] = runs{}
		}
		byHost[words[0]][name]++
	}
	return total, byHost
}

func (c *chaos) client(t *testing.T) *client.Client {
	t.Helper()
	return client.New(c.where(t), "admin", c.password)
}

// ask sets the goal of all components, or adds to it, as often as the manager
// does not answer.
func (c *chaos) goal(t *testing.T, state string, states map[string]string) {
	t.Helper()
	eventually(t, "the manager takes the goal", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		var err error
		if state != "" {
			_, _, err = c.client(t).SetGoal(ctx, state, states)
		} else {
			_, _, err = c.client(t).AddToGoal(ctx, states)
		}
		return err == nil
	})
}

// now returns the goal as the manager shows it; false where it does not answer.
func (c *chaos) now(t *testing.T) (client.Goal, bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	g, err := c.client(t).Goal(ctx)
	return g, err == nil
}

// reached waits until the goal is reached.
func (c *chaos) reached(t *testing.T) client.Goal {
	t.Helper()
	var g client.Goal
	done := false
	defer func() {
		if !done {
			t.Logf("the goal: %+v", g)
		}
	}()
	eventually(t, "the goal is reached", func() bool {
		now, answers := c.now(t)
		if answers {
			g = now
		}
		done = answers && g.Done && g.Acting
		return done
	})
	return g
}

// fault is what happens to the application, and what has to come of it.
type fault struct {
	name string
	// strike does it, and returns when.
	strike func(*testing.T) time.Time
	// runs is all that has to run until the goal is reached again.
	runs runs
	// alone returns when the orchestrator had done its part, zero where it has none;
	// nil: it notices nothing.
	alone func(*testing.T) time.Time
	// until reports whether the goal is as it has to become; nil: it is reached.
	until func(*testing.T, client.Goal) bool
	// waiting is whether the goal waits for something before.
	waiting bool
}

// steady is how long nothing more may happen after the goal was reached.
const steady = 3 * time.Second

// survives has a fault happen, waits until the goal is reached again, and compares
// what ran for it with what had to.
func (c *chaos) survives(t *testing.T, f fault) {
	t.Helper()
	t.Run(f.name, func(t *testing.T) {
		if !f.waiting {
			c.reached(t)
		}
		if f.until == nil {
			f.until = func(_ *testing.T, g client.Goal) bool { return g.Done }
		}
		before, _ := c.ran(t)
		began := f.strike(t)
		var now runs
		var last client.Goal
		defer func() {
			if t.Failed() {
				t.Logf("ran: %v\nthe goal: %+v", now, last)
			}
		}()
		eventually(t, "the goal is reached again", func() bool {
			all, _ := c.ran(t)
			now = all.minus(before)
			g, answers := c.now(t)
			if answers {
				last = g
			}
			return answers && g.Acting && now.sum() >= f.runs.sum() && f.until(t, g)
		})
		took := time.Since(began)
		for until := time.Now().Add(steady); time.Now().Before(until); time.Sleep(100 * time.Millisecond) {
			if g, answers := c.now(t); answers && !f.until(t, g) {
				last = g
				t.Fatalf("the goal was reached, and no longer is")
			}
		}
		all, _ := c.ran(t)
		if now = all.minus(before); !maps.Equal(now, f.runs) {
			t.Errorf("%v ran, want %v", now, f.runs)
		}
		alone := "does not notice"
		if f.alone != nil {
			alone = "–"
			if done := f.alone(t); !done.IsZero() {
				alone = seconds(done.Sub(began))
			}
		}
		c.row(f.name, fmt.Sprintf("%d of %d", now.sum(), f.runs.sum()), alone, seconds(took))
	})
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

func (c *chaos) row(cells ...string) {
	c.table = append(c.table, "| "+strings.Join(cells, " | ")+" |")
}

// recovery heads a table of faults.
var recovery = []string{"what happens", "operations run, of those needed", "container", "goal"}

// publish writes the table to build/, for the documentation: one of faults, unless it
// has other heads.
func (c *chaos) publish(t *testing.T, name string, heads ...string) {
	t.Helper()
	if heads == nil {
		heads = recovery
	}
	head := []string{"| " + strings.Join(heads, " | ") + " |", strings.Repeat("|---", len(heads)) + "|"}
	text := strings.Join(append(head, c.table...), "\n") + "\n"
	path := filepath.Join("..", "build", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, path, text)
	t.Log("\n" + text)
}
