package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/wire"
)

const (
	containers = 100 // of the application; each has components
	chained    = 25  // length of a chain of containers, each connected to the previous one
)

// staged is the protocol of components with a goal: they are usable after two operations. The
// second one requires capabilities of other usable components.
var staged = protocol.Protocol{
	Initial: "deleted",
	States: []protocol.State{
		{Name: "created"},
		{Name: "deleted"},
		{Name: "usable", Requires: []string{protocol.Connection}, Offers: []string{protocol.Endpoint}},
	},
	Transitions: []protocol.Transition{
		{Source: "deleted", Target: "created", Operation: protocol.Operation{Interface: "Standard", Name: "create"}},
		{Source: "created", Target: "usable", Operation: protocol.Operation{Interface: "Standard", Name: "configure"}},
	},
}

// reachGoal measures how long an application of 1,000 components takes to reach a goal with
// operations that sleep, compared with the longest chain of these operations.
func (b *bench) reachGoal(binary string, each time.Duration) error {
	app := chains()
	units := &fleet{dir: b.dir, perNode: 1, configuration: func(dir string, addr netip.AddrPort, node int) string {
		var text strings.Builder
		text.WriteString(server(dir, addr))
		for c := range components {
			for _, operation := range []string{"create", "configure"} {
				text.WriteString(program(name(node, c), operation, "/bin/sleep "+fmt.Sprint(each.Seconds())))
			}
			text.WriteString(component(name(node, c), staged, "create", "configure"))
		}
		return text.String()
	}}
	defer units.stop()
	if err := units.start(binary, containers); err != nil {
		return err
	}
	m, err := manager.New(app, manager.Options{Containers: units, Passwords: passwordOf, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer m.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	ended := watch(ctx, m)
	before, err := used()
	if err != nil {
		return err
	}
	begun := time.Now()
	if _, _, err := m.SetGoal(ctx, rest.GoalRequest{State: "up", By: "bench"}); err != nil {
		return err
	}
	runs, last := map[string]wire.Execution{}, time.Time{}
	for len(runs) < 2*components*containers {
		select {
		case x := <-ended:
			runs[x.Component+"."+x.Operation] = x
			last = x.Ended
		case <-ctx.Done():
			return fmt.Errorf("%d operations of %d ended: %+v", len(runs), 2*components*containers, m.Goal().Obstacles)
		}
	}
	after, err := used()
	if err != nil {
		return err
	}
	took, longest := last.Sub(begun), critical(app, runs)
	b.row(fmt.Sprintf("a goal over %d components: time / longest chain", components*containers), float64(took)/float64(longest), 1.1, "")
	b.row("the longest chain of operations", longest.Seconds(), 0, "s")
	b.row("processor time of the manager during that time", milliseconds(after-before), 0, "ms")
	return nil
}

// watch returns a channel of ended executions.
func watch(ctx context.Context, m *manager.App) <-chan wire.Execution {
	ended := make(chan wire.Execution, 100)
	next := m.Events("")
	go func() {
		for {
			events, err := next(ctx)
			if err != nil {
				return
			}
			for _, e := range events {
				if e.Kind == string(wire.EntryExit) && e.Execution != nil && e.Execution.Outcome.Done() {
					select {
					case ended <- *e.Execution:
					case <-ctx.Done():
						return
					}
				}
			}
		}
	}()
	return ended
}

// critical returns how long the longest chain of operations took.
func critical(app *spec.Application, runs map[string]wire.Execution) (longest time.Duration) {
	took := func(component, operation string) time.Duration {
		x := runs[component+"."+operation]
		return x.Ended.Sub(x.Started)
	}
	usable := map[string]time.Duration{}
	for i := range app.Components { // components are sorted: the targets of a component precede it
		c := &app.Components[i]
		at := took(c.Name, "create")
		for _, other := range c.Connections {
			at = max(at, usable[other])
		}
		usable[c.Name] = at + took(c.Name, "configure")
		longest = max(longest, usable[c.Name])
	}
	return longest
}

// chains is an application in which each component, except the first of each chain, connects to
// a component of the previous container.
func chains() *spec.Application {
	app := &spec.Application{Name: "chains"}
	for node := range containers {
		n := fmt.Sprintf("n%d", node)
		app.Nodes = append(app.Nodes, spec.Node{Name: n, Type: "tosker.nodes.Container", Protocol: protocol.Container(), Unit: unit()})
		for c := range components {
			made := spec.Component{
				Name: name(node, c), Type: "tosker.nodes.Software", Host: n, Node: n, Protocol: staged,
				Interfaces: []spec.Interface{{Name: "Standard", Operations: []spec.Operation{
					{Name: "create", Script: "create"}, {Name: "configure", Script: "configure"},
				}}},
			}
			if node%chained != 0 {
				made.Connections = []string{name(node-1, c)}
			}
			app.Components = append(app.Components, made)
		}
	}
	return app
}

// single is an application of one component on one unit, which a goal keeps running.
type single struct {
	units *fleet
	app   *manager.App
}

// mortal is the protocol of a component that can be stopped and running.
var mortal = protocol.Protocol{
	Initial: "stopped",
	States:  []protocol.State{{Name: "stopped"}, {Name: "running", Offers: []string{protocol.Endpoint}}},
	Transitions: []protocol.Transition{
		{Source: "stopped", Target: "running", Operation: protocol.Operation{Interface: "Standard", Name: "start"}},
		{Source: "running", Target: "stopped", Operation: protocol.Operation{Interface: "Standard", Name: "stop"}},
	},
}

// runSingle runs a manager and a unit with one component; program is its start operation. A start
// counts as successful after the duration stable.
func runSingle(dir, binary string, stable time.Duration, program func(dir string) string) (*single, error) {
	s := &single{units: &fleet{dir: dir, perNode: 1, configuration: func(dir string, addr netip.AddrPort, _ int) string {
		return server(dir, addr) + program(dir) + component("n0c0", mortal, "start")
	}}}
	if err := s.units.start(binary, 1); err != nil {
		s.units.stop()
		return nil, err
	}
	app := &spec.Application{
		Name:  "single",
		Nodes: []spec.Node{{Name: "n0", Type: "tosker.nodes.Container", Protocol: protocol.Container(), Unit: unit()}},
		Components: []spec.Component{{
			Name: "n0c0", Type: "tosker.nodes.Software", Host: "n0", Node: "n0", Protocol: mortal, Policy: &spec.Policy{Stable: spec.Duration(stable)},
			Interfaces: []spec.Interface{{Name: "Standard", Operations: []spec.Operation{{Name: "start", Script: "start"}, {Name: "stop"}}}},
		}},
	}
	var err error
	s.app, err = manager.New(app, manager.Options{
		Containers: s.units, Passwords: passwordOf, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// keepUp is runSingle for a component that a goal keeps running and that command starts.
func keepUp(dir, binary string, stable time.Duration, command string) (*single, error) {
	s, err := runSingle(dir, binary, stable, func(string) string { return program("n0c0", "start", command) })
	if err != nil {
		return nil, err
	}
	if _, _, err := s.app.SetGoal(context.Background(), rest.GoalRequest{State: "up", By: "bench"}); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func (s *single) stop() {
	if s.app != nil {
		s.app.Close()
	}
	s.units.stop()
}

// crashLoop measures the processor time of the manager and the unit while a component exits after
// every start.
func (b *bench) crashLoop(binary string, d time.Duration) error {
	s, err := keepUp(b.dir, binary, 0, "/bin/false")
	if err != nil {
		return err
	}
	defer s.stop()
	pid := s.units.units[0].Process.Pid
	before, err := usedBy(pid)
	if err != nil {
		return err
	}
	time.Sleep(d)
	after, err := usedBy(pid)
	if err != nil {
		return err
	}
	b.row(fmt.Sprintf("manager and unit, processor time in %v of a crash loop", d), 100*float64(after-before)/float64(d), 1, "%")
	return nil
}

// usedBy returns the processor time of this process and of another with its children.
func usedBy(pid int) (time.Duration, error) {
	own, err := used()
	if err != nil {
		return 0, err
	}
	text, err := os.ReadFile(filepath.Join("/proc", fmt.Sprint(pid), "stat"))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	const first, tick = 11, 10 * time.Millisecond // utime, stime, cutime, cstime in ticks of USER_HZ, which is 100
	for _, field := range fields[first : first+4] {
		var ticks int64
		if _, err := fmt.Sscan(field, &ticks); err != nil {
			return 0, err
		}
		own += time.Duration(ticks) * tick
	}
	return own, nil
}
