package main_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toskose/toskose/unit/wire"
)

func (c *container) info(name string) wire.ProcessInfo {
	c.t.Helper()
	var info wire.ProcessInfo
	if err := c.call(&info, "supervisor.getProcessInfo", name); err != nil {
		c.t.Fatal(err)
	}
	return info
}

func TestASecretInputIsReadWhenTheOperationStarts(t *testing.T) {
	t.Parallel()
	c := newContainer(t, component("api", map[string]string{"create": `echo "$INPUT_TOKEN" > got; env | grep -c "^INPUT_"`},
		`toskose_secret_inputs={"TOKEN":"DIR/token"}`)).boot()
	missing := c.run("api", "create")
	outcome(t, missing, wire.OutcomeFailed)
	if !strings.Contains(missing.Reason, "TOKEN") {
		t.Errorf("reason: %q", missing.Reason)
	}
	c.write("token", "s3cret\n")
	outcome(t, c.run("api", "create"), wire.OutcomeSucceeded)
	if got := c.read("got"); got != "s3cret\n" {
		t.Errorf("the operation got %q", got)
	}
	journal, _ := filepath.Glob(filepath.Join(c.dir, "journal", "*"))
	for _, file := range append(journal, filepath.Join(c.dir, "unit.log")) {
		name, _ := filepath.Rel(c.dir, file)
		if strings.Contains(c.read(name), "s3cret") {
			t.Errorf("%s has the secret", name)
		}
	}
}

func TestAnOperationSeesItsOwnInputsOnly(t *testing.T) {
	t.Parallel()
	c := newContainer(t, component("api", map[string]string{"create": `env | grep "^INPUT_" | sort > got; echo "$OTHER" >> got`},
		`toskose_inputs={"PORT":"80"}`))
	c.env = []string{"INPUT_PORT=81", "INPUT_HOME=/elsewhere", "OTHER=seen"}
	c.boot()
	outcome(t, c.run("api", "create"), wire.OutcomeSucceeded)
	if got := c.read("got"); got != "INPUT_PORT=80\nseen\n" {
		t.Errorf("the operation got %q", got)
	}
}

func TestASecretVariableIsTheConfigurationsAlone(t *testing.T) {
	t.Parallel()
	c := newContainer(t, component("api", map[string]string{"create": `echo "$TOKEN" > got`},
		`toskose_secret_environment={"TOKEN":"DIR/token"}`)).boot()
	missing := c.run("api", "create")
	outcome(t, missing, wire.OutcomeFailed)
	if !strings.Contains(missing.Reason, `the secret variable "TOKEN"`) {
		t.Errorf("reason: %q", missing.Reason)
	}
	c.write("token", "s3cret\n")
	if _, err := c.execute("api", "create", map[string]any{"inputs": map[string]string{"TOKEN": "mine"}}); err == nil {
		t.Error("whoever executes may set it")
	}
	outcome(t, c.run("api", "create"), wire.OutcomeSucceeded)
	if got := c.read("got"); got != "s3cret\n" {
		t.Errorf("the operation got %q", got)
	}
}

func TestAnUnimplementedStopEndsWhatStartLeft(t *testing.T) {
	t.Parallel()
	c := newContainer(t, component("api", map[string]string{"start": daemon}, "")).boot()
	outcome(t, c.run("api", "start"), wire.OutcomeSucceeded)
	stop := c.run("api", "stop")
	outcome(t, stop, wire.OutcomeSucceeded)
	if api := c.wants("api", "configured"); len(api.Processes) != 0 || !strings.Contains(stop.Reason, "no implementation") {
		t.Errorf("%+v: %q", api.Processes, stop.Reason)
	}
}

func TestAFailedStartLeavesNoProcess(t *testing.T) {
	t.Parallel()
	c := newContainer(t, component("api", map[string]string{"start": daemon + "; exit 3"}, "")).boot()
	start := c.run("api", "start")
	outcome(t, start, wire.OutcomeFailed)
	if api := c.wants("api", "deleted"); len(api.Processes) != 0 || !strings.Contains(start.Reason, "left processes") {
		t.Errorf("%+v: %q", api.Processes, start.Reason)
	}
}

func TestAStopOfAProgramTakesWhatItDaemonised(t *testing.T) {
	t.Parallel()
	c := newContainer(t, `[program:cat]
command=/bin/sh -c 'setsid sleep 1000 & exec cat'
stdout_logfile=DIR/cat.log
startsecs=0
autostart=false
`).boot()
	if err := c.call(nil, "supervisor.startProcess", "cat"); err != nil {
		t.Fatal(err)
	}
	if info := c.info("cat"); info.State != wire.Running {
		t.Errorf("cat: %+v", info)
	}
	if err := c.call(nil, "supervisor.sendProcessStdin", "cat", "meow\n"); err != nil {
		t.Fatal(err)
	}
	c.until("cat.log", "meow")
	if err := c.call(nil, "supervisor.stopProcess", "cat"); err != nil {
		t.Fatal(err)
	}
	if info := c.info("cat"); info.State != wire.Stopped || info.PID != 0 || info.ExitStatus != -1 {
		t.Errorf("cat: %+v", info)
	}
	if s := c.snapshot(); len(s.Unclaimed) != 0 || s.Labels["host"] != "h1" {
		t.Errorf("%+v", s)
	}
}

func TestSupervisorctlDrivesTheUnit(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("supervisorctl"); err != nil {
		t.Skip("supervisorctl is not installed (Debian package supervisor)")
	}
	c := newContainer(t, "[program:cat]\ncommand=cat\nstartsecs=0\nautostart=false\n[program:missing]\ncommand=/nowhere\nautostart=false\n").boot()
	c.write("ctl.conf", "[supervisorctl]\nserverurl=http://"+c.address()+"\nusername=admin\npassword=secret\n")
	for _, step := range []struct{ command, says string }{
		{"status cat", "Not started"},
		{"start cat", "cat: started"},
		{"status cat", "RUNNING"},
		{"stop cat", "cat: stopped"},
		{"stop cat", "not running"},
		{"start missing", "no such file"},
		{"start cat", "cat: started"},
		{"restart cat", "cat: started"},
		{"signal USR1 none", "no such process"},
		{"avail", "cat"},
		{"pid", "\n"},
		{"clear all", "cleared"},
		{"shutdown", "Shut down"},
	} {
		args := append([]string{"-c", filepath.Join(c.dir, "ctl.conf")}, strings.Fields(step.command)...)
		out, _ := exec.Command("supervisorctl", args...).CombinedOutput()
		if !strings.Contains(string(out), step.says) {
			t.Errorf("%s says %q, not %q", step.command, out, step.says)
		}
	}
	<-c.exited
}
