package manager_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/internal/fakeunit"
	"github.com/toskose/toskose/internal/testunit"
	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/manager/unitclient"
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/wire"
)

// webPrograms behave in different ways.
const webPrograms = `
[program:app]
command=/bin/sh -c 'echo serving; exec sleep 1000'
startsecs=0
[program:once]
command=true
startsecs=0
autorestart=false
[program:broken]
command=/bin/sh -c 'test -e DIR/repaired && exec sleep 1000; exit 7'
startsecs=0
autorestart=false
[program:a]
command=sleep 1000
autostart=false
startsecs=0
[program:b]
command=sleep 1000
autostart=false
startsecs=0
[group:workers]
programs=a,b
`

// attachedApp is an application of attached nodes.
func attachedApp(requires map[string][]string, nodes ...string) *spec.Application {
	app := &spec.Application{Name: "shop"}
	for _, name := range nodes {
		app.Nodes = append(app.Nodes, spec.Node{
			Name: name, Protocol: protocol.Container(), Attached: &spec.Attached{}, Unit: &spec.Unit{Port: 9001, User: fakeunit.User},
		})
	}
	app.Nodes[0].Attached.Requires = requires
	return app
}

// learning runs an application whose nodes are attached.
type learning struct {
	t *testing.T
	*manager.Learner

	mu       sync.Mutex
	replaced chan struct{} // closed when the App is replaced
}

func learn(t *testing.T, app *spec.Application, found fakeunit.Containers) *learning {
	t.Helper()
	if err := app.Validate(); err != nil {
		t.Fatal(err)
	}
	learner, err := manager.NewLearner(app, manager.Options{
		Containers: found, Passwords: func(string) []string { return []string{fakeunit.Password} }, Backoff: time.Millisecond, Limits: unitclient.Limits{Call: time.Minute, Connect: time.Minute},
	})
	if err != nil {
		t.Fatal(err)
	}
	l := &learning{t: t, Learner: learner, replaced: make(chan struct{})}
	ended := make(chan error, 1)
	go func() {
		ended <- learner.Run(t.Context(), func(next func() (*manager.App, error)) error {
			_, err := next()
			l.mu.Lock()
			defer l.mu.Unlock()
			close(l.replaced)
			l.replaced = make(chan struct{})
			return err
		})
	}()
	t.Cleanup(func() {
		learner.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return l
}

// await returns the components by name once they are as wanted, and fails the test if they never are.
func (l *learning) await(wanted func(map[string]rest.Component) bool) map[string]rest.Component {
	l.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		l.mu.Lock()
		replaced := l.replaced
		l.mu.Unlock()
		app := l.Current()
		events := app.Events("")
		all := map[string]rest.Component{}
		for _, c := range app.App(l.t.Context(), manager.StatesOnly).Components {
			all[c.Name] = c
		}
		if wanted(all) {
			return all
		}
		if time.Now().After(deadline) {
			l.t.Fatalf("the components are %+v", all)
		}
		changed := make(chan struct{})
		go func() {
			defer close(changed)
			_, _ = events(l.t.Context()) // the states now
			_, _ = events(l.t.Context()) // and what changes them
		}()
		select {
		case <-changed:
		case <-replaced:
		case <-time.After(200 * time.Millisecond): // a change of the goal is no event
		}
	}
}

func states(all map[string]rest.Component) map[string]string {
	found := map[string]string{}
	for name, c := range all {
		found[name] = c.State
	}
	return found
}

// become waits until the components have these states.
func (l *learning) become(want map[string]string) {
	l.t.Helper()
	l.await(func(all map[string]rest.Component) bool { return cmp.Equal(states(all), want) })
}

func (l *learning) run(node, component, operation string) (rest.Execution, error) {
	l.t.Helper()
	return run(l.t, l.Current(), rest.RunRequest{Node: node, Component: component, Operation: operation, By: "ann"})
}

func TestProgramsOfAnAttachedNodeAreComponents(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs the unit")
	}
	t.Parallel()
	u := testunit.RunJoined(t, fakeunit.Password, webPrograms)
	l := learn(t, attachedApp(nil, "web"), fakeunit.Containers{"web": {u.Addr}})
	now := map[string]string{"web/app": "running", "web/broken": "stopped", "web/once": "stopped", "web/workers:a": "stopped", "web/workers:b": "stopped"}
	l.become(now)
	x, err := l.run("web", "web/app", "restart")
	if err != nil || x.Component != "web/app" || x.Runs[0].From != "running" || x.Runs[0].To != "running" {
		t.Errorf("restart by the full name: %+v, %v", x, err)
	}
	x, err = l.run("web", "workers:a", "start")
	if err != nil || x.Component != "web/workers:a" || x.Runs[0].To != "running" {
		t.Errorf("start by the unit's name: %+v, %v", x, err)
	}
	app := l.Current()
	page, err := app.History(t.Context(), rest.HistoryQuery{Node: "web", Component: "workers:a", Limit: 10})
	if err != nil || len(page.Executions) != 1 || page.Executions[0].ID != x.ID || page.Executions[0].Component != "web/workers:a" {
		t.Errorf("history: %+v, %v", page, err)
	}
	c, err := app.Component(t.Context(), "web", "app", manager.WithProcesses)
	if err != nil || len(c.Replicas) != 1 || len(c.Replicas[0].Processes) != 1 || !slices.Equal(c.Allowed, []string{"Program.restart", "Program.stop"}) {
		t.Errorf("the component: %+v, %v", c, err)
	}
	op, err := app.Operation(t.Context(), "web", "web/app", "start", manager.WithProcesses)
	if err != nil || !op.Implemented || op.Replicas[0].Process == nil || op.Replicas[0].Process.PID == 0 {
		t.Errorf("the operation: %+v, %v", op, err)
	}
	for _, name := range []string{"web/app", "web/web/app", "web/app/start", "web"} {
		lines, err := app.Lines(t.Context(), rest.LogQuery{Of: []string{name}})
		if err != nil {
			t.Errorf("lines of %s: %v", name, err)
			continue
		}
		all, err := lines.Next(t.Context())
		if err != nil || len(all) == 0 || string(all[0].Line) != "serving" || all[0].Component != "web/app" {
			t.Errorf("lines of %s: %+v, %v", name, all, err)
		}
		lines.Close()
	}
	logs, err := app.Log(t.Context(), "web", "app", "start", "", manager.LogRequest{Stream: wire.Stdout})
	if err != nil || !strings.HasPrefix(logs[0].Text, "serving\n") {
		t.Errorf("log: %+v, %v", logs, err)
	}
	if _, err := app.Stop(t.Context(), "web", "app", "start", ""); err != nil {
		t.Error(err)
	}
	now["web/app"], now["web/workers:a"] = "stopped", "running"
	l.become(now)

	u.Configure(webPrograms + "[program:later]\ncommand=sleep 1000\nstartsecs=0\n")
	u.Call("supervisor.reloadConfig")
	u.Call("supervisor.addProcessGroup", "later")
	now["web/later"] = "running"
	l.become(now)
	u.Call("supervisor.stopProcessGroup", "later")
	u.Call("supervisor.removeProcessGroup", "later")
	delete(now, "web/later")
	l.become(now)
}

// up sets the goal up.
func (l *learning) up() {
	l.t.Helper()
	if _, kept, err := l.Current().SetGoal(l.t.Context(), rest.GoalRequest{State: "up", By: "ann"}); err != nil || !kept {
		l.t.Fatalf("the goal was not set: kept %v, %v", kept, err)
	}
}

func TestTheGoalKeepsTheProgramsOfAttachedNodesUp(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs the unit")
	}
	t.Parallel()
	web := testunit.RunJoined(t, fakeunit.Password, webPrograms)
	queue := testunit.RunJoined(t, fakeunit.Password, "[program:broker]\ncommand=sleep 1000\nstartsecs=0\nautostart=false\n")
	app := attachedApp(map[string][]string{"broken": {"queue/broker"}}, "web", "queue")
	found := fakeunit.Containers{"web": {web.Addr}, "queue": {queue.Addr}}
	l := learn(t, app, found)
	now := map[string]string{
		"queue/broker": "stopped", "web/app": "running", "web/broken": "stopped", "web/once": "stopped", "web/workers:a": "stopped", "web/workers:b": "stopped",
	}
	l.become(now)
	if g := l.Current().Goal(); g.State != "" || len(g.States) > 0 {
		t.Errorf("a goal before it was set: %+v", g)
	}
	if _, err := l.run("web", "workers:a", "start"); err != nil {
		t.Fatal(err)
	}
	if _, err := l.run("web", "broken", "start"); !errors.Is(err, rest.ErrUnmet) {
		t.Errorf("start of a program that requires another: %v", err)
	}
	l.up()
	if g := l.Current().Goal(); g.States["web/workers:a"] != "up" || len(g.States) != 1 {
		t.Errorf("the goal names %v", g.States)
	}
	now["queue/broker"], now["web/workers:a"] = "running", "running" // broken requires the one, and the other ran
	l.become(now)
	l.await(func(map[string]rest.Component) bool { // broken is tried
		page, err := l.Current().History(t.Context(), rest.HistoryQuery{Node: "web", Component: "broken", By: "goal", Limit: 2})
		return err == nil && len(page.Executions) > 0
	})
	if err := os.WriteFile(filepath.Join(web.Folder, "repaired"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	now["web/broken"] = "running"
	l.become(now)

	// A program that is killed is up again, and one that a user stops is on hold.
	web.Call("supervisor.signalProcess", "workers:a", "KILL")
	if _, err := l.run("web", "app", "stop"); err != nil {
		t.Fatal(err)
	}
	now["web/app"] = "stopped"
	l.become(now)
	l.await(func(all map[string]rest.Component) bool {
		return all["web/app"].State == "stopped" && l.Current().Goal().Holds["web/app"].By == "ann"
	})
	if _, _, err := l.Current().ResumeGoal(t.Context(), nil, "ann"); err != nil {
		t.Fatal(err)
	}
	now["web/app"] = "running"
	l.become(now)

	// So is one that a client of Supervisor's API stops, until it is started again.
	held := func(want bool, state string) {
		t.Helper()
		l.await(func(all map[string]rest.Component) bool {
			_, is := l.Current().Goal().Holds["queue/broker"]
			return all["queue/broker"].State == state && is == want
		})
	}
	queue.Call("supervisor.stopProcess", "broker")
	held(true, "stopped")
	queue.Call("supervisor.startProcess", "broker")
	held(false, "running")
	queue.Call("supervisor.stopProcess", "broker")
	held(true, "stopped")
	queue.Call("supervisor.startProcess", "broker")
	held(false, "running")

	// Its container is ready: once has completed, and no goal names workers:b.
	l.await(func(map[string]rest.Component) bool {
		answer, err := http.Get("http://" + web.Addr.String() + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})

	// Another manager reads the goal from the units, and a container that comes back is as before.
	l.Close()
	web.Restart()
	after := learn(t, app, found)
	after.become(now)
	if g := after.Current().Goal(); g.State != "up" || g.By != "ann" || g.States["web/workers:a"] != "up" {
		t.Errorf("after a restart the goal is %+v", g)
	}

	// A program that is added later, with autostart, is kept up.
	web.Configure(webPrograms + "[program:later]\ncommand=/bin/sh -c 'test -e DIR/allowed && exec sleep 1000; exit 1'\nstartsecs=0\nautorestart=false\n")
	web.Call("supervisor.reloadConfig")
	web.Call("supervisor.addProcessGroup", "later")
	now["web/later"] = "stopped"
	after.become(now)
	if err := os.WriteFile(filepath.Join(web.Folder, "allowed"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	now["web/later"] = "running"
	after.become(now)
}
