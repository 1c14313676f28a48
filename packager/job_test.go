package packager_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/internal/sample"
	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/packager/output"
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
)

// tasks has a Task in a container of its own, hosted on a tool that is only installed.
func tasks(t *testing.T) *spec.Application {
	t.Helper()
	app := sample.App()
	script := app.Components[1].Interfaces[0].Operations[0].Script
	for _, o := range app.Components[1].Interfaces[0].Operations {
		if o.Script != "" {
			script = o.Script
		}
	}
	operations := func(of string, names ...string) (all spec.Interface) {
		all.Name = of
		for _, name := range names {
			all.Operations = append(all.Operations, spec.Operation{Name: name, Script: script})
		}
		return all
	}
	app.Nodes = append(app.Nodes, spec.Node{Name: "toolbox", Type: "tosker.nodes.Container", Image: app.Nodes[0].Image, Protocol: protocol.Container()})
	app.Components = append(app.Components,
		spec.Component{
			Name: "tool", Type: "tosker.nodes.Software", Host: "toolbox", Node: "toolbox", Protocol: protocol.Software(),
			Interfaces: []spec.Interface{operations("Standard", "create")},
		},
		spec.Component{
			Name: "migrate", Type: "toskose.nodes.Task", Host: "tool", Node: "toolbox", Protocol: protocol.Task(),
			Interfaces: []spec.Interface{operations("Standard", "configure"), operations("Task", "run")},
			Task:       &spec.Task{Completions: 3, Parallelism: 2, BackoffLimit: 4, Deadline: 60, Rerun: spec.RerunReplaced, FailOn: []int{3, 64}},
		})
	app.Groups = append(app.Groups, spec.Group{Name: "all", Members: []string{"migrate", "tool", "toolbox"}})
	return app
}

func asJob() config.Config {
	return config.Config{Nodes: map[string]config.Node{"toolbox": {Job: true}}}
}

func TestAContainerOfOneTaskIsRunWithoutTheManager(t *testing.T) {
	t.Parallel()
	p := plan(t, tasks(t), asJob())
	job := readByTheUnit(t, p, "toolbox").Supervisord.Job
	want := &spec.Job{
		Steps: []spec.JobStep{{Component: "tool", Operation: "Standard.create"}, {Component: "migrate", Operation: "Standard.configure"}},
		Task:  spec.JobStep{Component: "migrate", Operation: "Task.run"}, Input: "TASK_INDEX", Completions: 3, Deadline: 60, FailOn: []int{3, 64},
	}
	if diff := cmp.Diff(want, job); diff != "" {
		t.Errorf("the unit's job (-want +got):\n%s", diff)
	}
	s := service(t, p, "toolbox")
	if r := s.Deploy.RestartPolicy; s.Job == nil || s.Job.Name != "migrate" || r.Condition != "on-failure" || *r.MaxAttempts != 4 {
		t.Errorf("the service is %+v, restarted %+v", s.Job, r)
	}
	model := fileOf(t, image(t, p, ""), func(f packager.File) bool { return strings.HasSuffix(f.Path, "/app.json") })
	var app spec.Application
	if err := json.Unmarshal([]byte(model), &app); err != nil {
		t.Fatal(err)
	}
	for _, c := range app.Components {
		if c.Node == "toolbox" {
			t.Errorf("the manager knows component %q", c.Name)
		}
	}
	for _, n := range app.Nodes {
		var want []string
		if n.Name == "toolbox" {
			want = []string{"tool", "migrate"}
		}
		if !cmp.Equal(n.Job, want) {
			t.Errorf("what the manager knows of the job of %q is %q", n.Name, n.Job)
		}
	}
	if members := app.Groups[len(app.Groups)-1].Members; !cmp.Equal(members, []string{"toolbox"}) {
		t.Errorf("the manager's group has %q", members)
	}
	if readByTheUnit(t, plan(t, tasks(t), config.Config{}), "toolbox").Supervisord.Job != nil {
		t.Error("it has a job that nobody asked for")
	}
}

func TestWhatOnlyTheManagerCanRunIsNoJob(t *testing.T) {
	t.Parallel()
	two := 2
	for want, change := range map[string]func(app *spec.Application, cfg *config.Node){
		`it hosts 2 Tasks instead of one`: func(app *spec.Application, _ *config.Node) {
			other := app.Components[4]
			other.Name = "other"
			app.Components = append(app.Components, other)
		},
		`it hosts 0 Tasks instead of one`: func(app *spec.Application, _ *config.Node) { app.Components[4].Task = nil },
		`each of 2 replicas would run the whole Task "migrate": leave out deploy.replicas`: func(_ *spec.Application, cfg *config.Node) {
			cfg.Deploy.Replicas = &two
		},
		`it also hosts component "tool", which the manager must run: it may only host Task "migrate" and the hosts of that`: func(app *spec.Application, _ *config.Node) {
			app.Components[4].Host = "toolbox"
		},
		`component "tool" is started, so the manager must run it`: func(app *spec.Application, _ *config.Node) {
			app.Components[3].Interfaces[0].Operations[0].Name = "start"
		},
		`component "api" depends on "migrate", so the manager must run it`: func(app *spec.Application, _ *config.Node) {
			app.Components[0].Depends = []string{"migrate"}
		},
		`component "migrate" depends on "api", which may not be up when the container starts, so the manager must run it`: func(app *spec.Application, _ *config.Node) {
			app.Components[4].Connections = []string{"api"}
		},
		`the protocol of Task "migrate" leads from "deleted" to no Task.run`: func(app *spec.Application, _ *config.Node) {
			app.Components[4].Protocol.Transitions = nil
		},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			app, node := tasks(t), config.Node{Job: true}
			change(app, &node)
			_, err := packager.New(app, sample.Archive(), config.Config{Nodes: map[string]config.Node{"toolbox": node}}, packager.Options{AllowHost: sample.Host, Version: "1.0"})
			if want := `container "toolbox": nodes.toolbox.job: ` + want; err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}

// Who deploys waits for the units that the manager operates: that of a job ends.
func TestNobodyWaitsForTheUnitOfAJob(t *testing.T) {
	t.Parallel()
	for job, cfg := range map[bool]config.Config{true: asJob(), false: {}} {
		nodes := output.InfoOf(plan(t, tasks(t), cfg), "toskose-manager").Nodes
		if slices.Contains(nodes, "toolbox") == job || !slices.Contains(nodes, "backend") {
			t.Errorf("job: %v, and waited for is %v", job, nodes)
		}
	}
}

func TestAJobWithoutAnotherAttemptIsNeverRestarted(t *testing.T) {
	t.Parallel()
	app := tasks(t)
	app.Components[4].Task.BackoffLimit = 0
	if r := service(t, plan(t, app, asJob()), "toolbox").Deploy.RestartPolicy; r.Condition != "none" || r.MaxAttempts != nil {
		t.Errorf("it is restarted %+v", r)
	}
}
