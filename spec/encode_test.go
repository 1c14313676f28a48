package spec_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
)

// shop is an application that uses most of the document.
func shop() *spec.Application {
	return &spec.Application{
		Format: spec.FormatVersion, Name: "shop", Goal: spec.GoalUp,
		Nodes: []spec.Node{
			{Name: "backend", Type: "Container", Image: spec.Image{Kind: spec.ImageBase, Name: "python:3"}, Protocol: protocol.Container().Hosting(), Alias: "back", MaxUnavailable: 2, Unit: &spec.Unit{Port: 9001, User: "admin", Digest: "abc"}},
			{Name: "store", Type: "Container", Image: spec.Image{Kind: spec.ImageService, Name: "redis:7"}, Protocol: protocol.Container(), Storage: []spec.Storage{{Volume: "data", Location: "/data"}}},
		},
		Components: []spec.Component{
			{
				Name: "api", Type: "Software", Host: "backend", Node: "backend", Connections: []string{"store"}, Protocol: protocol.Software(),
				Interfaces: []spec.Interface{{Name: "Standard", Operations: []spec.Operation{{Name: "start", Script: "start.sh"}}}},
				Policy:     &spec.Policy{Stable: spec.Duration(time.Minute), Attempts: map[string]int{"Standard.start": 3}, TakeDown: []string{"connection"}, Live: []string{"connection"}},
			},
			{
				Name: "load", Type: "Task", Host: "api", Node: "backend", Protocol: protocol.Task(), Named: []spec.Requirement{{Name: "db", Class: protocol.Connection, Target: "store"}},
				Interfaces: []spec.Interface{{Name: "Task", Operations: []spec.Operation{{Name: "run", Script: "run.sh"}}}},
				Task:       &spec.Task{Completions: 4, Parallelism: 2, Rerun: spec.RerunNever},
			},
		},
		Volumes: []spec.Volume{{Name: "data", Type: "Volume", Protocol: protocol.Volume()}},
		Groups:  []spec.Group{{Name: "front", Members: []string{"api", "store"}}},
	}
}

func TestADocumentIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	document, err := spec.Encode(shop())
	if err != nil {
		t.Fatal(err)
	}
	again, err := spec.Decode(document)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(shop(), again); diff != "" {
		t.Error(diff)
	}
}

func TestADocumentOfAnotherFormatIsRefused(t *testing.T) {
	t.Parallel()
	for document, want := range map[string]string{
		`{"name": "shop"}`:                 `there is no "format" in it: this version reads documents of format 1; package the application again with this version of toskose`,
		`{"format": 2, "name": "shop"}`:    "it has format 2, and this version reads format 1: package the application again with this version of toskose, or run it with the version that packaged it",
		`{"format": "1"}`:                  `line 1: "format" cannot be a string`,
		"{\n\"format\": 1,\n\"nodes\": 3}": `line 3: "nodes" cannot be a number`,
		"{\n\"format\": 1,,\n}":            "line 2: it is not valid JSON: invalid character ',' looking for beginning of object key string",
		`{"format": 1, "nods": []}`:        `unknown field "nods"`,
		`{"format": 1} {}`:                 "line 1: it is not valid JSON: invalid character '{' after top-level value",
	} {
		if _, err := spec.Decode([]byte(document)); err == nil || err.Error() != want {
			t.Errorf("%s\ngot  %v\nwant %s", document, err, want)
		}
	}
}

// TestEveryProblemIsReported by changing one thing in a valid application.
func TestEveryProblemIsReported(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*spec.Application){
		"the application has no name":              func(a *spec.Application) { a.Name = "" },
		`the goal "down" is not "up"`:              func(a *spec.Application) { a.Goal = "down" },
		"a volume has no name":                     func(a *spec.Application) { a.Volumes[0].Name = "" },
		`component "store" has the name of a node`: func(a *spec.Application) { a.Components[0].Name = "store" },
		`node "store": storage names "dat", which the application does not have (did you mean "data"?)`: func(a *spec.Application) { a.Nodes[1].Storage[0].Volume = "dat" },
		`node "backend": max_unavailable is -1, and cannot be negative`:                                 func(a *spec.Application) { a.Nodes[0].MaxUnavailable = -1 },
		`node "backend": the port 70000 of its unit is not between 1 and 65535`:                         func(a *spec.Application) { a.Nodes[0].Unit.Port = 70000 },
		`node "backend": its unit has no user`:                                                          func(a *spec.Application) { a.Nodes[0].Unit.User = "" },
		`node "store": protocol: initial names state "off", which the protocol does not have`:           func(a *spec.Application) { a.Nodes[1].Protocol.Initial = "off" },
		`node "backend" is attached, but the application does not say how to reach its unit: set "unit" of the node`: func(a *spec.Application) {
			a.Nodes[0].Attached, a.Nodes[0].Unit = &spec.Attached{}, nil
		},
		`node "backend": requires of program "web" names "stor", which the application does not have (did you mean "store"?)`: func(a *spec.Application) {
			a.Nodes[0].Attached = &spec.Attached{Requires: map[string][]string{"web": {"backend/db", "stor"}}}
		},
		`node "backend": requires of program "web" names "store/db", and node "store" has no programs: only attached nodes have`: func(a *spec.Application) {
			a.Nodes[0].Attached = &spec.Attached{Requires: map[string][]string{"web": {"store", "store/db"}}}
		},
		`component "api": node "backend" is attached, and has the programs of its unit as components`: func(a *spec.Application) {
			a.Nodes[0].Attached = &spec.Attached{}
		},
		`component "api": node names "data", which the application does not have`:                                       func(a *spec.Application) { a.Components[0].Node = "data" },
		`component "load": its node is "store", but its hosts lead to "backend"`:                                        func(a *spec.Application) { a.Components[1].Node = "store" },
		`component "api": its node is "backend", but its hosts lead to ""`:                                              func(a *spec.Application) { a.Components[0].Host = "load" },
		`component "api": connections names "shop", which the application does not have`:                                func(a *spec.Application) { a.Components[0].Connections[0] = "shop" },
		`component "load": requirement "db" names "stor", which the application does not have (did you mean "store"?)`:  func(a *spec.Application) { a.Components[1].Named[0].Target = "stor" },
		`component "load": requirement "db" has the class "link", which is not host, connection, dependency or storage`: func(a *spec.Application) { a.Components[1].Named[0].Class = "link" },
		`component "api": an operation or its interface has no name`: func(a *spec.Application) {
			a.Components[0].Interfaces[0].Operations = append(a.Components[0].Interfaces[0].Operations, spec.Operation{})
		},
		`component "api": operation "Standard.start" is there twice`: func(a *spec.Application) {
			a.Components[0].Interfaces = append(a.Components[0].Interfaces, a.Components[0].Interfaces[0])
		},
		`component "load": its task has 33 completions, which is not between 1 and 32`:                   func(a *spec.Application) { a.Components[1].Task.Completions = 33 },
		`component "load": its task has a parallelism of 0, which is less than 1`:                        func(a *spec.Application) { a.Components[1].Task.Parallelism = 0 },
		`component "load": its task has a negative backoff_limit or deadline`:                            func(a *spec.Application) { a.Components[1].Task.Deadline = -1 },
		`component "load": rerun of its task is "", which is neither "replaced" nor "never"`:             func(a *spec.Application) { a.Components[1].Task.Rerun = "" },
		`component "api": its policy has a negative duration`:                                            func(a *spec.Application) { a.Components[0].Policy.MaxDelay = -1 },
		`component "api": its policy has 17 attempts of "Standard.start", which is not between 1 and 16`: func(a *spec.Application) { a.Components[0].Policy.Attempts["Standard.start"] = 17 },
		`component "api": its policy names operation "Standard.go", which the component does not have`:   func(a *spec.Application) { a.Components[0].Policy.Attempts["Standard.go"] = 1 },
		`unit "front": members names "apo", which the application does not have (did you mean "api"?)`:   func(a *spec.Application) { a.Groups[0].Members[0] = "apo" },
	} {
		app := shop()
		change(app)
		err := app.Validate()
		if err == nil || !strings.Contains("\n"+err.Error()+"\n", "\n"+want+"\n") {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	if err := shop().Validate(); err != nil {
		t.Error(err)
	}
}
