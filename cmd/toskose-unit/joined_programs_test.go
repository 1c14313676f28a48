package main_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/unit/wire"
)

// theirPrograms are programs that behave in different ways.
const theirPrograms = `
[program:web]
command=sleep 1000
startsecs=0
[program:once]
command=true
startsecs=0
autorestart=false
autostart=false
[program:broken]
command=/bin/sh -c 'exit 7'
startretries=0
autostart=false
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

// joinedContainer boots a unit that joins by its environment.
func joinedContainer(t *testing.T, programs string) *container {
	t.Helper()
	c := newContainer(t, "")
	c.write("supervisord.conf", strings.ReplaceAll("[supervisord]\nnodaemon=true\nlogfile=DIR/unit.log\npidfile=DIR/unit.pid\nchildlogdir=DIR\n"+programs, "DIR", c.dir))
	c.env = joinEnv(t, c.port)
	return c.boot()
}

// becomes waits for the entry by which a component enters a state, and returns it.
func (c *container) becomes(component, state string, kind wire.EntryKind) wire.Entry {
	c.t.Helper()
	return c.journal(func(e wire.Entry) bool { return e.Component == component && e.State == state && e.Kind == kind })
}

func TestProgramsOfAJoinedUnitAreComponents(t *testing.T) {
	t.Parallel()
	c := joinedContainer(t, theirPrograms)
	c.becomes("web", "running", wire.EntryRunning)
	states := map[string]string{}
	for _, component := range c.snapshot().Components {
		states[component.Name] = component.State + " " + strings.Join(component.Allowed, " ")
	}
	want := map[string]string{
		"web": "running Program.restart Program.stop", "once": "stopped Program.start", "broken": "stopped Program.start",
		"workers:a": "stopped Program.start", "workers:b": "stopped Program.start",
	}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Error(diff)
	}
	described := []wire.ProgramComponent{
		{Component: "broken", Group: "broken"},
		{Component: "once", Group: "once"},
		{Component: "web", Group: "web", Autostart: true},
		{Component: "workers:a", Group: "workers"},
		{Component: "workers:b", Group: "workers"},
	}
	if diff := cmp.Diff(described, c.snapshot().Programs); diff != "" {
		t.Error(diff)
	}
}

func TestOperationsOfAProgramKeepToItsSettings(t *testing.T) {
	t.Parallel()
	c := joinedContainer(t, theirPrograms)
	c.becomes("web", "running", wire.EntryRunning)
	for _, step := range []struct {
		component, operation string
		outcome              wire.Outcome
		state, reason        string
	}{
		{"web", "Program.restart", wire.OutcomeSucceeded, "running", ""},
		{"web", "Program.stop", wire.OutcomeSucceeded, "stopped", ""},
		{"web", "Program.start", wire.OutcomeSucceeded, "running", ""},
		{"broken", "start", wire.OutcomeFailed, "stopped", "Exited too quickly"},
		{"workers:a", "start", wire.OutcomeSucceeded, "running", ""},
	} {
		x := c.run(step.component, step.operation)
		if x.Outcome != step.outcome || !strings.Contains(x.Reason, step.reason) || x.To != step.state {
			t.Errorf("%s of %s: %s, state %s, %q", step.operation, step.component, x.Outcome, x.To, x.Reason)
		}
		if state := c.component(step.component).State; state != step.state {
			t.Errorf("after %s of %s, its state is %s", step.operation, step.component, state)
		}
	}
	pid := func() int {
		var info wire.ProcessInfo
		if err := c.call(&info, "supervisor.getProcessInfo", "web"); err != nil {
			t.Fatal(err)
		}
		return info.PID
	}
	before := pid()
	if c.run("web", "restart"); pid() == before || pid() == 0 {
		t.Errorf("after a restart it is process %d, as before", pid())
	}
	if _, err := c.execute("web", "start", nil); err == nil || !strings.Contains(err.Error(), "not allowed in state running") {
		t.Errorf("a second start: %v", err)
	}
}

// TestChangesWithoutAnOperationAreRecorded: what autostart, autorestart, clients of Supervisor's API and processes do.
func TestChangesWithoutAnOperationAreRecorded(t *testing.T) {
	t.Parallel()
	c := joinedContainer(t, theirPrograms)
	c.becomes("web", "running", wire.EntryRunning)
	if err := c.call(nil, "supervisor.signalProcess", "web", "KILL"); err != nil {
		t.Fatal(err)
	}
	if e := c.becomes("web", "stopped", wire.EntryGone); !strings.Contains(e.Why, "the program ended") || e.Death == nil || e.Death.Signal != "SIGKILL" {
		t.Errorf("its end: %q, %+v", e.Why, e.Death)
	}
	c.journal(func(e wire.Entry) bool { return e.Kind == wire.EntryRunning && e.Component == "web" && e.Seq > 4 })
	if err := c.call(nil, "supervisor.stopProcess", "web"); err != nil {
		t.Fatal(err)
	}
	if e := c.becomes("web", "stopped", wire.EntryStop); e.Why != "the program was stopped" {
		t.Errorf("its stop: %q", e.Why)
	}
	if err := c.call(nil, "supervisor.startProcess", "workers:b"); err != nil {
		t.Fatal(err)
	}
	c.becomes("workers:b", "running", wire.EntryRunning)
	if err := c.call(nil, "supervisor.startProcess", "broken"); err == nil {
		t.Error("broken was started")
	}
	if state := c.component("broken").State; state != "stopped" {
		t.Errorf("broken is %s", state)
	}
}

// TestAStartEndsWhatEarlierRunsHaveLeft, such as the worker of a killed server that keeps its port, or here a lock.
func TestAStartEndsWhatEarlierRunsHaveLeft(t *testing.T) {
	t.Parallel()
	for name, autorestart := range map[string]string{"while it is stopped": "false", "while autorestart fails": "true"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := joinedContainer(t, `
[program:server]
command=/bin/sh -c 'exec 9>DIR/lock; flock -n 9 || exit 1; echo up; setsid sleep 1000 & exec sleep 1001 9>&-'
stdout_logfile=DIR/server.log
startretries=1000
autorestart=`+autorestart+`
`)
			c.becomes("server", "running", wire.EntryRunning)
			if err := c.call(nil, "supervisor.signalProcess", "server", "KILL"); err != nil {
				t.Fatal(err)
			}
			c.becomes("server", "stopped", wire.EntryGone)
			x := c.run("server", "start")
			if x.Outcome != wire.OutcomeSucceeded || x.To != "running" || x.Reason != "an earlier run left processes, which the unit ended" {
				t.Errorf("%s, state %s, %q", x.Outcome, x.To, x.Reason)
			}
			if up := strings.Count(c.read("server.log"), "up"); up != 2 {
				t.Errorf("it came up %d times", up)
			}
		})
	}
}

// TestAReloadChangesThePrograms that are components, while the others keep running.
func TestAReloadChangesThePrograms(t *testing.T) {
	t.Parallel()
	c := joinedContainer(t, theirPrograms)
	c.becomes("web", "running", wire.EntryRunning)
	text := strings.ReplaceAll(c.read("supervisord.conf"), "[program:once]\ncommand=true\n", "[program:added]\ncommand=sleep 1000\n")
	c.write("supervisord.conf", text)
	var groups [][][]string
	if err := c.call(&groups, "supervisor.reloadConfig"); err != nil {
		t.Fatal(err)
	}
	for _, change := range []struct{ method, group string }{{"removeProcessGroup", "once"}, {"addProcessGroup", "added"}} {
		if err := c.call(nil, "supervisor."+change.method, change.group); err != nil {
			t.Fatalf("%s: %v", change.method, err)
		}
	}
	var names []string
	for _, p := range c.snapshot().Programs {
		names = append(names, p.Component)
	}
	if want := []string{"added", "broken", "web", "workers:a", "workers:b"}; !slices.Equal(names, want) {
		t.Errorf("the programs are %v, want %v", names, want)
	}
	c.journal(func(e wire.Entry) bool { return e.Kind == wire.EntryReload && strings.Contains(e.Why, "added") })
	if x := c.run("added", "start"); x.Outcome != wire.OutcomeSucceeded {
		t.Errorf("start of added: %s %s", x.Outcome, x.Reason)
	}
	if err := c.call(nil, "supervisor.stopProcess", "added"); err != nil {
		t.Fatal(err)
	}
	if err := c.call(nil, "supervisor.removeProcessGroup", "added"); err != nil {
		t.Errorf("its removal right after its stop: %v", err)
	}
}

// TestTheEndOfAProgramThatWasNeverRunningIsRecorded, with whether its exitcodes expect it.
func TestTheEndOfAProgramThatWasNeverRunningIsRecorded(t *testing.T) {
	t.Parallel()
	c := joinedContainer(t, `
[program:done]
command=true
startsecs=0
autorestart=false
[program:failed]
command=false
startsecs=0
autorestart=false
[program:fatal]
command=false
startretries=0
`)
	ends := map[string]bool{}
	for _, name := range []string{"done", "failed", "fatal"} {
		e := c.becomes(name, "stopped", wire.EntryGone)
		ends[name] = e.Completed
		if !strings.Contains(e.Why, "ended with exit code") && !strings.Contains(e.Why, "FATAL") {
			t.Errorf("the end of %s: %q", name, e.Why)
		}
	}
	if diff := cmp.Diff(map[string]bool{"done": true, "failed": false, "fatal": false}, ends); diff != "" {
		t.Error(diff)
	}
	x := c.run("done", "start")
	if x.Outcome != wire.OutcomeSucceeded {
		t.Errorf("start of done: %+v", x)
	}
	c.journal(func(e wire.Entry) bool { return e.Component == "done" && e.Completed && e.Seq >= x.Seq })
	for _, component := range c.snapshot().Components {
		if component.Name == "fatal" && !strings.Contains(component.Why, "FATAL") {
			t.Errorf("fatal is %s: %q", component.State, component.Why)
		}
	}
}
