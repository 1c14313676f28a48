package main_test

import (
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/unit/wire"
)

// ends waits until the container has ended, and gives its exit code.
func (c *container) ends() int {
	c.t.Helper()
	select {
	case <-c.exited:
	case <-time.After(patience):
		c.t.Fatal("the unit did not end")
	}
	return c.cmd.ProcessState.ExitCode()
}

const untilGo = `while [ ! -e go ]; do sleep 0.02; done`

// neighbour is a program that takes leave when it is stopped.
const neighbour = `[program:neighbour]
command=/bin/sh -c 'trap "echo bye > bye; exit 0" TERM; echo up > neighbour; while :; do sleep 0.02; done'
directory=DIR
startsecs=0
`

func TestAContainerEndsWithItsEssentialProgram(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command, keys string
		code          int
	}{
		"exit 0":          {`/bin/sh -c 'WAIT; exit 0'`, "autorestart=false", 0},
		"exit 7":          {`/bin/sh -c 'WAIT; exit 7'`, "autorestart=false", 7},
		"an expected 9":   {`/bin/sh -c 'WAIT; exit 9'`, "exitcodes=9", 9},
		"SIGKILL":         {`/bin/sh -c 'WAIT; kill -9 $$'`, "autorestart=false", 137},
		"SIGTERM":         {`/bin/sh -c 'WAIT; kill -15 $$'`, "autorestart=false", 143},
		"too quickly":     {`/bin/sh -c 'WAIT; exit 3'`, "startsecs=100", 3},
		"quickly, with 0": {`/bin/sh -c 'WAIT; exit 0'`, "startsecs=100", 1},
		"not executable":  {"DIR/garbage", "autorestart=false", 127},
		"never ready":     {`/bin/sh -c 'trap "exit 0" TERM; while :; do sleep 0.02; done'`, "toskose_ready_log=never\ntoskose_ready_timeout=0.2", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			unit := newContainer(t, neighbour+plain("vital", strings.ReplaceAll(c.command, "WAIT", untilGo), "toskose_essential=true\n"+c.keys))
			unit.write("garbage", "no program")
			unit.boot()
			unit.until("neighbour", "up")
			if err := unit.call(nil, "supervisor.startProcess", "vital", false); err != nil {
				t.Fatal(err)
			}
			unit.write("go", "")
			if code := unit.ends(); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			if unit.read("bye") != "bye\n" {
				t.Error("the neighbour was not stopped")
			}
		})
	}
}

func TestAContainerEndsWithWhatAnEssentialStartLeft(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		code   int
	}{
		"in the foreground": {untilGo + `; exit 5`, 5},
		"as a daemon":       {`setsid sh -c "` + untilGo + `; exit 6" & echo`, 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			unit := newContainer(t, neighbour+component("api", map[string]string{"start": c.script, "create": "exit 0"}, "")+
				"[program:api.start]\ntoskose_essential=true\n").boot()
			unit.until("neighbour", "up")
			outcome(t, unit.run("api", "create"), wire.OutcomeSucceeded) // ends, and is not essential
			outcome(t, unit.run("api", "start"), wire.OutcomeSucceeded)
			unit.write("go", "")
			if code := unit.ends(); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			if unit.read("bye") != "bye\n" {
				t.Error("the neighbour was not stopped")
			}
		})
	}
}

func TestAnEssentialProgramMayBeStoppedAndRestarted(t *testing.T) {
	t.Parallel()
	c := newContainer(t, plain("vital", `/bin/sh -c 'echo up >> up; `+untilGo+`; rm go; exit 3'`, "toskose_essential=true")).boot()
	for i, call := range []string{"supervisor.startProcess", "supervisor.stopProcess", "supervisor.startProcess"} {
		if err := c.call(nil, call, "vital"); err != nil {
			t.Fatal(err)
		}
		c.until("up", strings.Repeat("up\n", 1+i/2))
	}
	c.write("go", "") // it exits with 3, which is unexpected, so it is started again
	c.until("up", "up\nup\nup\n")
	if info := c.untilState("vital", wire.Running); info.PID == 0 {
		t.Errorf("%+v", info)
	}
	c.terminate()
}
