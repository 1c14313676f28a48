package config_test

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"

	"github.com/toskose/toskose/internal/docs"
	"github.com/toskose/toskose/packager/config"
)

const schemaFile = "../../docs/toskose.schema.json"

func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	compiled, err := jsonschema.NewCompiler().Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

// properties returns the keys that a schema knows, as paths; * is any name.
func properties(root, at map[string]any, path string, into map[string]bool) {
	if ref, ok := at["$ref"].(string); ok {
		at = root["$defs"].(map[string]any)[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
	}
	if path != "" {
		into[path] = true
	}
	if more, ok := at["properties"].(map[string]any); ok {
		for key, value := range more {
			properties(root, value.(map[string]any), path+"/"+key, into)
		}
	}
	for _, key := range []string{"additionalProperties", "items"} {
		if any, ok := at[key].(map[string]any); ok {
			properties(root, any, path+"/*", into)
		}
	}
}

// keys returns those that the reader knows.
func keys(t reflect.Type, path string, into map[string]bool) {
	if path != "" {
		into[path] = true
	}
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			if name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ","); name != "-" {
				keys(t.Field(i).Type, path+"/"+name, into)
			}
		}
	case reflect.Map, reflect.Slice:
		keys(t.Elem(), path+"/*", into)
	case reflect.Pointer:
		keys(t.Elem(), path, into)
	default:
	}
}

func TestTheSchemaHasTheKeysThatTheReaderKnows(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.FromSlash(schemaFile))
	if err != nil {
		t.Fatal(err)
	}
	var root map[string]any
	if err := json.Unmarshal(data, &root); err != nil {
		t.Fatal(err)
	}
	published, known := map[string]bool{}, map[string]bool{}
	properties(root, root, "", published)
	keys(reflect.TypeFor[config.Config](), "", known)
	if diff := cmp.Diff(known, published); diff != "" {
		t.Errorf("the reader (-) and the schema (+):\n%s", diff)
	}
}

// TestEveryConfigurationOfTheDocumentationIsRead decodes each as it stands.
func TestEveryConfigurationOfTheDocumentationIsRead(t *testing.T) {
	t.Parallel()
	for _, b := range docs.Of(t, docs.Config) {
		if _, err := config.Decode("toskose.yml", []byte(b.Text), nil); err != nil {
			t.Errorf("%s:%d: %v\n%s", b.Page, b.Line, err, b.Text)
		}
	}
}

// TestThePageOnPackagingHasEveryKey compares the tables of docs/packaging.md, whose
// headings name what their keys are below, with the keys that the reader knows.
func TestThePageOnPackagingHasEveryKey(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.FromSlash("../../docs/packaging.md"))
	if err != nil {
		t.Fatal(err)
	}
	quoted := func(text string) []string {
		var names []string
		for i, part := range strings.Split(text, "`") {
			if i%2 == 1 {
				names = append(names, "/"+strings.ReplaceAll(strings.ReplaceAll(part, ".", "/"), "NAME", "*"))
			}
		}
		return names
	}
	listed := map[string]bool{}
	var below []string
	for line := range strings.Lines(string(page)) {
		switch {
		case strings.HasPrefix(line, "### Top level"):
			below = []string{""}
		case strings.HasPrefix(line, "#"):
			below = quoted(line)
		case strings.HasPrefix(line, "| `"):
			cell, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
			for _, key := range quoted(cell) {
				for _, prefix := range below {
					listed[prefix+key] = true
				}
			}
		}
	}
	known := map[string]bool{}
	keys(reflect.TypeFor[config.Config](), "", known)
	for key := range known {
		for at := path.Dir(key); at != "/"; at = path.Dir(at) {
			delete(known, at) // the tables have what is below
		}
	}
	leaves := map[string]bool{}
	for key := range known {
		leaves[strings.TrimSuffix(strings.TrimSuffix(key, "/spread"), "/*")] = true
	}
	if diff := cmp.Diff(leaves, listed); diff != "" {
		t.Errorf("the reader (-) and docs/packaging.md (+):\n%s", diff)
	}
}

func TestTheSchemaTakesWhatTheReaderTakes(t *testing.T) {
	t.Parallel()
	compiled := schema(t)
	for name, tt := range map[string]struct {
		text  string
		takes bool
	}{
		"nothing":              {"", true},
		"null everywhere":      {"nodes:\nmanager:\nvolumes:\nsecrets:\n", true},
		"a node's settings":    {"nodes: {backend: {alias: b, port: 9100, user: u, password: 123, log_level: debug, docker: {name: x, tag: 1.10}}}", true},
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
			var value any
			if err := yaml.Unmarshal([]byte(tt.text), &value); err != nil {
				t.Fatal(err)
			}
			data, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			instance, err := jsonschema.UnmarshalJSON(strings.NewReader(string(data)))
			if err != nil {
				t.Fatal(err)
			}
			to := target()
			to.Volumes, to.Values = []string{"data"}, []string{"api.token"}
			_, readerErr := config.Decode("toskose.yml", []byte(tt.text), &to)
			schemaErr := compiled.Validate(instance)
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
	cfg, err := config.Decode("toskose.yml", []byte(everyWord), &to)
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
	back, err := config.Decode("toskose.yml", data, &to)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(d, back.Nodes["store"].Deploy); diff != "" {
		t.Error(diff)
	}
}

func TestMemoryIsReadAsComposeReadsIt(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"1": 1, "10b": 10, "1k": 1024, "2KB": 2048, "1.5M": 1536 << 10, "1 gb": 1 << 30, "3G": 3 << 30, "": 0, "x": 0, "1Gi": 0, "-1": 0, "0": 0,
	} {
		if got, ok := config.Bytes(text); ok != (want > 0) || ok && got != want {
			t.Errorf("%q is %d, %v", text, got, ok)
		}
	}
}
