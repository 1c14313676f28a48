// Package sample holds an application for the packager's tests, with a little
// of everything that a model can have, and the comparison with golden files.
package sample

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
)

var update = flag.Bool("update", false, "rewrite golden files")

// Golden compares got with testdata/NAME, or rewrites that with -update.
func Golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (-update writes it)", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", path, diff)
	}
}

// Archive is the application's files.
func Archive() fstest.MapFS {
	script := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text), Mode: 0o644} }
	return fstest.MapFS{
		"shop.yaml":                 script("tosca_definitions_version: tosca_simple_yaml_1_0\n"),
		"api/install.sh":            script("#!/bin/sh\n. \"$(dirname \"$0\")/lib/common.sh\"\n"),
		"api/start.sh":              script("exec nc -l -p \"$INPUT_PORT\"\n"),
		"api/lib/common.sh":         script("set -e\n"),
		"api/lib/tool":              {Data: []byte("\x7fELF…"), Mode: 0o644},
		"api/push 100%; done.sh":    script("#!/bin/sh\n"),
		"data/defaults.csv":         script("a,b\n"),
		"docs/readme.txt":           script("unused\n"),
		"viewer.sh":                 script("#!/bin/sh\n"),
		"gui/start.sh":              {Data: []byte("echo no shebang\n"), Mode: 0o755},
		"TOSCA-Metadata/TOSCA.meta": script("CSAR-Version: 1.1\n"),
	}
}

// Host are the paths of its host that App uses.
var Host = []string{"/srv"}

// App is the application: two toskosed containers, a standalone one, a volume.
func App() *spec.Application {
	return &spec.Application{
		Name: "My Shop", Version: "1.0",
		Nodes: nodes(), Components: components(),
		Volumes: []spec.Volume{{Name: "dbvolume", Options: map[string]string{"driver": "local", "type": "tmpfs"}}},
	}
}

func nodes() []spec.Node {
	return []spec.Node{
		{
			Name: "backend", Image: spec.Image{Kind: spec.ImageBase, Name: "python:3.11-slim"},
			Ports:   []spec.Port{{Container: 8000, Host: 8080, Protocol: "tcp"}, {Container: 9001, Protocol: "tcp"}},
			Env:     map[string]string{"MODE": "yes", "PRICE": "$5 \"net\""},
			Shares:  []spec.Share{{Container: "/etc/shop", Host: "/srv/shop"}},
			Command: "sleep infinity",
		},
		{
			Name: "frontend", Image: spec.Image{Kind: spec.ImageBase, Name: "registry.example:5000/team/web@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"},
			Ports: []spec.Port{{Container: 53, Host: 5353, Protocol: "udp"}}, Depends: []string{"backend"},
		},
		{
			Name: "store", Image: spec.Image{Kind: spec.ImageService, Name: "redis:7"},
			Command: `redis-server --requirepass 'a $b'`,
			Storage: []spec.Storage{{Volume: "dbvolume", Location: "/data"}},
		},
	}
}

func components() []spec.Component {
	standard := []protocol.Transition{
		{Source: "deleted", Target: "created", Operation: protocol.Operation{Interface: "Standard", Name: "create"}},
		{Source: "created", Target: "running", Operation: protocol.Operation{Interface: "Standard", Name: "start"}},
		{Source: "running", Target: "created", Operation: protocol.Operation{Interface: "Standard", Name: "stop"}},
	}
	usual := protocol.Protocol{
		Initial:     "deleted",
		States:      []protocol.State{{Name: "created"}, {Name: "deleted"}, {Name: "running"}},
		Transitions: standard,
	}
	return []spec.Component{
		{
			Name: "api", Host: "backend", Node: "backend", Connections: []string{"store"},
			Artifacts: []spec.Artifact{{Name: "defaults", Path: "data/defaults.csv"}},
			Interfaces: []spec.Interface{
				{Name: "Standard", Operations: []spec.Operation{
					{Name: "configure"},
					{Name: "create", Script: "api/install.sh", Inputs: []spec.OperationInput{{Name: "port", Value: "8000"}}},
					{Name: "start", Script: "api/start.sh", Inputs: []spec.OperationInput{{Name: "port", Value: "8000"}, {Name: "greeting", Value: "100% ;-) #1"}}},
				}},
				{Name: "api_interface", Operations: []spec.Operation{
					{Name: "push_default", Script: "api/push 100%; done.sh", Timeout: 60, Inputs: []spec.OperationInput{
						{Name: "file", Artifact: "data/defaults.csv", Owner: "api"},
						{Name: "url", Parts: []spec.InputPart{{Text: "file://"}, {Artifact: "data/defaults.csv", Owner: "api"}}},
					}},
					{Name: "start", Script: "api/start.sh"},
				}},
			},
			Protocol: protocol.Protocol{
				Initial: "deleted", States: usual.States, Transitions: standard,
				FaultHandlers: []protocol.FaultHandler{{Source: "running", Target: "created"}},
			},
		},
		{
			Name: "gui", Host: "frontend", Node: "frontend", Connections: []string{"api"},
			Interfaces: []spec.Interface{{Name: "Standard", Operations: []spec.Operation{
				{Name: "start", Script: "gui/start.sh", Inputs: []spec.OperationInput{{Name: "defaults", Artifact: "data/defaults.csv", Owner: "api"}}},
			}}},
			Protocol: usual,
		},
		{
			Name: "viewer", Host: "api", Node: "backend", Depends: []string{"gui"},
			Interfaces: []spec.Interface{{Name: "Standard", Operations: []spec.Operation{
				{Name: "start", Script: "viewer.sh", Inputs: []spec.OperationInput{{Name: "port", Value: "8000"}, {Name: "greeting", Value: "hello"}, {Name: "level", Value: "3"}}},
			}}},
			Protocol: usual,
		},
	}
}

// Everything returns App with one more container and volume, whose names some targets do not
// allow, and a configuration that uses every key of toskose.yml. Secret values start with "hush".
func Everything() (*spec.Application, config.Config) {
	app := App()
	app.Inputs = []spec.Input{{Name: "key", Type: "string", Value: "hush-input"}, {Name: "salt", Type: "string", Value: "hush-one"}}
	app.Nodes[0].Env["DB_PASSWORD"] = "hush-variable"
	for i, salt := range []string{"", "hush-one and more", "hush-two"} {
		if o := &app.Components[0].Interfaces[0].Operations[i]; salt != "" {
			o.Inputs = append(o.Inputs,
				spec.OperationInput{Name: "key", Value: "hush-input", FromInput: "key"}, spec.OperationInput{Name: "salt", Value: salt})
		}
	}
	app.Nodes = append([]spec.Node{{
		Name: "My.Queue_", Image: spec.Image{Kind: spec.ImageService, Name: "registry.example:5000/team/queue@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"},
		Ports:   []spec.Port{{Container: 5672, Host: 5672, Protocol: "tcp"}, {Container: 5673, Host: 5673, Protocol: "udp"}},
		Shares:  []spec.Share{{Container: "/etc/queue", Host: "/srv/queue", ReadOnly: true, Relabel: "z"}},
		Env:     map[string]string{"QUEUE_PASSWORD": "hush-standalone", "$A": "${HOME} $(id) yes"},
		Command: `run --price "$5"`, Storage: []spec.Storage{{Volume: "archive", Location: "/var/archive"}, {Volume: "queue.data", Location: "/var/queue"}},
	}}, app.Nodes...)
	app.Volumes = append(app.Volumes, spec.Volume{Name: "archive", Options: map[string]string{"driver": "local", "device": "/srv"}}, spec.Volume{Name: "queue.data", Options: map[string]string{"size": "5Gi"}})
	app.Components[1].Connections = append(app.Components[1].Connections, "My.Queue_")
	update := config.Update{
		Parallelism: ptr(2), Delay: "10s", Order: "start-first", FailureAction: "pause", Monitor: "1m", MaxFailureRatio: ptr(0.5),
	}
	return app, config.Config{
		Nodes: map[string]config.Node{
			"backend": {
				Alias: "shop.backend", Port: 9100, User: "ada", Password: "hush-unit", LogLevel: "debug",
				Docker: config.Docker{Name: "registry.example:5000/team/backend", Tag: "v2", BaseTag: "3.12", RegistryPassword: "hush-registry"},
				Deploy: config.Deploy{
					Replicas: ptr(3),
					Resources: config.Resources{
						Limits: config.Amounts{CPUs: "0.5", Memory: "512M"}, Reservations: config.Amounts{CPUs: "0.25", Memory: "256m"},
					},
					Placement: config.Placement{
						Constraints: []string{"node.labels.disk == ssd", "node.role != manager", "node.platform.arch == x86_64"},
						Preferences: []config.Preference{{Spread: "node.labels.zone"}},
					},
					RestartPolicy: config.RestartPolicy{Condition: "on-failure", Delay: "5s", MaxAttempts: ptr(3), Window: "2m"},
					UpdateConfig:  update, RollbackConfig: update,
					Labels: map[string]string{"team": "shop", "price": "$5", "no annotation": "x"},
				},
				CoredumpMark: ptr(false), MaxUnavailable: 2,
				Compose: Fragment(`{cap_add: [NET_ADMIN], tmpfs: /scratch, ulimits: {nofile: {soft: 1024, hard: 2048}}, sysctls: {net.core.somaxconn: 1024},
  extra_hosts: ["db:10.0.0.7"], environment: [EXTRA=$5 more], labels: {tier: back}, init: true, hostname: "yes"}`),
				Kubernetes: config.Kubernetes{Patch: Fragment(`{metadata: {annotations: {note: "yes"}}, spec: {template: {spec: {
  priorityClassName: high, hostAliases: [{ip: 10.0.0.7, hostnames: [db]}], volumes: [{name: scratch, emptyDir: {medium: Memory}}],
  containers: [{name: backend, env: [{name: EXTRA, value: "$5"}], volumeMounts: [{name: scratch, mountPath: /scratch}]}, {name: log, image: "busybox:1.36"}]}}}}`)},
				Components: map[string]config.Component{"api": {
					Readiness: config.Readiness{TCP: "8000", HTTP: "http://127.0.0.1:8000/ok", Command: "./check", Log: "ready", Notify: true, Timeout: "2m", Interval: "1s"},
					Liveness: config.Liveness{
						TCP: "8000", HTTP: "http://127.0.0.1:8000/ok", Status: "200", Text: "well", Command: "./check", Interval: "20s", Timeout: "1s", Failures: 2, Grace: "1m", Then: "report",
					},
					Output: "json", StopSignal: "INT", StopGrace: "30s", User: "nobody",
					Restart:      config.Restart{Stable: "1m", DelayMax: "10m", Attempts: 5},
					Requirements: map[string]config.Requirement{"connection": {WhileAway: config.WhileAwayDown}},
					Operations:   map[string]config.Operation{"Standard.create": {Kind: "run", Timeout: "5m", User: "root", Attempts: 1}},
				}},
			},
			"My.Queue_": {Ports: config.Ports{"127.0.0.1:5672:5672", "[::1]:5672:5672", "5673:5673/udp"}, Deploy: config.Deploy{Replicas: ptr(1), RestartPolicy: config.RestartPolicy{Condition: "none"}}},
		},
		Manager: config.Manager{Port: 11000, User: "eve", Password: "hush-manager", SecretKey: "hush-key", Mode: "testing", Goal: "up"},
		Volumes: map[string]config.Volume{
			"archive":  {Name: "shop-archive.2019", External: true},
			"dbvolume": {Driver: "local", DriverOpts: map[string]string{"type": "nfs", "device": ":/$dir", "o": "addr=10.0.0.1"}},
		},
		Secrets: []string{"api.key", "api.salt", "backend.DB_PASSWORD", "My.Queue_.QUEUE_PASSWORD"},
	}
}

// Fragment returns a fragment of a manifest. It panics if the text is not YAML.
func Fragment(text string) config.Fragment {
	cfg, err := config.Parse("toskose.yml", []byte("nodes: {x: {kubernetes: {patch: "+text+"}}}")).Check(nil)
	if err != nil {
		panic(err)
	}
	return cfg.Nodes["x"].Kubernetes.Patch
}

func ptr[T any](v T) *T { return &v }
