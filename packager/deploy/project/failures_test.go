package project

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/packager/deploy/backend"
	"github.com/toskose/toskose/packager/deploy/engine"
)

func TestWhatAnEngineSaysOfAContainer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testWhatAnEngineSaysOfAContainer) // in no time
}

func testWhatAnEngineSaysOfAContainer(t *testing.T) {
	t.Helper()
	ago := func(d time.Duration) string { return time.Now().Add(-d).Format(time.RFC3339Nano) }
	now, long := ago(time.Millisecond), ago(time.Hour)
	health := func(s container.HealthStatus) *container.Health { return &container.Health{Status: s} }
	for name, c := range map[string]struct {
		state    container.State
		restarts int
		want     backend.Failure
	}{
		"runs":                        {state: container.State{Status: "running", StartedAt: long}},
		"runs since a moment ago":     {state: container.State{Status: "running", StartedAt: now}, want: backend.Failure{Why: "has only just started", Young: true}},
		"has no check since a moment": {state: container.State{Status: "running", StartedAt: now, Health: health("none")}, want: backend.Failure{Why: "has only just started", Young: true}},
		"passed its health check":     {state: container.State{Status: "running", StartedAt: now, Health: health("healthy")}},
		"the engine's clock is ahead": {state: container.State{Status: "running", StartedAt: ago(-time.Hour)}},
		"is unhealthy":                {state: container.State{Status: "running", StartedAt: long, Health: health("unhealthy")}, want: backend.Failure{Why: "unhealthy"}},
		"is restarted":                {state: container.State{Status: "restarting", StartedAt: now, ExitCode: 1}, restarts: 2, want: backend.Failure{Why: "restarting with code 1", Times: 2}},
		"ends without an error":       {state: container.State{Status: "restarting", StartedAt: now}, restarts: 2, want: backend.Failure{Why: engine.EndlessRestarts, Times: 2}},
		"was restarted just now":      {state: container.State{Status: "running", StartedAt: now}, restarts: 2, want: backend.Failure{Why: "restarted 2 times", Times: 2}},
		"was restarted long ago":      {state: container.State{Status: "running", StartedAt: long}, restarts: 2},
		"has failed":                  {state: container.State{Status: "exited", StartedAt: long, ExitCode: 7}, want: backend.Failure{Why: "exited with code 7"}},
		"has done its work":           {state: container.State{Status: "exited", StartedAt: now}},
		"cannot start":                {state: container.State{Status: "created", StartedAt: "0001-01-01T00:00:00Z", Error: "no such file"}, want: backend.Failure{Why: "no such file"}},
	} {
		got := failureOf(&c.state, c.restarts)
		if got.Why == "" {
			got = backend.Failure{} // it is not listed
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestWhatAnEngineSaysOfAJob(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		long := time.Now().Add(-time.Hour).Format(time.RFC3339Nano)
		now := time.Now().Add(-time.Millisecond).Format(time.RFC3339Nano)
		for name, c := range map[string]struct {
			state    container.State
			restarts int
			want     backend.Failure
		}{
			"runs":                         {state: container.State{Status: "running", StartedAt: long}, want: backend.Failure{Job: true}},
			"has completed":                {state: container.State{Status: "exited", StartedAt: now}, want: backend.Failure{Job: true}},
			"has completed after failures": {state: container.State{Status: "exited", StartedAt: now}, restarts: 5, want: backend.Failure{Job: true}},
			"is tried again, as it may be": {state: container.State{Status: "restarting", StartedAt: now, ExitCode: 7}, restarts: 5, want: backend.Failure{Job: true, Why: "restarting with code 7"}},
			"runs after failures":          {state: container.State{Status: "running", StartedAt: now}, restarts: 5, want: backend.Failure{Job: true, Why: "restarted 5 times"}},
			"has failed for good":          {state: container.State{Status: "exited", StartedAt: now, ExitCode: 7}, restarts: 5, want: backend.Failure{Job: true, Why: "exited with code 7", Final: true}},
			"has failed, and has one try":  {state: container.State{Status: "exited", StartedAt: now, ExitCode: 7}, want: backend.Failure{Job: true, Why: "exited with code 7", Final: true}},
			"cannot even start, so far":    {state: container.State{Status: "created", StartedAt: "0001-01-01T00:00:00Z", Error: "no such file"}, want: backend.Failure{Job: true, Why: "no such file"}},
			"is healthy, and has just begun": {
				state: container.State{Status: "running", StartedAt: now, Health: &container.Health{Status: "healthy"}}, want: backend.Failure{Job: true, Why: "has only just started", Young: true},
			},
			"has only just begun":           {state: container.State{Status: "running", StartedAt: now}, want: backend.Failure{Job: true, Why: "has only just started", Young: true}},
			"was ended with the machine":    {state: container.State{Status: "dead", StartedAt: long, ExitCode: 137}, want: backend.Failure{Job: true, Why: "dead with code 137", Final: true}},
			"runs long after it had failed": {state: container.State{Status: "running", StartedAt: long}, restarts: 2, want: backend.Failure{Job: true}},
		} {
			got := asJob(failureOf(&c.state, c.restarts), &c.state)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	})
}

func TestTheLogOfANodeIsThatOfItsContainerWhateverItsServiceIsCalled(t *testing.T) {
	t.Parallel()
	p := onShop(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/containers/json") {
			_, _ = io.WriteString(w, `[{"Id": "1", "Labels": {"com.docker.compose.service": "web-1", "io.toskose.node": "web.1"}}]`)
			return
		}
		_, _ = w.Write(append([]byte{1, 0, 0, 0, 0, 0, 0, 6}, "listen"...))
	})
	for silent, want := range map[bool]string{true: "listen", false: ""} {
		if said, err := p.Logs(t.Context(), backend.Failure{Service: "web.1", Silent: silent}); err != nil || said != want {
			t.Errorf("with a unit that is silent (%v): %q, %v", silent, said, err)
		}
	}
}
