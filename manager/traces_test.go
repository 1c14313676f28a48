package manager_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/fakeunit"
	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/manager/traces"
)

// exportedSpan is a span as a collector receives it.
type exportedSpan struct {
	TraceID      string `json:"traceId"`
	SpanID       string `json:"spanId"`
	ParentSpanID string `json:"parentSpanId"`
	Name         string `json:"name"`
}

// collector collects spans by name.
type collector struct {
	mu    sync.Mutex
	spans map[string][]exportedSpan
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var got struct {
		ResourceSpans []struct {
			ScopeSpans []struct {
				Spans []exportedSpan `json:"spans"`
			} `json:"scopeSpans"`
		} `json:"resourceSpans"`
	}
	if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, of := range got.ResourceSpans {
		for _, scope := range of.ScopeSpans {
			for _, s := range scope.Spans {
				c.spans[s.Name] = append(c.spans[s.Name], s)
			}
		}
	}
}

func (c *collector) named(name string) []exportedSpan {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans[name])
}

// TestAGoalAndTheRecoveryOfADeadComponentAreTraces sets a goal on a real unit, and kills processes.
func TestAGoalAndTheRecoveryOfADeadComponentAreTraces(t *testing.T) {
	t.Parallel()
	c := &collector{spans: map[string][]exportedSpan{}}
	server := httptest.NewServer(c)
	defer server.Close()
	exported, err := traces.New(t.Context(), traces.Options{
		Application: "thinking", Version: "1", Logger: slog.New(slog.DiscardHandler),
		Getenv: func(name string) string { return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": server.URL}[name] },
	})
	if err != nil {
		t.Fatal(err)
	}
	app := application(t, fakeunit.Containers{"backend": []netip.AddrPort{realUnit(t)}}, manager.Options{Traces: exported})
	if _, kept, err := app.SetGoal(t.Context(), rest.GoalRequest{States: map[string]string{"api": "up"}, By: "jo"}); err != nil || !kept {
		t.Fatalf("kept %v, %v", kept, err)
	}
	awaitGoal(t, app, "reached", done)
	pid := mainProcess(t, app, 0)
	await(t, "two ways have ended", func() bool { // a death that is over before it is observed begins none
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		pid = mainProcess(t, app, pid)
		awaitGoal(t, app, "reached again", done)
		if err := exported.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		return len(c.named("reach goal")) >= 2
	})
	await(t, "all executions are exported", func() bool {
		return exported.Flush(t.Context()) == nil && len(c.named("api start")) > len(c.named("reach goal"))-1
	})
	app.Close()
	if err := exported.Close(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	ways, parents := c.named("reach goal"), map[string]string{}
	for _, way := range ways {
		parents[way.SpanID] = way.TraceID
	}
	if len(parents) != len(ways) {
		t.Errorf("ways have the same ids: %+v", ways)
	}
	first := c.named("api configure")
	if len(first) != 1 || first[0].ParentSpanID != ways[0].SpanID {
		t.Errorf("the first operation is %+v, of the way %+v", first, ways[0])
	}
	for _, start := range c.named("api start") {
		if parents[start.ParentSpanID] != start.TraceID {
			t.Errorf("%+v is of none of the ways %+v", start, ways)
		}
	}
}
