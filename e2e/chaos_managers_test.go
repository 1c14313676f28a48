//go:build chaos

package e2e

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/manager/client"
)

// goals are what is asked for while two managers keep one application.
var goals = [][]string{
	{"up"},
	{"up"},
	{"down"},
	{"goal", "gui=configured"},
	{"goal", "api=configured", "gui=running"},
	{"goal", "backend=down"},
	{"goal", "gui=down"},
	{"goal", "logsniffer=created"},
	{"goal", "backend=up", "gui=up"},
}

// duel is two managers, whose links are cut and who are given goals, by dice.
type duel struct {
	*chaos
	e      engines
	dice   *rand.Rand
	mended map[int]time.Time // when links that are cut are to be mended, by machine

	asked, apart, refused, cuts int
}

// TestTwoManagersOfOneApplication lasts TOSKOSE_CHAOS_TIME; TOSKOSE_CHAOS_SEED
// repeats what another run has done.
func TestTwoManagersOfOneApplication(t *testing.T) {
	long, err := time.ParseDuration(cmp.Or(os.Getenv("TOSKOSE_CHAOS_TIME"), "10m"))
	if err != nil {
		t.Fatal(err)
	}
	seed, err := strconv.ParseUint(cmp.Or(os.Getenv("TOSKOSE_CHAOS_SEED"), strconv.FormatInt(time.Now().UnixNano(), 10)), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(os.Stderr, "TOSKOSE_CHAOS_SEED=%d\n", seed)
	c, e, nodes := onASwarm(t)
	c.rise(t)
	must(t, "", found(t, "docker"), "service", "scale", c.name+"_toskose-manager=2") // each port once on each worker
	managers := map[int]*client.Client{}
	port := c.manager[strings.LastIndex(c.manager, ":"):]
	for _, m := range e.on[1:] {
		address := strings.TrimSuffix(c.where(t), port)
		address = address[:strings.LastIndex(address, ".")] + fmt.Sprintf(".%d", m.number)
		managers[m.number] = client.New(address+port, "admin", c.password)
	}
	d := &duel{chaos: c, e: e, dice: rand.New(rand.NewPCG(seed, 0)), mended: map[int]time.Time{}}
	for until := time.Now().Add(long); time.Now().Before(until); {
		d.act(t, port)
	}
	for k := range d.mended {
		e.on[k-1].lab(t, "mend")
	}
	ready(t, e.on, nodes)

	g := agree(t, managers)
	if _, _, err := managers[2].SetGoal(t.Context(), "up", nil); err != nil {
		t.Fatal(err)
	}
	eventually(t, "both managers have reached the last goal", func() bool {
		last := agree(t, managers)
		return last.Revision != g.Revision && last.State == "up" && last.Done
	})
	last := agree(t, managers)
	for _, service := range []string{"backend", "frontend"} {
		for _, p := range e.containers(t, service, false) {
			if kept := inContainer(t, p.engine, p.ID, "head", "-1", "/toskose/documents/goal"); !strings.HasPrefix(kept, strings.Replace(last.Revision, "-", ":", 1)+" ") {
				t.Errorf("%s on machine %d keeps %q, and the goal is %s", service, p.number, kept, last.Revision)
			}
		}
	}
	c.journalsAgree(t, 2, "backend", "frontend")
	c.nothingIsLost(t)
	e.keepLogs(t, "chaos-two-managers")
	total, _ := c.ran(t)
	c.row("goals set", fmt.Sprintf("%d, %d of them behind a cut; %d had no manager to take them", d.asked, d.apart, d.refused))
	c.row("links cut", strconv.Itoa(d.cuts))
	c.row("the goal that remained", last.Revision)
	c.row("asked of units by the managers that are left", d.requests(t))
	c.row("scripts that ran", strconv.Itoa(total.sum()))
	c.publish(t, "chaos-two-managers.md", fmt.Sprintf("%v, seed %d", long, seed), "number")
}

// act does the next thing.
func (d *duel) act(t *testing.T, port string) {
	t.Helper()
	k := 2 + d.dice.IntN(2)
	switch _, cut := d.mended[k]; {
	case d.dice.IntN(4) == 0 && !cut:
		d.e.on[k-1].lab(t, "cut")
		long := time.Second + time.Duration(d.dice.Int64N(int64(7*time.Second)))
		if d.dice.IntN(8) == 0 {
			long += 15 * time.Second // the swarm gives it up, and moves what ran there
		}
		d.mended[k] = time.Now().Add(long)
		d.cuts++
	default:
		goal := goals[d.dice.IntN(len(goals))]
		d.asked++
		if cut {
			d.apart++
		}
		words := slices.Concat([]string{"on", strconv.Itoa(k), filepath.Join(bin, "toskose")}, goal, []string{"--no-wait", "-C", d.dir, "--manager", "http://127.0.0.1" + port})
		if r := command(t, "", os.Getenv("TOSKOSE_LAB"), words...); r.code != 0 {
			d.refused++
			t.Logf("%q at machine %d: %v", goal, k, r)
		}
	}
	time.Sleep(time.Duration(d.dice.Int64N(int64(2500 * time.Millisecond))))
	for k, when := range d.mended {
		if time.Now().After(when) {
			d.e.on[k-1].lab(t, "mend")
			delete(d.mended, k)
		}
	}
}

// agree waits until both managers have the same goal, which all replicas keep.
func agree(t *testing.T, managers map[int]*client.Client) (g client.Goal) {
	t.Helper()
	views := map[int]client.Goal{}
	defer func() {
		if t.Failed() {
			t.Logf("the managers say %+v", views)
		}
	}()
	eventually(t, "one goal remains", func() bool {
		for k, c := range managers {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			now, err := c.Goal(ctx)
			cancel()
			if err != nil {
				return false
			}
			views[k] = now
		}
		g = views[2]
		return g.Revision == views[3].Revision && len(g.Lacking)+len(views[3].Lacking) == 0 && g.Acting && views[3].Acting
	})
	return g
}

var asks = regexp.MustCompile(`msg="the goal starts an operation".* execution=(\S+)`)

// requests says what the managers that are left have asked of units.
func (d *duel) requests(t *testing.T) string {
	t.Helper()
	by, all := map[string]int{}, 0
	for _, p := range d.e.containers(t, "toskose-manager", true) {
		own := map[string]bool{}
		for _, line := range output(t, &application{engine: p.engine}, p.ID) {
			if of := asks.FindStringSubmatch(line); of != nil {
				own[of[1]] = true
				all++
			}
		}
		for id := range own {
			by[id]++
		}
	}
	both := 0
	for _, n := range by {
		if n > 1 {
			both++
		}
	}
	return fmt.Sprintf("%d requests of %d executions, %d by more than one manager", all, len(by), both)
}
