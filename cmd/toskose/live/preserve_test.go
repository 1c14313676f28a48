package live_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toskose/toskose/cmd/toskose/live"
	"github.com/toskose/toskose/packager/deploy/backend"
	"github.com/toskose/toskose/unit/wire"
)

// kept is a manager with a goal and one component.
type kept struct {
	goal, app string // as JSON
	asked     []string
	mu        sync.Mutex
}

func (k *kept) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	if r.Method != http.MethodGet {
		k.asked = append(k.asked, r.Method+" "+strings.TrimPrefix(r.URL.Path, "/api/v1/app/"))
	}
	switch {
	case r.URL.Path == "/api/v1/app":
		_, _ = io.WriteString(w, k.app)
		return
	case r.Method == http.MethodPut:
		k.goal = `{"state": "up", "revision": "9:z", "acting": true, "done": true, "reached": 1, "wanted": 1}`
	case strings.HasSuffix(r.URL.Path, "/restore") && !strings.Contains(k.goal, `"8:`): // a newer one
		var goal map[string]any
		_ = json.Unmarshal(body, &goal)
		goal["acting"] = true
		body, _ = json.Marshal(goal)
		k.goal = string(body)
	case k.goal == "":
		w.WriteHeader(http.StatusNotFound)
		return
	}
	_, _ = io.WriteString(w, k.goal)
}

func (k *kept) access(t *testing.T) backend.Access {
	t.Helper()
	server := httptest.NewServer(k)
	t.Cleanup(server.Close)
	return backend.Access{Address: server.URL, User: "admin", Password: "pw"}
}

func api(state, instance string) string {
	why := "start succeeded"
	if state == "deleted" {
		why = wire.Untouched
	}
	return `{"name": "shop", "components": [{"name": "api", "node": "backend", "state": "` + state + `", "replicas": [{"address": "a", "instance": "` + instance + `", "why": "` + why + `"}]}]}`
}

func TestAGoalIsCarriedOverADeployment(t *testing.T) {
	t.Parallel()
	const (
		none  = `{"acting": true}`
		seven = `{"acting": true, "state": "up", "revision": "7:a", "asked": "6:b", "by": "jo", "at": "2026-11-22T12:00:00Z", "holds": {"api": {"by": "jo"}}}`
		eight = `{"acting": true, "states": {"api": "down"}, "revision": "8:b", "by": "al", "at": "2026-11-22T13:00:00Z"}`
	)
	for name, tt := range map[string]struct {
		before, after *kept // nil: nothing ran before
		up            bool
		then          string // the goal of the release that a rollback leads to
		asked, says   string
	}{
		"back to a release that had another goal":  {before: &kept{goal: seven, app: api("running", "a")}, after: &kept{goal: seven, app: api("running", "a")}, then: `{"states": {"api": "down"}, "by": "al", "at": "2026-11-22T11:00:00Z"}`, asked: "PUT goal", says: "the goal of this release is restored: api=down, set by al at 2026-11-22T11:00:00Z"},
		"back to a release that had the same goal": {before: &kept{goal: seven, app: api("running", "a")}, after: &kept{goal: seven, app: api("running", "a")}, then: `{"state": "up"}`},
		"back to a release without a goal":         {before: &kept{goal: seven, app: api("running", "a")}, after: &kept{goal: seven, app: api("running", "a")}, then: `{"state": "none"}`},

		"nobody set one":        {before: &kept{goal: none, app: api("running", "a")}, after: &kept{goal: none, app: api("running", "a")}},
		"all know it":           {before: &kept{goal: seven, app: api("running", "a")}, after: &kept{goal: seven, app: api("running", "a")}},
		"nobody knows it":       {before: &kept{goal: seven, app: api("running", "a")}, after: &kept{goal: none, app: api("deleted", "b")}, asked: "POST goal/restore", says: "the goal is restored: up, set by jo at 2026-11-22T12:00:00Z\nin new containers, to be created again: api; the goal does that"},
		"an older one is known": {before: &kept{goal: seven, app: api("running", "a")}, after: &kept{goal: strings.Replace(seven, "7:a", "3:c", 1), app: api("running", "a")}, asked: "POST goal/restore", says: "the goal is restored: up"},
		"a newer one is known":  {before: &kept{goal: seven, app: api("running", "a")}, after: &kept{goal: eight, app: api("running", "a")}, asked: "POST goal/restore", says: "units have a newer goal: api=down, set by al"},
		"nothing ran before":    {after: &kept{goal: eight, app: api("deleted", "b")}, says: "units still have a goal: api=down, set by al"},
		"no goal, replaced":     {before: &kept{goal: none, app: api("running", "a")}, after: &kept{goal: none, app: api("deleted", "b")}, says: "in new containers, to be created again: api; run toskose up"},
		"the goal was faster":   {before: &kept{goal: seven, app: api("running", "a")}, after: &kept{goal: seven, app: api("running", "b")}, says: "in new containers, to be created again: api; the goal does that"},
		"replaced, but unused":  {before: &kept{goal: none, app: api("deleted", "a")}, after: &kept{goal: none, app: api("deleted", "b")}},
		"no goal, up":           {after: &kept{goal: none, app: api("deleted", "b")}, up: true, asked: "PUT goal", says: "1 of 1"},
		"an old manager":        {before: &kept{app: api("running", "a")}, after: &kept{app: api("running", "a")}, says: "the previous goal is not known: 404 Not Found\nthe goal is not known: 404 Not Found"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var said []string
			goal := &live.PreservedGoal{Up: tt.up, Timeout: time.Minute, Say: func(line string) { said = append(said, line) }}
			if tt.before != nil {
				goal.Read(t.Context(), tt.before.access(t))
			}
			if tt.then != "" {
				goal.Load([]byte(tt.then))
			}
			if err := goal.Restore(t.Context(), tt.after.access(t), false); err != nil {
				t.Fatal(err)
			}
			if asked := strings.Join(tt.after.asked, "\n"); asked != tt.asked {
				t.Errorf("asked for %q, want %q", asked, tt.asked)
			}
			if says := strings.Join(said, "\n"); !strings.HasPrefix(says, tt.says) || tt.says == "" && says != "" {
				t.Errorf("it says %q, want %q", says, tt.says)
			}
		})
	}
	external := &live.PreservedGoal{Up: true}
	if err := external.Restore(t.Context(), backend.Access{}, false); err == nil || !strings.Contains(err.Error(), "external") {
		t.Errorf("with an external password: %v", err)
	}
}
