package traces

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toskose/toskose/unit/wire"
)

// collector stands in for a collector of OpenTelemetry.
type collector struct {
	*httptest.Server
	mu       sync.Mutex
	paths    []string
	headers  []http.Header
	got      []request
	statuses []int // of the next answers; then 200
}

func newCollector(t *testing.T, statuses ...int) *collector {
	t.Helper()
	c := &collector{statuses: statuses}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.paths, c.headers = append(c.paths, r.URL.Path), append(c.headers, r.Header)
		if len(c.statuses) > 0 {
			w.WriteHeader(c.statuses[0])
			c.statuses = c.statuses[1:]
			return
		}
		body := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			zip, err := gzip.NewReader(r.Body)
			if err != nil {
				t.Error(err)
				return
			}
			body = zip
		}
		var got request
		if err := json.NewDecoder(body).Decode(&got); err != nil {
			t.Error(err)
		}
		c.got = append(c.got, got)
		if _, err := io.WriteString(w, `{"partialSuccess": {}}`); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) spans() (all []span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.got {
		for _, of := range r.ResourceSpans {
			for _, s := range of.ScopeSpans {
				all = append(all, s.Spans...)
			}
		}
	}
	return all
}

func environment(pairs map[string]string) func(string) string {
	return func(name string) string { return pairs[name] }
}

func open(t *testing.T, env map[string]string) *Traces {
	t.Helper()
	made, err := New(t.Context(), Options{Application: "shop", Version: "1.2", Getenv: environment(env), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func attributeOf(all []keyValue, key string) string {
	for _, a := range all {
		if a.Key == key {
			switch {
			case a.Value.String != nil:
				return *a.Value.String
			case a.Value.Int != nil:
				return *a.Value.Int
			}
		}
	}
	return ""
}

var began = time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)

// run is an execution that ended with an exit code.
func run(id string, code int) *wire.Execution {
	x := &wire.Execution{
		ID: id, By: "goal", Component: "api", Interface: "Standard", Operation: "start", Outcome: wire.OutcomeSucceeded,
		Started: began.Add(time.Second), Ended: began.Add(3 * time.Second), Exit: wire.Exit{ExitCode: &code}, PID: 17,
	}
	if code != 0 {
		x.Outcome, x.Last = wire.OutcomeFailed, "no such table"
	}
	return x
}

func TestExecutionsAreChildrenOfTheWayToTheGoal(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	exported := open(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.URL, "OTEL_EXPORTER_OTLP_HEADERS": "api-key=a%20b,other=1", "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip"})
	way := Way{Goal: "7:abc", State: "up", By: "ann", Began: began}
	exported.Execution(run("x1", 3), "backend", "10.0.0.7:9001", "i1", &way)
	exported.Way(way, End{At: began.Add(time.Minute), Reached: true, Wanted: 5})
	exported.Execution(run("x2", 0), "backend", "10.0.0.7:9001", "i1", nil)
	if err := exported.Close(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	all := c.spans()
	if len(all) != 3 {
		t.Fatalf("%d spans", len(all))
	}
	failed, reached, alone := all[0], all[1], all[2]
	if failed.TraceID != reached.TraceID || failed.ParentSpanID != reached.SpanID || reached.ParentSpanID != "" {
		t.Errorf("the operation %+v is not a child of %+v", failed, reached)
	}
	if failed.Name != "api start" || failed.Start != "1767323046000000006" || failed.End != "1767323048000000006" || failed.Status.Code != 2 || !strings.Contains(failed.Status.Message, `exit code 3; last line: "no such table"`) {
		t.Errorf("the failed operation is %+v", failed)
	}
	for key, want := range map[string]string{"toskose.node": "backend", "toskose.operation": "Standard.start", "process.exit.code": "3", "toskose.by": "goal", "toskose.outcome": "failed"} {
		if got := attributeOf(failed.Attributes, key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if reached.Name != "reach goal up" || reached.Status.Code != 1 || attributeOf(reached.Attributes, "toskose.components") != "5" {
		t.Errorf("the way is %+v", reached)
	}
	if alone.TraceID == reached.TraceID || alone.ParentSpanID != "" || alone.Status.Code != 0 {
		t.Errorf("the operation that a client requested is %+v", alone)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.headers[0]; c.paths[0] != "/v1/traces" || h.Get("Api-Key") != "a b" || h.Get("Other") != "1" || h.Get("Content-Type") != "application/json" {
		t.Errorf("%s, %v", c.paths[0], h)
	}
	resource := c.got[0].ResourceSpans[0].Resource.Attributes
	if attributeOf(resource, "service.name") != "shop" || attributeOf(resource, "service.version") != "1.2" {
		t.Errorf("the resource is %+v", resource)
	}
}

// TestTwoManagersExportTheSameSpan: the collector recognises it by its ids.
func TestTwoManagersExportTheSameSpan(t *testing.T) {
	t.Parallel()
	var ids []string
	for range 2 {
		c := newCollector(t)
		exported := open(t, map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": c.URL + "/own"})
		exported.Execution(run("x1", 0), "backend", "10.0.0.7:9001", "i1", &Way{Goal: "7:abc", Began: began.In(time.FixedZone("", 3600*len(ids)))})
		if err := exported.Close(t.Context(), time.Minute); err != nil {
			t.Fatal(err)
		}
		all := c.spans()
		if len(all) != 1 || c.paths[0] != "/own" {
			t.Fatalf("%d spans at %q", len(all), c.paths)
		}
		ids = append(ids, all[0].TraceID+all[0].SpanID+all[0].ParentSpanID)
	}
	if ids[0] != ids[1] {
		t.Errorf("the ids are %q", ids)
	}
}

func TestARequestIsRepeatedOnlyWhenTheCollectorIsBusy(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status, requests, spans int
	}{
		"busy":    {http.StatusServiceUnavailable, 2, 1},
		"refused": {http.StatusBadRequest, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCollector(t, tt.status)
			exported := open(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.URL + "/"})
			exported.Execution(run("x1", 0), "backend", "r", "i1", nil)
			if err := exported.Close(t.Context(), time.Minute); err != nil {
				t.Fatal(err)
			}
			if len(c.paths) != tt.requests || len(c.spans()) != tt.spans {
				t.Errorf("%d requests, %d spans", len(c.paths), len(c.spans()))
			}
		})
	}
}

func TestNothingIsExportedUnlessItIsAskedFor(t *testing.T) {
	t.Parallel()
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
	for _, env := range []map[string]string{
		{},
		{"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
		{endpoint: "http://collector:4318", "OTEL_SDK_DISABLED": "true"},
		{endpoint: "http://collector:4318", "OTEL_TRACES_EXPORTER": "none"},
	} {
		if made := open(t, env); made != nil {
			t.Errorf("%v exports", env)
		}
	}
}

func TestWrongVariablesAreNamedWithoutTheirSecrets(t *testing.T) {
	t.Parallel()
	_, err := New(t.Context(), Options{Application: "shop", Logger: slog.New(slog.DiscardHandler), Getenv: environment(map[string]string{
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "collector:4318", "OTEL_TRACES_EXPORTER": "jaeger", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT": "10s",
		"OTEL_EXPORTER_OTLP_COMPRESSION": "zstd", "OTEL_EXPORTER_OTLP_HEADERS": "hunter2", "OTEL_EXPORTER_OTLP_CERTIFICATE": "none.pem",
	})})
	for _, want := range []string{
		`OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is "collector:4318": it must be a URL like http://collector:4318`,
		`OTEL_TRACES_EXPORTER is "jaeger"`, `OTEL_EXPORTER_OTLP_PROTOCOL is "grpc": traces are exported by http/json only`,
		`OTEL_EXPORTER_OTLP_TRACES_TIMEOUT is "10s": it must be a number of milliseconds`, `OTEL_EXPORTER_OTLP_COMPRESSION is "zstd"`,
		"OTEL_EXPORTER_OTLP_HEADERS: header 1 is not NAME=VALUE", "OTEL_EXPORTER_OTLP_CERTIFICATE: open none.pem",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
	if err != nil && strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error has a header: %v", err)
	}
}
