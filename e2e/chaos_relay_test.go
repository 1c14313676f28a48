//go:build chaos

package e2e

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/unit/wire"
)

// TestChaosOnComposeOfARelay is what a goal does beside starting again what ended:
// a server has a fault handler, its client must not go on without it, and replicas
// of a worker are led through states in which they serve nobody.
func TestChaosOnComposeOfARelay(t *testing.T) {
	const replicas, away = 5, 2
	folder := t.TempDir()
	write(t, filepath.Join(folder, "ran"), "")
	c, _ := onCompose(t, folder, "testdata/relay", nil, fmt.Sprintf(`nodes:
  front:
    components: {client: {requirements: {connection: {while_away: down}}}}
  pool: {max_unavailable: %d}
`, away), "-i", "chaos="+folder)
	t.Cleanup(func() { c.publish(t, "chaos-relay.md") })
	c.goal(t, "up", nil)
	c.reached(t)

	before := len(c.lines(t))
	c.survives(t, fault{
		name:   "a component with a fault handler killed, without which another must not go on",
		strike: func(t *testing.T) time.Time { return c.killWithin(t, "back", "100000") },
		runs:   each(1, "server configure start", "client stop start"),
	})
	c.inOrder(t, c.lines(t)[before:], "server.configure", "server.start", "client.start")
	c.inOrder(t, c.lines(t)[before:], "client.stop", "client.start")

	c.scale(t, "pool", replicas)
	eventually(t, "the server, the client and all workers are up", func() bool { // the goal is reached until the new workers are found
		g, answers := c.now(t)
		return answers && g.Done && g.Wanted == 2+replicas
	})
	c.survives(t, fault{
		name: fmt.Sprintf("%d replicas led through states in which they serve nobody, %d at a time", replicas, away),
		strike: func(t *testing.T) time.Time {
			began := time.Now()
			c.goal(t, "", map[string]string{"worker": "fast"})
			return began
		},
		runs: each(replicas, "worker stop configure start"),
	})
	if most := mostAway(c.journals(t, "pool")); most != away {
		t.Errorf("%d replicas were away at the same time, want %d", most, away)
	}
	c.journalsAgree(t, len(recovery), "back", "front", "pool")
}

// lines are the operations that scripts have written down, in their order.
func (c *chaos) lines(t *testing.T) (all []string) {
	t.Helper()
	for line := range strings.Lines(read(t, filepath.Join(c.folder, "ran"))) {
		words := strings.Fields(line)
		all = append(all, words[1]+"."+words[2])
	}
	return all
}

// inOrder compares the order in which operations began.
func (c *chaos) inOrder(t *testing.T, lines []string, operations ...string) {
	t.Helper()
	index := func(operation string) int { return slices.Index(lines, operation) }
	if !slices.IsSortedFunc(operations, func(a, b string) int { return cmp.Compare(index(a), index(b)) }) || index(operations[0]) < 0 {
		t.Errorf("%q ran, want %q in this order", lines, operations)
	}
}

// mostAway returns how many workers did not serve at the same time, from the begin of
// a stop on until they served again.
func mostAway(journals []journal) (most int) {
	type change struct {
		at time.Time
		by int
	}
	var changes []change
	for _, j := range journals {
		away := false
		for _, e := range j.entries {
			switch {
			case e.Kind == wire.EntryStart && e.Execution.Operation == "stop":
				changes, away = append(changes, change{e.Time, 1}), true
			case away && e.State == "fast":
				changes, away = append(changes, change{e.Time, -1}), false
			}
		}
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Or(a.at.Compare(b.at), a.by-b.by) })
	now := 0
	for _, c := range changes {
		now += c.by
		most = max(most, now)
	}
	return most
}
