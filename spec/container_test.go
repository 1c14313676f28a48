package spec_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
)

// backend is a container with a job, as its unit reads it.
func backend() *spec.Container {
	return &spec.Container{
		Format: spec.FormatVersion, Application: "shop", Node: "backend",
		Job: &spec.Job{Task: spec.JobStep{Component: "load", Operation: "Task.run"}, Input: spec.TaskIndex, Completions: 4, FailOn: []int{3}},
		Components: []spec.Hosted{{
			Name: "load", Protocol: protocol.Task(), Files: "abc",
			Operations: []spec.Program{{
				Operation: protocol.TaskRun, Inputs: map[string]string{"GREETING": "100% ;-) #1"},
				SecretInputs: map[string]string{"KEY": "/run/secrets/key"}, SecretEnvironment: map[string]string{"PASSWORD": "/run/secrets/password"},
			}},
		}},
	}
}

func TestTheDocumentOfAContainerIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	document, err := spec.EncodeContainer(backend())
	if err != nil {
		t.Fatal(err)
	}
	again, err := spec.DecodeContainer(document)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(backend(), again); diff != "" {
		t.Error(diff)
	}
	if p := again.Program("load", protocol.TaskRun); p == nil || p.Inputs["GREETING"] != "100% ;-) #1" {
		t.Errorf("Task.run is %+v", p)
	}
	if p := again.Program("api", protocol.TaskRun); p != nil {
		t.Errorf("Task.run of another component is %+v", p)
	}
}

// TestEveryProblemOfAContainerIsReported by changing one thing in a valid document.
func TestEveryProblemOfAContainerIsReported(t *testing.T) {
	t.Parallel()
	program := func(c *spec.Container) *spec.Program { return &c.Components[0].Operations[0] }
	for want, change := range map[string]func(*spec.Container){
		"a component has no name":         func(c *spec.Container) { c.Components[0].Name = "" },
		`component "load" is there twice`: func(c *spec.Container) { c.Components = append(c.Components, c.Components[0]) },
		`component "load": protocol: initial names state "off", which the protocol does not have`: func(c *spec.Container) { c.Components[0].Protocol.Initial = "off" },
		`component "load": operation "Task.run" is there twice`: func(c *spec.Container) {
			c.Components[0].Operations = append(c.Components[0].Operations, c.Components[0].Operations[0])
		},
		`component "load": operation "Task.run": input "A=B": no variable can have this name`:               func(c *spec.Container) { program(c).Inputs["A=B"] = "" },
		`component "load": operation "Task.run": input "A": its value has a zero byte`:                      func(c *spec.Container) { program(c).Inputs["A"] = "a\x00" },
		`component "load": operation "Task.run": secret input "KEY": the path of its file is not absolute`:  func(c *spec.Container) { program(c).SecretInputs["KEY"] = "key" },
		`component "load": operation "Task.run": secret variable "B": the path of its file is not absolute`: func(c *spec.Container) { program(c).SecretEnvironment["B"] = "b" },
		`component "load": operation "Task.run": input "GREETING" is secret, too`:                           func(c *spec.Container) { program(c).SecretInputs["GREETING"] = "/a" },
		"the job has 0 completions, which is not between 1 and 32":                                          func(c *spec.Container) { c.Job.Completions = 0 },
	} {
		c := backend()
		change(c)
		err := c.Validate()
		if err == nil || !strings.Contains("\n"+err.Error()+"\n", "\n"+want+"\n") {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}
