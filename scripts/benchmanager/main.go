// Command benchmanager measures the manager beside many real units: how soon it
// knows them all, what that takes in memory and processor time, how fast it shows
// states and events, how soon it reaches a goal, how soon what dies is started
// again, by it and by others on the same machine, how soon a printed line is at
// who follows it, and at many who do, what it adds to a request of a unit, and how
// many requests it answers. Each row has its goal; it exits with 1 where one is
// missed.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/access"
	"github.com/toskose/toskose/manager/api"
	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/tosca"
	"github.com/toskose/toskose/tosca/protocol"
)

func main() {
	binary := flag.String("unit", "bin/toskose-unit", "the unit")
	count := flag.Int("units", 1000, "how many units")
	idle := flag.Duration("idle", time.Minute, "how long to do nothing, and how long to crash again and again")
	each := flag.Duration("operation", time.Second, "how long each operation to a goal takes")
	log := flag.Int("log", 100, "how many megabytes each of many followers reads")
	only := flag.String("only", "", "only `WHAT`: many, goal, restarts, crashes, logs or requests")
	flag.Parse()
	missed, err := run(*binary, *only, *count, *log, *idle, *each)
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchmanager:", err)
	}
	if err != nil || missed {
		os.Exit(1)
	}
}

func run(binary, only string, count, log int, idle, each time.Duration) (missed bool, err error) {
	binary, err = filepath.Abs(binary)
	if err != nil {
		return false, err
	}
	dir, err := os.MkdirTemp("", "benchmanager")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	b := &bench{dir: dir}
	for _, measure := range []struct {
		name string
		do   func() error
	}{
		{"many", func() error { return b.many(binary, count, idle) }},
		{"goal", func() error { return b.reachGoal(binary, each) }},
		{"restarts", func() error { return b.restarts(binary) }},
		{"crashes", func() error { return b.crashLoop(binary, idle) }},
		{"logs", func() error { return b.readLogs(binary, log) }},
		{"requests", func() error { return b.requests(binary, count) }},
	} {
		if only != "" && only != measure.name {
			continue
		}
		if err := measure.do(); err != nil {
			return false, err
		}
	}
	return b.missed, nil
}

// many measures a manager beside many units.
func (b *bench) many(binary string, count int, idle time.Duration) error {
	b.units = &fleet{dir: b.dir, perNode: perNode, configuration: configuration}
	defer b.units.stop()
	if err := b.units.start(binary, count); err != nil {
		return err
	}
	fmt.Printf("%d units with %d components each\n", count, components)
	for _, measure := range []func() error{b.begin, b.memory, b.states, b.answer, b.events, func() error { return b.idle(idle) }} {
		if err := measure(); err != nil {
			return err
		}
	}
	b.app.Close()
	return nil
}

type bench struct {
	dir    string
	units  *fleet
	app    *manager.App
	missed bool
}

// row prints a measurement beside its goal; a goal of 0 is none.
func (b *bench) row(what string, got, goal float64, unit string) {
	if goal == 0 {
		fmt.Printf("%-52s %10.2f %s\n", what, got, unit)
		return
	}
	verdict := "ok"
	if got > goal {
		verdict, b.missed = "MISSED", true
	}
	fmt.Printf("%-52s %10.2f %-4s (goal %g) %s\n", what, got, unit, goal, verdict)
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// begin starts a manager and waits until it knows all.
func (b *bench) begin() error {
	app, conf := model(len(b.units.addrs))
	begun := time.Now()
	var err error
	b.app, err = manager.New(app, conf, manager.Options{Containers: b.units, Passwords: passwordOf, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	view := b.app.App(context.Background(), manager.StatesOnly)
	took := time.Since(begun)
	for _, c := range view.Components {
		if c.State != "deleted" {
			return fmt.Errorf("component %s is %q", c.Name, c.State)
		}
	}
	b.row("from the manager's start until all is known", milliseconds(took), 1000, "ms")
	return nil
}

// memory is that of this process, which is the manager's and a little more.
func (b *bench) memory() error {
	debug.FreeOSMemory()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	_, after, _ := strings.Cut(string(status), "VmRSS:")
	var kilobytes float64
	if _, err := fmt.Sscan(after, &kilobytes); err != nil {
		return err
	}
	b.row("resident memory", kilobytes/1024, 150, "MB")
	return nil
}

// states is all of them, unchanged and right after one has changed.
func (b *bench) states() error {
	show := func() time.Duration {
		begun := time.Now()
		b.app.App(context.Background(), manager.StatesOnly)
		return time.Since(begun)
	}
	var quiet, changed []time.Duration
	for range 51 {
		quiet = append(quiet, show())
	}
	for i := range 20 {
		if err := b.operate(0, i%2); err != nil {
			return err
		}
		changed = append(changed, show())
	}
	b.row("all states, median", milliseconds(median(quiet)), 5, "ms")
	b.row("all states after one has changed, median", milliseconds(median(changed)), 5, "ms")
	return nil
}

// operate runs an operation that moves the first component of a unit.
func (b *bench) operate(unit, turn int) error {
	ctx := context.Background()
	x, err := b.app.Start(ctx, manager.RunRequest{
		Node: fmt.Sprintf("n%d", unit/perNode), Component: name(unit/perNode, 0), Operation: []string{"create", "delete"}[turn],
		Replica: b.units.addrs[unit].String(), By: "bench",
	})
	if err != nil {
		return err
	}
	if x, err = b.app.Wait(ctx, x.ID); err != nil {
		return err
	}
	return x.Err()
}

// answer is GET /app as a client gets it.
func (b *bench) answer() error {
	gate, err := access.New(access.Options{First: user, Password: access.Always(password)})
	if err != nil {
		return err
	}
	handler, err := api.New(b.app, api.Options{Access: gate, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	var took []time.Duration
	var size int
	for range 11 {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/api/v1/app", http.NoBody)
		r.SetBasicAuth(user, password)
		begun := time.Now()
		handler.ServeHTTP(w, r)
		took = append(took, time.Since(begun))
		if size = w.Body.Len(); w.Code != http.StatusOK || !json.Valid(w.Body.Bytes()) {
			return fmt.Errorf("GET /app: status %d", w.Code)
		}
	}
	b.row(fmt.Sprintf("GET /app as JSON (%.1f MB), median", float64(size)/(1<<20)), milliseconds(median(took)), 0, "ms")
	return nil
}

// events is from an entry's time in the unit's journal to who follows the events.
func (b *bench) events() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	next := b.app.Events("")
	for drained := false; !drained; { // the states
		brief, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		_, err := next(brief)
		cancel()
		drained = err != nil
	}
	delays := make(chan []time.Duration)
	const wanted = 400
	go func() {
		var all []time.Duration
		for len(all) < wanted {
			events, err := next(ctx)
			if err != nil {
				break
			}
			for _, e := range events {
				all = append(all, time.Since(e.Time))
			}
		}
		delays <- all
	}()
	var operations []time.Duration
	for i := range wanted / 2 {
		begun := time.Now()
		if err := b.operate(i/2%len(b.units.addrs), i%2); err != nil {
			return err
		}
		operations = append(operations, time.Since(begun))
	}
	all := <-delays
	if len(all) < wanted {
		return fmt.Errorf("%d events arrived of %d", len(all), wanted)
	}
	b.row("an event from the unit to a subscriber, median", milliseconds(median(all)), 10, "ms")
	b.row("an event from the unit to a subscriber, 99 %", milliseconds(all[len(all)*99/100]), 0, "ms")
	b.row("an operation that does nothing, median", milliseconds(median(operations)), 0, "ms")
	return nil
}

// idle is the processor time of this process while nothing happens.
func (b *bench) idle(d time.Duration) error {
	before, err := used()
	if err != nil {
		return err
	}
	time.Sleep(d)
	after, err := used()
	if err != nil {
		return err
	}
	b.row(fmt.Sprintf("processor time of %v without any change", d), 100*float64(after-before)/float64(d), 1, "%")
	return nil
}

func used() (time.Duration, error) {
	var r syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano()), err
}

// median sorts what it is given.
func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// passwordOf is that of each unit.
func passwordOf(string) string { return password }

// model is an application of so many units, a hundred to a node.
func model(units int) (*tosca.Application, *config.Config) {
	app := &tosca.Application{Name: "bench"}
	conf := &config.Config{Nodes: map[string]config.Node{}}
	for node := range (units + perNode - 1) / perNode {
		n := fmt.Sprintf("n%d", node)
		app.Nodes = append(app.Nodes, tosca.Node{Name: n, Type: "tosker.nodes.Container", Protocol: protocol.Container()})
		conf.Nodes[n] = config.Node{Alias: n, Port: port, User: user}
		for c := range components {
			app.Components = append(app.Components, tosca.Component{
				Name: name(node, c), Type: "tosker.nodes.Software", Host: n, Node: n, Protocol: quick,
				Interfaces: []tosca.Interface{{Name: "Standard", Operations: []tosca.Operation{{Name: "create"}, {Name: "delete"}}}},
			})
		}
	}
	return app, conf
}
