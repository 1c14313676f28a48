package main_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/spec/protocol"
)

// jobOf returns a container that is there for one Task, whose operations run shell
// scripts; more is added to the job.
func jobOf(t *testing.T, create, run, more string) *container {
	t.Helper()
	encoded, err := json.Marshal(protocol.Task())
	if err != nil {
		t.Fatal(err)
	}
	sections := fmt.Sprintf("[toskose:component:task]\ntoskose_protocol=%s\n[group:task]\nprograms=task.create,task.run\n", encoded)
	for _, p := range [][4]string{{"create", "Standard", create, "{}"}, {"run", "Task", run, `{"TASK_INDEX":"0"}`}} {
		sections += fmt.Sprintf("[program:task.%s]\nprocess_name=%s\ncommand=/bin/sh -c '%s'\ndirectory=DIR\nautostart=false\nautorestart=false\n"+
			"startretries=0\ntoskose_component=task\ntoskose_interface=%s\ntoskose_operation=run\ntoskose_inputs=%s\n", p[0], p[0], p[2], p[1], p[3])
	}
	c := newContainer(t, sections)
	const job = `toskose_job={"steps":[{"component":"task","operation":"Standard.create"}],"task":{"component":"task","operation":"Task.run"},"input":"TASK_INDEX"`
	c.write("supervisord.conf", strings.Replace(c.read("supervisord.conf"), "nodaemon=true", "nodaemon=true\n"+job+more+"}", 1))
	return c
}

const (
	createdOnce = `echo created >> ran`
	ranIndex    = `echo $INPUT_TASK_INDEX >> ran`
)

func TestAContainerRunsItsJobAndEndsWithIt(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		create, run, more string
		env               []string
		code              int
		ran               string
	}{
		"one":                   {createdOnce, ranIndex, `,"completions":1`, nil, 0, "created 0"},
		"several":               {createdOnce, ranIndex, `,"completions":3`, nil, 0, "created 0 1 2"},
		"the one of a pod":      {createdOnce, ranIndex, `,"completions":3`, []string{"JOB_COMPLETION_INDEX=2"}, 0, "created 2"},
		"a failure":             {createdOnce, ranIndex + `; [ $INPUT_TASK_INDEX != 1 ] || exit 7`, `,"completions":3`, nil, 7, "created 0 1"},
		"a signal":              {createdOnce, ranIndex + `; kill -9 $$`, `,"completions":3`, nil, 137, "created 0"},
		"a failure before":      {createdOnce + `; exit 9`, ranIndex, `,"completions":3`, nil, 9, "created"},
		"longer than it may be": {createdOnce, ranIndex + `; while :; do sleep 0.02; done`, `,"completions":3,"deadline":1`, nil, 124, "created 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			unit := jobOf(t, tt.create, tt.run, tt.more)
			unit.env = tt.env
			unit.launch()
			if code := unit.ends(); code != tt.code {
				t.Errorf("it ends with %d, want %d:\n%s", code, tt.code, unit.read("unit.log"))
			}
			if diff := cmp.Diff(tt.ran, strings.Join(strings.Fields(unit.read("ran")), " ")); diff != "" {
				t.Errorf("what ran (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAJobGoesOnInARestartedContainer fails twice, is stopped once, and repeats nothing
// that was completed.
func TestAJobGoesOnInARestartedContainer(t *testing.T) {
	t.Parallel()
	unit := jobOf(t, createdOnce, ranIndex+`; [ $INPUT_TASK_INDEX != 1 ] || . ./how`, `,"completions":3`)
	for _, life := range []struct {
		how  string
		code int
	}{{"exit 4", 4}, {"exit 5", 5}, {"while :; do sleep 0.02; done", 143}, {"exit 0", 0}, {"exit 6", 0}} {
		unit.write("how", life.how)
		if unit.launch(); life.code == 143 {
			unit.until("ran", "created\n0\n1\n1\n1")
			if err := unit.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}
		if code := unit.ends(); code != life.code {
			t.Errorf("with %s it ends with %d, want %d:\n%s", life.how, code, life.code, unit.read("unit.log"))
		}
	}
	if diff := cmp.Diff("created 0 1 1 1 1 2", strings.Join(strings.Fields(unit.read("ran")), " ")); diff != "" {
		t.Errorf("what ran (-want +got):\n%s", diff)
	}
}

func TestAnExitCodeThatIsFinalIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	unit := jobOf(t, createdOnce, ranIndex+`; exit 3`, `,"completions":2,"fail_on":[3]`)
	for range 2 {
		unit.launch()
		if code := unit.ends(); code != 3 {
			t.Errorf("it ends with %d", code)
		}
	}
	if ran := unit.read("ran"); ran != "created\n0\n" {
		t.Errorf("it ran %q", ran)
	}
}
