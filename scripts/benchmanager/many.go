package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
)

// many measures a manager that maintains a goal with many units.
func (b *bench) many(binary string, count int, idle time.Duration) error {
	b.units = &fleet{dir: b.dir, perNode: perNode, configuration: configuration}
	defer b.units.stop()
	if err := b.units.start(binary, count); err != nil {
		return err
	}
	fmt.Printf("%d units with %d components each\n", count, components)
	if err := b.begin(); err != nil {
		return err
	}
	defer func() { b.app.Close() }()
	for _, measure := range []func() error{b.keepGoal, b.beginAgain, b.memory, b.states, b.overHTTP, func() error { return b.idle(idle) }} {
		if err := measure(); err != nil {
			return err
		}
	}
	return nil
}

// begin starts a manager and waits until it knows all units.
func (b *bench) begin() error {
	took, err := b.start()
	if err != nil {
		return err
	}
	b.row("manager start until all units are known", milliseconds(took), 1000, "ms")
	return nil
}

// start starts a manager, and returns how long it took until it knew all units.
func (b *bench) start() (time.Duration, error) {
	app := model(len(b.units.addrs))
	begun := time.Now()
	var err error
	b.app, err = manager.New(app, manager.Options{Containers: b.units, Passwords: passwordOf, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return 0, err
	}
	view := b.app.App(context.Background(), manager.StatesOnly)
	took := time.Since(begun)
	for _, c := range view.Components {
		if c.State != "deleted" {
			return 0, fmt.Errorf("component %s is %q", c.Name, c.State)
		}
	}
	return took, nil
}

// keepGoal sets a goal for all components except the first of each unit, which the
// measurements operate, and waits until all units store it.
func (b *bench) keepGoal() error {
	states := map[string]string{}
	for _, c := range b.app.App(context.Background(), manager.StatesOnly).Components {
		states[c.Name] = c.State
	}
	for node := 0; node*perNode < len(b.units.addrs); node++ {
		delete(states, name(node, 0))
	}
	begun := time.Now()
	if _, _, err := b.app.SetGoal(context.Background(), rest.GoalRequest{States: states, By: "bench"}); err != nil {
		return err
	}
	if err := b.reached(); err != nil {
		return err
	}
	b.row("until all units store a goal", milliseconds(time.Since(begun)), 0, "ms")
	return nil
}

// reached waits until the goal is reached and all units store it.
func (b *bench) reached() error {
	var g rest.Goal
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if g = b.app.Goal(); g.Acting && g.Done && len(g.Lacking) == 0 && g.Wanted == (components-1)*len(b.units.addrs) {
			return nil
		}
	}
	return fmt.Errorf("the goal is not reached: %d of %d, %d units do not store it", g.Reached, g.Wanted, len(g.Lacking))
}

// beginAgain replaces the manager with a new one, which reads the goal from the units.
func (b *bench) beginAgain() error {
	b.app.Close()
	begun := time.Now()
	took, err := b.start()
	if err != nil {
		return err
	}
	b.row("the same, if the units store a goal", milliseconds(took), 1000, "ms")
	if err := b.reached(); err != nil {
		return err
	}
	b.row("until it has read all stored goals and acts on them", milliseconds(time.Since(begun)), 0, "ms")
	return nil
}

// memory measures the memory of this process, most of which the manager uses.
func (b *bench) memory() error {
	debug.FreeOSMemory()
	return b.resident("VmRSS", "resident memory", 150)
}

// states measures the retrieval of all states, unchanged and right after a change.
func (b *bench) states() error {
	return b.shown("all states", func() error {
		b.app.App(context.Background(), manager.StatesOnly)
		return nil
	})
}

// shown measures a request that returns all states, without a change and right after a change.
func (b *bench) shown(what string, show func() error) error {
	var quiet, changed []time.Duration
	look := func(into *[]time.Duration) error {
		begun := time.Now()
		err := show()
		*into = append(*into, time.Since(begun))
		return err
	}
	for range 51 {
		if err := look(&quiet); err != nil {
			return err
		}
	}
	for i := range 20 {
		if err := b.operate(0, i%2); err != nil {
			return err
		}
		if err := look(&changed); err != nil {
			return err
		}
	}
	b.row(what+", median", milliseconds(median(quiet)), 5, "ms")
	b.row(what+" after a change, median", milliseconds(median(changed)), 5, "ms")
	return nil
}

// operate runs an operation of the first component of a unit, which changes its state.
func (b *bench) operate(unit, turn int) error {
	ctx := context.Background()
	x, err := b.app.Start(ctx, rest.RunRequest{
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

// overHTTP measures requests over HTTP for all states and for events.
func (b *bench) overHTTP() error {
	api, err := serve(b.app)
	if err != nil {
		return err
	}
	defer api.Close()
	var text []byte
	err = b.shown("GET /api/v1/app", func() (err error) {
		text, err = api.get("/api/v1/app")
		return err
	})
	if err == nil && !json.Valid(text) {
		err = errors.New("the response to GET /api/v1/app is not JSON")
	}
	if err != nil {
		return err
	}
	b.row("size of the response", float64(len(text))/(1<<20), 0, "MB")
	return b.events(api)
}

// events measures the time from an entry in the unit's journal to its arrival at a client that
// follows the event stream.
func (b *bench) events(api served) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	const wanted = 400
	var delays, operations []time.Duration
	var once sync.Once
	live, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- api.follow(ctx, "/api/v1/events?kind=start&kind=exit", func(_, data []byte) bool {
			if len(data) == 0 { // the states are omitted, and new events follow
				once.Do(func() { close(live) })
				return true
			}
			var e manager.Event
			_ = json.Unmarshal(data, &e) // an undecoded event counts as a very long delay
			delays = append(delays, time.Since(e.Time))
			return len(delays) < wanted
		})
	}()
	select {
	case <-live:
	case err := <-ended:
		return err
	}
	for i := range wanted / 2 {
		begun := time.Now()
		if err := b.operate(i/2%len(b.units.addrs), i%2); err != nil {
			return err
		}
		operations = append(operations, time.Since(begun))
	}
	if err := <-ended; err != nil {
		return err
	}
	slices.Sort(delays)
	b.row("an event from the unit to a subscriber, median", milliseconds(median(delays)), 10, "ms")
	b.row("an event from the unit to a subscriber, 99 %", milliseconds(delays[len(delays)*99/100]), 0, "ms")
	b.row("an operation that does nothing, median", milliseconds(median(operations)), 0, "ms")
	return nil
}

// idle measures the processor time of this process while idle.
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
	b.row(fmt.Sprintf("processor time in %v without changes", d), 100*float64(after-before)/float64(d), 1, "%")
	return nil
}

// passwordOf returns the password that all units share.
func passwordOf(string) []string { return []string{password} }

// unit is how the manager reaches the units of every node.
func unit() *spec.Unit { return &spec.Unit{Port: port, User: user} }

// model returns an application with a number of units, a hundred per node.
func model(units int) *spec.Application {
	app := &spec.Application{Name: "bench"}
	for node := range (units + perNode - 1) / perNode {
		n := fmt.Sprintf("n%d", node)
		app.Nodes = append(app.Nodes, spec.Node{Name: n, Type: "tosker.nodes.Container", Protocol: protocol.Container(), Unit: unit()})
		for c := range components {
			app.Components = append(app.Components, spec.Component{
				Name: name(node, c), Type: "tosker.nodes.Software", Host: n, Node: n, Protocol: quick,
				Interfaces: []spec.Interface{{Name: "Standard", Operations: []spec.Operation{{Name: "create"}, {Name: "delete"}}}},
			})
		}
	}
	return app
}
