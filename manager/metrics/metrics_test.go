package metrics_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/toskose/toskose/internal/docs"
	"github.com/toskose/toskose/internal/leak"
	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/metrics"
	"github.com/toskose/toskose/manager/mirror"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/unit/wire"
)

func TestMain(m *testing.M) { leak.Main(m) }

type app struct{ batches chan []manager.Event }

func (app) App(context.Context, manager.Detail) rest.App {
	return rest.App{
		Nodes: []rest.Node{{Name: "backend", Replicas: []rest.Replica{
			{Address: "10.0.0.1:9001"}, {Address: "10.0.0.2:9001", Problem: "its unit does not answer"}, {Address: "10.0.0.3:9001", Gone: time.Now()},
		}}},
		Components: []rest.Component{{
			Name: "api", Node: "backend", Lacks: make([]rest.Lack, 2),
			Replicas: []rest.ComponentReplica{{State: "running", Failing: &wire.Failing{Why: "no answer"}}, {State: "unknown"}},
		}, {
			Name: "load", Node: "backend", Task: &goal.TaskStatus{Indexes: []goal.TaskIndex{
				{Phase: goal.TaskCompleted, Attempts: 1}, {Phase: goal.TaskFailed, Attempts: 4}, {Phase: goal.TaskCompleted, Attempts: 2}, {Phase: goal.TaskWaiting},
			}},
		}},
	}
}

func (app) Goal() rest.Goal {
	return rest.Goal{Wanted: 3, Reached: 2, Acting: true, Holds: map[string]goal.Hold{"gui": {}}, Obstacles: make([]goal.Obstacle, 4), Lacking: []string{"10.0.0.2:9001"}}
}

// Events tells of batches; at a batch of nothing it has fallen behind.
func (a app) Events(string) func(context.Context) ([]manager.Event, error) {
	return func(ctx context.Context) ([]manager.Event, error) {
		batch, open := <-a.batches
		switch {
		case !open:
			return nil, context.Canceled
		case batch == nil:
			return nil, mirror.ErrBehind
		}
		return batch, ctx.Err()
	}
}

// scraped runs the metrics over some batches of events, and returns what they say.
func scraped(t *testing.T, batches ...[]manager.Event) string {
	t.Helper()
	a := app{make(chan []manager.Event, len(batches))}
	for _, b := range batches {
		a.batches <- b
	}
	close(a.batches)
	m := metrics.New(a, "1.2.3")
	m.Run(t.Context(), a)
	m.Request(http.MethodGet, "/api/v1/app", http.StatusOK, 7*time.Millisecond, false)
	m.Request(http.MethodGet, "/api/v1/events", http.StatusOK, time.Hour, true)
	m.Request("BREW", "/nowhere/*", http.StatusNotFound, time.Millisecond, false)
	m.Follow()()
	m.Follow()
	answer := httptest.NewRecorder()
	m.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	return answer.Body.String()
}

func execution(kind wire.EntryKind, o wire.Outcome) manager.Event {
	begun := time.Unix(1_800_000_000, 0)
	return manager.Event{Kind: string(kind), Node: "backend", Execution: &wire.Execution{
		Component: "api", Interface: "Standard", Operation: "start", Outcome: o, Started: begun, Ended: begun.Add(3 * time.Second),
	}}
}

func TestMetricsSayHowTheApplicationStandsAndWhatHappened(t *testing.T) {
	t.Parallel()
	text := scraped(t, []manager.Event{
		execution(wire.EntryStart, wire.OutcomeRunning), execution(wire.EntryExit, wire.OutcomeSucceeded), {Kind: mirror.EventVanished},
	}, nil, []manager.Event{execution(wire.EntryExit, wire.OutcomeFailed), execution(wire.EntryGone, wire.OutcomeSucceeded)})
	for _, line := range []string{
		`toskose_manager_build_info{version="1.2.3"} 1`,
		`toskose_replicas{node="backend",state="up"} 1`,
		`toskose_replicas{node="backend",state="silent"} 1`,
		`toskose_replicas{node="backend",state="gone"} 1`,
		`toskose_component_replicas{component="api",node="backend",state="running"} 1`,
		`toskose_component_replicas{component="api",node="backend",state="unknown"} 1`,
		`toskose_component_lacks{component="api",node="backend"} 2`,
		`toskose_component_failing{component="api",node="backend"} 1`,
		`toskose_task_indexes{component="load",node="backend",phase="completed"} 2`,
		`toskose_task_indexes{component="load",node="backend",phase="retrying"} 0`,
		`toskose_task_attempts{component="load",node="backend"} 7`,
		`toskose_goal_components 3`,
		`toskose_goal_components_reached 2`,
		`toskose_goal_done 0`,
		`toskose_goal_acting 1`,
		`toskose_goal_obstacles 4`,
		`toskose_goal_holds 1`,
		`toskose_goal_lacking_replicas 1`,
		`toskose_executions_total{component="api",node="backend",operation="Standard.start",outcome="succeeded"} 1`,
		`toskose_executions_total{component="api",node="backend",operation="Standard.start",outcome="failed"} 1`,
		`toskose_execution_duration_seconds_sum{component="api",node="backend",operation="Standard.start"} 6`,
		`toskose_manager_events_missed_total 1`,
		`toskose_manager_followers 1`,
		`toskose_manager_requests_total{code="200",method="GET",route="/api/v1/app"} 1`,
		`toskose_manager_requests_total{code="200",method="GET",route="/api/v1/events"} 1`,
		`toskose_manager_requests_total{code="404",method="other",route="unmatched"} 1`,
		`toskose_manager_request_duration_seconds_count{method="GET",route="/api/v1/app"} 1`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no %s", line)
		}
	}
	if strings.Contains(text, `request_duration_seconds_count{method="GET",route="/api/v1/events"}`) {
		t.Error("what follows events has a duration")
	}
	if t.Failed() {
		t.Log(text)
	}
}

var name = regexp.MustCompile(`\b(?:toskose|process)_[a-z_]+`)

// TestTheBoardAndTheDocumentationNameTheMetricsThatThereAre: the board asks for no
// other, and the documentation has them all.
func TestTheBoardAndTheDocumentationNameTheMetricsThatThereAre(t *testing.T) {
	t.Parallel()
	text := scraped(t, []manager.Event{execution(wire.EntryExit, wire.OutcomeSucceeded)})
	var board struct {
		Panels []struct {
			ID      int
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(read(t, "../../docs/grafana.json"), &board); err != nil {
		t.Fatal(err)
	}
	var ids []int
	for _, p := range board.Panels {
		if slices.Contains(ids, p.ID) {
			t.Errorf("two panels have the id %d", p.ID)
		}
		ids = append(ids, p.ID)
		for _, target := range p.Targets {
			for _, metric := range name.FindAllString(target.Expr, -1) {
				if !strings.Contains(text, "\n"+metric+" ") && !strings.Contains(text, "\n"+metric+"{") {
					t.Errorf("panel %q asks for %s", p.Title, metric)
				}
			}
		}
	}
	if len(ids) < 10 {
		t.Errorf("the board has %d panels", len(ids))
	}
	documentation := string(read(t, "../../docs/monitoring.md"))
	for line := range strings.Lines(text) {
		if metric, is := strings.CutPrefix(line, "# TYPE toskose_"); is {
			metric = "toskose_" + strings.Fields(metric)[0]
			if !strings.Contains(documentation, "`"+metric+"`") {
				t.Errorf("docs/monitoring.md lacks %s", metric)
			}
		}
	}
}

// rules are alerting rules of Prometheus.
type rules struct {
	Groups []struct {
		Name  string
		Rules []struct {
			Alert, Expr         string
			For                 time.Duration
			Labels, Annotations map[string]string
		}
	}
}

// TestJobsInTheDocumentationHaveTheKeysOfPrometheus decodes them strictly.
func TestJobsInTheDocumentationHaveTheKeysOfPrometheus(t *testing.T) {
	t.Parallel()
	jobs := 0
	for _, b := range docs.Of(t, docs.Prometheus) {
		var c struct {
			Jobs []struct {
				Name string `yaml:"job_name"`
				Auth struct {
					User string `yaml:"username"`
					File string `yaml:"password_file"`
				} `yaml:"basic_auth"`
				Static []struct{ Targets []string } `yaml:"static_configs"`
			} `yaml:"scrape_configs"`
		}
		strict(t, b.Page, []byte(b.Text), &c)
		jobs += len(c.Jobs)
	}
	if jobs == 0 {
		t.Error("the documentation has no job")
	}
}

// TestAlertsUseMetricsThatExist: both files have the same rules, each of known metrics and labels, and the documentation has a
// row for each.
func TestAlertsUseMetricsThatExist(t *testing.T) {
	t.Parallel()
	text := scraped(t, []manager.Event{execution(wire.EntryExit, wire.OutcomeSucceeded)})
	var plain rules
	strict(t, "alerts.yaml", read(t, "../../docs/alerts.yaml"), &plain)
	var resource struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Metadata   struct {
			Name   string
			Labels map[string]string
		}
		Spec rules
	}
	strict(t, "prometheusrule.yaml", read(t, "../../docs/prometheusrule.yaml"), &resource)
	if diff := cmp.Diff(plain, resource.Spec); diff != "" || resource.APIVersion != "monitoring.coreos.com/v1" || resource.Kind != "PrometheusRule" {
		t.Errorf("%s %s, (-alerts.yaml +prometheusrule.yaml):\n%s", resource.APIVersion, resource.Kind, diff)
	}
	if len(plain.Groups) != 1 || len(plain.Groups[0].Rules) < 5 {
		t.Fatalf("%+v", plain)
	}
	documentation := string(read(t, "../../docs/monitoring.md"))
	for _, r := range plain.Groups[0].Rules {
		for _, metric := range name.FindAllString(r.Expr, -1) {
			if !strings.Contains(text, "\n"+metric+" ") && !strings.Contains(text, "\n"+metric+"{") {
				t.Errorf("%s uses %s, which does not exist", r.Alert, metric)
			}
		}
		for _, label := range regexp.MustCompile(`\$labels\.([a-z]+)`).FindAllStringSubmatch(r.Annotations["description"], -1) {
			if label[1] != "instance" && !strings.Contains(text, label[1]+`="`) {
				t.Errorf("%s uses the label %s, which no metric has", r.Alert, label[1])
			}
		}
		if row := "| `" + r.Alert + "` | " + r.Labels["severity"] + " |"; !strings.Contains(documentation, row) {
			t.Errorf("docs/monitoring.md lacks %q", row)
		}
	}
}

// strict decodes YAML that must have no other keys.
func strict(t *testing.T, name string, text []byte, into any) {
	t.Helper()
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(into); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
