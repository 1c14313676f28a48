package main_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toskose/toskose/unit/wire"
)

func outcome(t *testing.T, x wire.Execution, want wire.Outcome) {
	t.Helper()
	if x.Outcome != want {
		t.Errorf("%s: outcome %s (%s, exit code %v), want %s\nstderr: %s", x.Operation, x.Outcome, x.Reason, x.ExitCode, want, x.Stderr)
	}
}

func (c *container) wants(name, state string) wire.Component {
	c.t.Helper()
	got := c.component(name)
	if got.State != state {
		c.t.Errorf("%s is %s (%s), want %s", name, got.State, got.Why, state)
	}
	return got
}

func fault(t *testing.T, err error, code wire.FaultCode) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), code.String()) {
		t.Errorf("the answer is %v, want fault %s", err, code)
	}
}

const daemon = `nohup sleep 1000 >/dev/null 2>&1 & echo $! > pid`

func TestADaemonisingStartIsStoppedByItsPidFile(t *testing.T) {
	t.Parallel()
	c := newContainer(t, component("api", map[string]string{
		"start": daemon, "stop": `kill $(cat pid)`, "create": "echo made; id >&2",
	}, "")+component("sniffer", map[string]string{"start": "exec sleep 1000"}, "")).boot()

	made := c.run("api", "create")
	outcome(t, made, wire.OutcomeSucceeded)
	if made.Stdout != "made\n" || !strings.Contains(made.Stderr, "uid=") || made.ExitCode == nil || *made.ExitCode != 0 {
		t.Errorf("create: %+v", made)
	}
	outcome(t, c.run("sniffer", "start"), wire.OutcomeSucceeded)
	neighbour := c.wants("sniffer", "running").Processes
	for range 2 {
		outcome(t, c.run("api", "Standard.start"), wire.OutcomeSucceeded)
		api := c.wants("api", "running")
		if len(api.Processes) != 1 || api.Processes[0].Operation != "Standard.start" {
			t.Errorf("processes of api: %+v", api.Processes)
		}
		stop := c.run("api", "stop")
		outcome(t, stop, wire.OutcomeSucceeded)
		if stop.Reason != "" || stop.From != "running" || stop.To != "configured" {
			t.Errorf("stop: %+v", stop)
		}
		if api := c.wants("api", "configured"); len(api.Processes) != 0 {
			t.Errorf("processes are left: %+v", api.Processes)
		}
	}
	after := c.wants("sniffer", "running").Processes
	if len(after) != 1 || after[0].PID != neighbour[0].PID {
		t.Errorf("the neighbour was %+v and is %+v", neighbour, after)
	}
}

func TestAFailingOperationKeepsItsCodeAndLeavesTheState(t *testing.T) {
	t.Parallel()
	c := newContainer(t, component("api", map[string]string{"create": "echo no >&2; exit 7"}, "")).boot()
	x := c.run("api", "create")
	outcome(t, x, wire.OutcomeFailed)
	if x.ExitCode == nil || *x.ExitCode != 7 || x.Stderr != "no\n" || x.To != "deleted" {
		t.Errorf("create: %+v", x)
	}
	c.wants("api", "deleted")
	fault(t, c.call(nil, "supervisor.startProcess", "api:create"), wire.AbnormalTermination)
	var info wire.ProcessInfo
	if err := c.call(&info, "supervisor.getProcessInfo", "api:Standard.create"); err != nil || info.ExitStatus != 7 || info.State != wire.Exited {
		t.Errorf("getProcessInfo: %+v, %v", info, err)
	}
	_, err := c.execute("api", "stop", nil)
	fault(t, err, wire.NotAllowed)
}

func TestAForegroundStartThatEndsTakesTheComponentBack(t *testing.T) {
	t.Parallel()
	c := newContainer(t, component("gui", map[string]string{
		"start": `trap "echo giving up >&2; exit 9" USR1; echo up > up; while :; do sleep 0.05; done`,
	}, "")).boot()
	outcome(t, c.run("gui", "start"), wire.OutcomeSucceeded)
	c.wants("gui", "running")
	c.until("up", "up")
	if err := c.call(nil, "supervisor.signalProcess", "gui:start", "USR1"); err != nil {
		t.Fatal(err)
	}
	gone := c.journal(func(e wire.Entry) bool { return e.Kind == wire.EntryGone })
	if gone.State != "deleted" || !strings.Contains(gone.Why, "exit code 9") {
		t.Errorf("gone: %+v", gone)
	}
	if d := gone.Death; d == nil || d.ExitCode == nil || *d.ExitCode != 9 || d.Last != "giving up" {
		t.Errorf("its death: %+v", d)
	}
	c.wants("gui", "deleted")
	outcome(t, c.run("gui", "start"), wire.OutcomeSucceeded)
	if n := c.component("gui").Restarts; n != 1 {
		t.Errorf("it was started again after a death, and counts %d restarts", n)
	}
}

func TestADaemonThatDiesIsGoneAndItsExitIsNamed(t *testing.T) {
	t.Parallel()
	c := newContainer(t, component("api", map[string]string{
		"start": `setsid sh -c "trap \"exit 5\" USR1; echo up > up; while :; do sleep 0.05; done" & while [ ! -s up ]; do sleep 0.02; done`,
	}, "")).boot()
	outcome(t, c.run("api", "start"), wire.OutcomeSucceeded)
	if err := c.call(nil, "supervisor.signalProcess", "api:start", "USR1"); err != nil {
		t.Fatal(err)
	}
	gone := c.journal(func(e wire.Entry) bool { return e.Kind == wire.EntryGone })
	if !strings.Contains(gone.Why, "exit code 5") {
		t.Errorf("gone: %q", gone.Why)
	}
}

func TestAStopThatDoesNotStopIsCompletedByTheUnit(t *testing.T) {
	t.Parallel()
	stubborn := `setsid sh -c "trap \"\" TERM; echo up > up; while :; do sleep 0.05; done" >/dev/null 2>&1 & while [ ! -s up ]; do sleep 0.02; done`
	c := newContainer(t, component("api", map[string]string{"start": stubborn, "stop": "true"}, "stopwaitsecs=1")).boot()
	outcome(t, c.run("api", "start"), wire.OutcomeSucceeded)
	stop := c.run("api", "stop")
	outcome(t, stop, wire.OutcomeSucceeded)
	if !strings.Contains(stop.Reason, "KILL") {
		t.Errorf("reason: %q", stop.Reason)
	}
	if api := c.wants("api", "configured"); len(api.Processes) != 0 {
		t.Errorf("processes are left: %+v", api.Processes)
	}
}

func TestTheAnswerHasThePIDAndTheOutputOfItsOwnRun(t *testing.T) {
	t.Parallel()
	c := newContainer(t, strings.Replace(
		component("api", map[string]string{"create": "true"}, ""), "command=/bin/sh -c 'true'", "command=DIR/op", 1,
	)).boot()
	// A process in the background holds the pipe when the first one has written and ended.
	c.write("op", "#!/bin/sh\nsleep 0.2 &\nfor i in 1 2 3 4 5 6 7 8 9; do echo $i; done\nprintf end >&2\nexit 3\n")
	for range 20 {
		x := c.run("api", "create")
		outcome(t, x, wire.OutcomeFailed)
		if x.PID == 0 || x.Stdout != "1\n2\n3\n4\n5\n6\n7\n8\n9\n" || x.Stderr != "end" {
			t.Fatalf("%+v", x)
		}
	}
	if err := os.Remove(filepath.Join(c.dir, "op")); err != nil {
		t.Fatal(err)
	}
	if x := c.run("api", "create"); x.Outcome != wire.OutcomeFailed || x.PID != 0 || x.Stdout != "" || x.Stderr != "" {
		t.Errorf("what could not be started answers %+v", x)
	}
}

func TestWhatMayNotRunIsRefused(t *testing.T) {
	t.Parallel()
	c := newContainer(t, component("api", map[string]string{
		"create": `echo $INPUT_PORT; echo up > up; sleep 1000`,
	}, `toskose_inputs={"PORT":"80"}`)).boot()

	_, err := c.execute("api", "create", map[string]any{"inputs": map[string]any{"LD_PRELOAD": "x"}})
	fault(t, err, wire.UndeclaredInput)
	_, err = c.execute("api", "create", map[string]any{"instance": "other"})
	fault(t, err, wire.OtherInstance)

	x, err := c.execute("api", "create", map[string]any{"id": "one", "inputs": map[string]any{"PORT": "81"}})
	if err != nil {
		t.Fatal(err)
	}
	if again, err := c.execute("api", "create", map[string]any{"id": "one"}); err != nil || again.Seq != x.Seq {
		t.Errorf("the same id: %+v, %v", again, err)
	}
	_, err = c.execute("api", "delete", map[string]any{"id": "one"})
	fault(t, err, wire.OtherExecution)
	_, err = c.execute("api", "create", nil)
	fault(t, err, wire.Busy)
	_, err = c.execute("api", "nothing", nil)
	fault(t, err, wire.BadName)

	c.until("up", "up")
	var cancelled wire.Execution
	if err := c.ask(&cancelled, http.MethodDelete, "/executions/one", nil); err != nil {
		t.Fatal(err)
	}
	outcome(t, cancelled, wire.OutcomeCancelled)
	if cancelled.Stdout != "81\n" || cancelled.Signal != "SIGTERM" {
		t.Errorf("%+v", cancelled)
	}
	if len(c.wants("api", "deleted").Processes) != 0 {
		t.Error("processes are left")
	}
	_, err = c.execute("api", "create", map[string]any{"after": 1})
	fault(t, err, wire.NewerEntry)
	late, err := c.execute("api", "create", map[string]any{"timeout": 0.2})
	if err != nil {
		t.Fatal(err)
	}
	outcome(t, c.end(late.ID), wire.OutcomeTimeout)
	if strings.Contains(c.read("unit.log"), "81") && strings.Contains(c.read("unit.log"), `"81"`) {
		t.Error("the log has the value of an input")
	}
}

func TestWhoSawLessIsRefusedAndTheSameIDIsNot(t *testing.T) {
	t.Parallel()
	c := newContainer(t, component("api", map[string]string{"create": "exit 0", "configure": "exit 0"}, "")).boot()
	created, err := c.execute("api", "create", map[string]any{"id": "one", "after": 0})
	if err != nil {
		t.Fatal(err)
	}
	ended := c.end(created.ID)
	_, err = c.execute("api", "configure", map[string]any{"after": 0})
	var refused *wire.Fault
	if !errors.As(err, &refused) || refused.Code != wire.NewerEntry || refused.Component == nil || refused.Component.Seq != ended.Seq {
		t.Errorf("who knows of nothing: %v, not that there is entry %d", err, ended.Seq)
	}
	again, err := c.execute("api", "create", map[string]any{"id": "one", "after": 0})
	if err != nil || again.Seq != ended.Seq || again.Outcome != wire.OutcomeSucceeded {
		t.Errorf("the same id: %+v, %v", again, err)
	}
	if _, err := c.execute("api", "configure", map[string]any{"after": ended.Seq}); err != nil {
		t.Errorf("who knows all: %v", err)
	}
}

func TestAFollowerThatKnowsNothingIsToldHowAllStands(t *testing.T) {
	t.Parallel()
	c := newContainer(t, component("api", map[string]string{
		"create": "exit 0", "configure": "exit 3", "start": daemon, "stop": "kill $(cat pid)",
	}, "")+component("gui", map[string]string{"create": "sleep 1000"}, "")).boot()
	outcome(t, c.run("api", "create"), wire.OutcomeSucceeded)
	outcome(t, c.run("api", "configure"), wire.OutcomeFailed)
	started, err := c.execute("gui", "create", map[string]any{"id": "long", "by": "somebody"})
	if err != nil {
		t.Fatal(err)
	}
	hello := c.entries("now")
	if len(hello) != 1 || hello[0].Kind != wire.EntryHello || hello[0].Unit == nil || len(hello[0].Components) != 2 {
		t.Fatalf("the answer is %+v", hello)
	}
	unit, api, gui := hello[0].Unit, hello[0].Components[0], hello[0].Components[1]
	if want := fmt.Sprintf("%x", sha256.Sum256([]byte(c.read("supervisord.conf")))); unit.Digest != want {
		t.Errorf("the digest of its configuration is %s, not %s", unit.Digest, want)
	}
	if unit.Labels["host"] != "h1" || unit.Instance != started.Instance || unit.Booted.IsZero() || unit.Seq != hello[0].Seq {
		t.Errorf("the unit is %+v", unit)
	}
	if api.State != "created" || api.StartedFrom != "" || len(api.Recent) != 2 || api.Recent[1].Outcome != wire.OutcomeFailed || *api.Recent[1].ExitCode != 3 {
		t.Errorf("api is %+v", api)
	}
	if gui.State != "deleted" || len(gui.Recent) != 1 || gui.Recent[0].ID != "long" || gui.Recent[0].By != "somebody" || gui.Recent[0].Outcome != wire.OutcomeRunning {
		t.Errorf("gui is %+v", gui)
	}
	if now := c.component("gui"); now.Executing != "long" || len(now.Executions) != 1 || now.Executions[0].By != "somebody" || now.Seq != gui.Seq {
		t.Errorf("of gui is shown %+v", now)
	}
	if err := c.ask(&started, http.MethodDelete, "/executions/long", nil); err != nil {
		t.Fatal(err)
	}
	next := c.entries(fmt.Sprintf("%s:%d", unit.Instance, unit.Seq))
	if len(next) != 1 || next[0].Kind != wire.EntryExit || next[0].Execution.ID != "long" || next[0].Seq != unit.Seq+1 {
		t.Errorf("what follows is %+v", next)
	}
	c.write("supervisord.conf", c.read("supervisord.conf")+"; another\n")
	if err := c.call(nil, "supervisor.reloadConfig"); err != nil {
		t.Fatal(err)
	}
	if next := c.entries(fmt.Sprintf("%s:%d", unit.Instance, unit.Seq+1)); len(next) != 1 || next[0].Kind != wire.EntryReload {
		t.Errorf("after a reload there is %+v", next)
	}
	if again := c.entries("now"); again[0].Unit.Digest == unit.Digest {
		t.Error("another configuration has the same digest")
	}
}

// entries reads the journal after a cursor.
func (c *container) entries(after string) []wire.Entry {
	c.t.Helper()
	response, err := c.request(http.MethodGet, "/journal?after="+after, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	var entries []wire.Entry
	for lines := json.NewDecoder(response.Body); ; {
		var e wire.Entry
		if err := lines.Decode(&e); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			c.t.Fatal(err)
		}
		entries = append(entries, e)
	}
	if last := entries[len(entries)-1]; response.Header.Get("Toskose-Cursor") != fmt.Sprintf("%s:%d", last.Instance, last.Seq) {
		c.t.Errorf("the cursor is %s after entry %d", response.Header.Get("Toskose-Cursor"), last.Seq)
	}
	return entries
}

func TestAStopWhileStartingCancelsTheStart(t *testing.T) {
	t.Parallel()
	c := newContainer(t, component("api", map[string]string{
		"start": `echo up > up; sleep 1000 & wait`, "stop": "exit 1",
	}, "startsecs=60 ; longer than the test")).boot()
	start, err := c.execute("api", "start", nil)
	if err != nil {
		t.Fatal(err)
	}
	c.until("up", "up")
	stop := c.run("api", "stop")
	outcome(t, stop, wire.OutcomeSucceeded)
	outcome(t, c.end(start.ID), wire.OutcomeCancelled)
	if api := c.wants("api", "deleted"); len(api.Processes) != 0 || stop.ExitCode != nil {
		t.Errorf("%+v\n%+v", api.Processes, stop)
	}
}

func TestStopProcessOfAStartClosesTheComponent(t *testing.T) {
	t.Parallel()
	c := newContainer(t, component("api", map[string]string{"start": daemon, "stop": "kill $(cat pid)"}, "")).boot()
	if err := c.call(nil, "supervisor.startProcess", "api:start"); err != nil {
		t.Fatal(err)
	}
	c.wants("api", "running")
	fault(t, c.call(nil, "supervisor.startProcess", "api:start"), wire.AlreadyStarted)
	if err := c.call(nil, "supervisor.stopProcess", "api:start"); err != nil {
		t.Fatal(err)
	}
	if api := c.wants("api", "configured"); len(api.Processes) != 0 {
		t.Errorf("processes are left: %+v", api.Processes)
	}
	fault(t, c.call(nil, "supervisor.stopProcess", "api:start"), wire.NotRunning)
}

func TestAStartThatLeavesNoProcessLosesNothing(t *testing.T) {
	t.Parallel()
	c := newContainer(t, component("lib", map[string]string{"start": "true"}, "")).boot()
	outcome(t, c.run("lib", "start"), wire.OutcomeSucceeded)
	c.terminate()
	c.boot()
	c.wants("lib", "running")
	outcome(t, c.run("lib", "stop"), wire.OutcomeSucceeded)
	c.wants("lib", "configured")
}

func TestTheJournalSurvivesARestartAndWhatRanIsLost(t *testing.T) {
	t.Parallel()
	c := newContainer(t, component("api", map[string]string{
		"create": "true", "start": daemon, "stop": "kill $(cat pid)",
	}, "")+component("slow", map[string]string{"create": "echo up > up; exec sleep 1000"}, "")).boot()
	outcome(t, c.run("api", "create"), wire.OutcomeSucceeded)
	outcome(t, c.run("api", "start"), wire.OutcomeSucceeded)
	x, err := c.execute("slow", "create", map[string]any{"id": "cut"})
	if err != nil {
		t.Fatal(err)
	}
	c.until("up", "up")
	_ = c.cmd.Process.Signal(syscall.SIGKILL)
	<-c.exited

	c.boot()
	lost := c.end("cut")
	outcome(t, lost, wire.OutcomeLost)
	if lost.Instance != x.Instance {
		t.Errorf("the instance was %s and is %s", x.Instance, lost.Instance)
	}
	if api := c.wants("api", "created"); !strings.Contains(api.Why, "restarted") {
		t.Errorf("why: %q", api.Why)
	}
	c.wants("slow", "deleted")
	if again, err := c.execute("slow", "create", map[string]any{"id": "cut"}); err != nil || again.Outcome != wire.OutcomeLost {
		t.Errorf("the same id after a restart: %+v, %v", again, err)
	}
}

func TestShutdownReachesEveryProcess(t *testing.T) {
	t.Parallel()
	says := func(name string) string {
		return `trap "echo ` + name + ` >> ended; exit 0" TERM; echo ` + name + ` >> up; while :; do sleep 0.02; done`
	}
	c := newContainer(t, `[program:plain]
command=/bin/sh -c '`+says("plain")+`'
directory=DIR
stdout_logfile=NONE
stopwaitsecs=600
`+component("api", map[string]string{
		"create": `setsid sh daemon.sh </dev/null >/dev/null 2>&1 & true`,
		"start":  says("foreground"),
	}, "")+component("slow", map[string]string{"create": says("operation")}, ""))
	c.write("daemon.sh", says("daemon"))
	c.boot()
	outcome(t, c.run("api", "create"), wire.OutcomeSucceeded)
	outcome(t, c.run("api", "start"), wire.OutcomeSucceeded)
	slow, err := c.execute("slow", "create", nil)
	if err != nil {
		t.Fatal(err)
	}
	everyone := []string{"plain", "daemon", "foreground", "operation"}
	for _, name := range everyone {
		c.until("up", name)
	}
	c.terminate() // which no grace ends before the test gives up
	for _, name := range everyone {
		if !strings.Contains(c.read("ended"), name) {
			t.Errorf("%s got no TERM; those that did:\n%s", name, c.read("ended"))
		}
	}
	if log := c.read("unit.log"); strings.Contains(log, "signal=killed") {
		t.Errorf("KILL was needed:\n%s", log)
	}
	c.boot()
	outcome(t, c.end(slow.ID), wire.OutcomeCancelled)
	if api := c.wants("api", "created"); !strings.Contains(api.Why, "restarted") {
		t.Errorf("why: %q", api.Why)
	}
}

func TestRestartKeepsThePid(t *testing.T) {
	t.Parallel()
	c := newContainer(t, component("api", map[string]string{"start": daemon}, "")).boot()
	outcome(t, c.run("api", "start"), wire.OutcomeSucceeded)
	if err := c.call(nil, "supervisor.restart"); err != nil {
		t.Fatal(err)
	}
	boots := 0
	c.journal(func(e wire.Entry) bool {
		if e.Kind == wire.EntryBoot {
			boots++
		}
		return e.Kind == wire.EntryGone
	})
	c.wants("api", "deleted")
	c.terminate()
}
