package deploy

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/google/go-cmp/cmp"
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
		want     failure
	}{
		"runs":                        {state: container.State{Status: "running", StartedAt: long}},
		"runs since a moment ago":     {state: container.State{Status: "running", StartedAt: now}, want: failure{why: "has only just started", young: true}},
		"has no check since a moment": {state: container.State{Status: "running", StartedAt: now, Health: health("none")}, want: failure{why: "has only just started", young: true}},
		"passed its health check":     {state: container.State{Status: "running", StartedAt: now, Health: health("healthy")}},
		"the engine's clock is ahead": {state: container.State{Status: "running", StartedAt: ago(-time.Hour)}},
		"is unhealthy":                {state: container.State{Status: "running", StartedAt: long, Health: health("unhealthy")}, want: failure{why: "unhealthy"}},
		"is restarted":                {state: container.State{Status: "restarting", StartedAt: now, ExitCode: 1}, restarts: 2, want: failure{why: "restarting with code 1", times: 2}},
		"ends without an error":       {state: container.State{Status: "restarting", StartedAt: now}, restarts: 2, want: failure{why: endless, times: 2}},
		"was restarted just now":      {state: container.State{Status: "running", StartedAt: now}, restarts: 2, want: failure{why: "restarted 2 times", times: 2}},
		"was restarted long ago":      {state: container.State{Status: "running", StartedAt: long}, restarts: 2},
		"has failed":                  {state: container.State{Status: "exited", StartedAt: long, ExitCode: 7}, want: failure{why: "exited with code 7"}},
		"has done its work":           {state: container.State{Status: "exited", StartedAt: now}},
		"cannot start":                {state: container.State{Status: "created", StartedAt: "0001-01-01T00:00:00Z", Error: "no such file"}, want: failure{why: "no such file"}},
	} {
		got := failureOf(&c.state, c.restarts)
		if got.why == "" {
			got = failure{} // it is not listed
		}
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(failure{})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestWhatHasOnlyJustStartedIsWaitedForAndIsNoReason(t *testing.T) {
	t.Parallel()
	r := &fakeRunner{failed: []failure{{service: "store", why: "has only just started", young: true}}}
	d, _ := managed(t, r, func(w http.ResponseWriter, _ *http.Request) { reply(t, w, nodes("running", "running")) })
	if said, want := waitInVain(t, d), "store: has only just started"; said != want {
		t.Errorf("it says %s, want %s", said, want)
	}
	if said := d.reasons(t.Context()); said != "" {
		t.Errorf("reasons:%s", said)
	}
}
