package schema

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"

	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/spec"
)

// compile returns a schema in docs.
func compile(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	compiled, err := jsonschema.NewCompiler().Compile("../../docs/" + name + ".schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

// instance returns a YAML document as a validator takes it.
func instance(t *testing.T, text string) any {
	t.Helper()
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	made, err := jsonschema.UnmarshalJSON(strings.NewReader(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// target returns the application that the configurations are for.
func target() config.Target {
	return config.Target{
		App:     "shop",
		Nodes:   []config.TargetNode{{Name: "backend", Toskosed: true, Ports: []spec.Port{{Container: 9001, Protocol: "tcp"}, {Container: 8000, Protocol: "tcp"}}}, {Name: "store"}},
		Volumes: []string{"data"}, Values: []string{"api.token"},
		Components: map[string]config.TargetComponent{"api": {
			Node: "backend", Requires: []string{"connection", "db"}, Port: 8000,
			Operations: map[string]config.TargetOperation{"Standard.start": {Kind: "start"}},
		}},
	}
}

func TestTheSchemaTakesWhatTheReaderTakes(t *testing.T) {
	t.Parallel()
	compiled := compile(t, "toskose")
	for name, tt := range map[string]struct {
		text  string
		takes bool
	}{
		"nothing":              {"", true},
		"null everywhere":      {"nodes:\nmanager:\nvolumes:\nsecrets:\n", true},
		"a node's settings":    {"nodes: {backend: {alias: b, port: 9100, user: u, password: 123, log_level: debug, docker: {name: x, tag: 1.10}}}", true},
		"traces":               {"manager: {env: {OTEL_EXPORTER_OTLP_ENDPOINT: 'http://otel:4318', OTEL_BSP_SCHEDULE_DELAY: 1000}}", true},
		"another variable":     {"manager: {env: {SECRET_KEY_FILE: /x}}", false},
		"a manager":            {"title: 1\nmanager: {mode: testing, port: 1, docker: {base_image: a, base_tag: b}}", true},
		"all of deploy":        {everyWord, true},
		"volumes, secrets":     {"volumes: {data: {driver: nfs, driver_opts: {size: 5}}}\nsecrets: [api.token]", true},
		"an unknown key":       {"nodes: {backend: {prot: 1}}", false},
		"a port that is none":  {"nodes: {backend: {port: 70000}}", false},
		"a port that is text":  {"manager: {port: many}", false},
		"where and how it is":  {"manager: {bind: 10.0.0.7, tls: {certificate: a, key: b}}", true},
		"half a certificate":   {"manager: {tls: {certificate: a}}", false},
		"another mode":         {"manager: {mode: fast}", false},
		"another level":        {"nodes: {backend: {log_level: LOUD}}", false},
		"a list of nodes":      {"nodes: [backend]", false},
		"another order":        {"nodes: {backend: {deploy: {update_config: {order: both}}}}", false},
		"minus one replica":    {"nodes: {backend: {deploy: {replicas: -1}}}", false},
		"half a replica":       {"nodes: {backend: {deploy: {replicas: 0.5}}}", false},
		"a ratio above 1":      {"nodes: {backend: {deploy: {update_config: {max_failure_ratio: 2}}}}", false},
		"no constraint":        {"nodes: {backend: {deploy: {placement: {constraints: [ssd]}}}}", false},
		"a preference of none": {"nodes: {backend: {deploy: {placement: {preferences: [{}]}}}}", false},
		"a rollback of one":    {"nodes: {backend: {deploy: {rollback_config: {failure_action: rollback}}}}", false},
		"components":           {everyKeyOfAComponent, true},
		"none to be ready for": {"components: {api: {readiness: none}}", true},
		"another word":         {"components: {api: {readiness: later}}", false},
		"another output":       {"components: {api: {output: xml}}", false},
		"no signal to stop":    {"components: {api: {stop_signal: SEGV}}", false},
		"half a grace":         {"components: {api: {stop_grace: 1.5}}", false},
		"a name with a space":  {"components: {api: {user: a b}}", false},
		"no attempt":           {"components: {api: {restart: {attempts: 0}}}", false},
		"away as truth":        {"components: {api: {requirements: {db: {while_away: true}}}}", false},
		"a mark that is text":  {"nodes: {backend: {coredump_mark: no such}}", false},
		"none is ever away":    {"nodes: {backend: {max_unavailable: 0}}", false},
		"another goal":         {"manager: {goal: down}", false},
		"secrets as a map":     {"secrets: {api: token}", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := target()
			_, readerErr := config.Parse("toskose.yml", []byte(tt.text)).Check(&to)
			schemaErr := compiled.Validate(instance(t, tt.text))
			if (readerErr == nil) != tt.takes || (schemaErr == nil) != tt.takes {
				t.Errorf("the reader says %v, the schema %v", readerErr, schemaErr)
			}
		})
	}
}

const everyKeyOfAComponent = `
nodes:
  backend:
    coredump_mark: true
    max_unavailable: 2
    logs: {total: 1g}
    components:
      api:
        readiness: {tcp: 8000, http: "http://127.0.0.1:8000/ok", command: ./check --all, log: listening, notify: true, timeout: 2m, interval: 100ms}
        output: none
        logs: {size: 1048576, files: 2}
        stop_signal: sigint
        stop_grace: 30s
        user: 1000:0
        restart: {stable: 5m, delay_max: 1h, attempts: 1}
        requirements: {connection: {while_away: keep}, db: {while_away: down}}
        operations: {Standard.start: {timeout: 1m30s, attempts: 2, user: nobody, logs: {size: 1.5 MB, files: 1}}}
manager: {goal: up}
`

const everyWord = `
nodes:
  store:
    alias: db
    deploy:
      replicas: 0
      resources: {limits: {cpus: 0.5, memory: 512M}, reservations: {cpus: '1', memory: 1gb}}
      placement: {constraints: [node.labels.disk == ssd, node.role!=manager], preferences: [{spread: node.labels.zone}]}
      restart_policy: {condition: on-failure, delay: 5s, max_attempts: 3, window: 2m}
      update_config: {parallelism: 2, delay: 10s, failure_action: rollback, monitor: 1m, max_failure_ratio: 0.1, order: start-first}
      rollback_config: {parallelism: 0, failure_action: pause, order: stop-first}
      labels: {team: shop, tier: 1}
`

func TestEveryWordOfDeployIsReadAndWrittenAgain(t *testing.T) {
	t.Parallel()
	to := target()
	cfg, err := config.Parse("toskose.yml", []byte(everyWord)).Check(&to)
	if err != nil {
		t.Fatal(err)
	}
	d := cfg.Nodes["store"].Deploy
	if *d.Replicas != 0 || d.Resources.Limits.CPUs != "0.5" || *d.UpdateConfig.MaxFailureRatio != 0.1 || d.Labels["tier"] != "1" || len(d.Placement.Constraints) != 2 {
		t.Errorf("%+v", d)
	}
	data, err := config.Encode(config.Complete(cfg, to))
	if err != nil {
		t.Fatal(err)
	}
	back, err := config.Parse("toskose.yml", data).Check(&to)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(d, back.Nodes["store"].Deploy); diff != "" {
		t.Error(diff)
	}
}
