package manager_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/fakeunit"
	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/unit/wire"
)

// version is a manager of one version of Thinking: the newer has a component more in
// backend.
func version(t *testing.T, found fakeunit.Containers, newer bool) *manager.App {
	t.Helper()
	model, digest := fakeunit.Thinking(), "old"
	if newer {
		digest = "new"
		cache := model.Components[0]
		cache.Name, cache.Interfaces = "cache", []spec.Interface{{Name: "Standard", Operations: []spec.Operation{{Name: "start", Script: "scripts/cache.sh"}}}}
		model.Components = append(model.Components, cache)
	}
	for _, i := range []int{0, 1} {
		model.Nodes[i].Unit.Digest = digest
	}
	app, err := manager.New(model, manager.Options{
		Containers: found, Passwords: fakeunit.PasswordOf,
		Patience: 100 * time.Millisecond, Backoff: time.Millisecond, Discover: 20 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(app.Close)
	return app
}

// passing are two replicas of backend, of both versions, of a rolling deployment.
func passing(t *testing.T) (older, newer *fakeunit.Unit, found fakeunit.Containers) {
	t.Helper()
	older, newer = fakeunit.Backend("i1", nil, fakeunit.End{Target: "started"}), fakeunit.Backend("i2", nil, fakeunit.End{Target: "started"})
	older.Digest, newer.Digest = "old", "new"
	for _, u := range []*fakeunit.Unit{older, newer} {
		u.Operations["api"]["Standard.stop"] = fakeunit.Operation{From: []string{"started"}, End: fakeunit.End{Target: "configured"}}
	}
	newer.Operations["cache"] = map[string]fakeunit.Operation{"Standard.start": {From: []string{"configured"}, End: fakeunit.End{Target: "started"}}}
	return older, newer, fakeunit.Containers{"backend": {
		older.Start(t, configured), newer.Start(t, map[string]string{"api": "configured", "cache": "configured"}),
	}}
}

// keeps returns the goal that a unit keeps.
func keeps(t *testing.T, u *fakeunit.Unit) *goal.Document {
	t.Helper()
	kept, err := u.Document(wire.GoalDocument)
	if err != nil {
		t.Fatal(err)
	}
	d, err := goal.ParseDocument(kept.Content)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func executed(t *testing.T, u *fakeunit.Unit, want ...string) {
	t.Helper()
	got := u.Executed()
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("%s executed %v, not %v", u.Instance, got, want)
	}
}

func TestManagersOfTwoVersionsOperateEachItsOwn(t *testing.T) {
	t.Parallel()
	older, newer, found := passing(t)

	// A person sets a goal with a word that only the newer version has, at the older.
	before := version(t, found, false)
	states := map[string]string{"api": "started", "cache": "started"}
	set, kept, err := before.SetGoal(t.Context(), rest.GoalRequest{States: states, By: "jo"})
	if err != nil || !kept || !strings.Contains(strings.Join(set.Notes, ""), `"cache"`) {
		t.Fatalf("%+v, kept %v, %v", set, kept, err)
	}
	started := func(app *manager.App, instance, component string) {
		t.Helper()
		awaitGoal(t, app, instance+" "+component+" started", func(rest.Goal) bool {
			c, err := app.Component(t.Context(), "backend", component, manager.StatesOnly)
			return err == nil && slices.ContainsFunc(c.Replicas, func(r rest.ComponentReplica) bool {
				return r.Instance == instance && r.State == "started"
			})
		})
	}
	started(before, "i1", "api")
	g := before.Goal()
	if outdated := slices.ContainsFunc(g.Obstacles, func(o goal.Obstacle) bool {
		return o.Instance == "i2" && strings.HasPrefix(o.Reason, "outdated")
	}); !outdated || g.Done {
		t.Errorf("it is not said that i2 is outdated: %+v", g)
	}
	executed(t, older, "api:Standard.start")
	executed(t, newer)

	// The newer finds the goal, knows all its words, and brings its own up.
	after := version(t, found, true)
	started(after, "i2", "api")
	started(after, "i2", "cache")
	executed(t, older, "api:Standard.start")
	executed(t, newer, "api:Standard.start", "cache:Standard.start")
	for app, own := range map[*manager.App]string{before: "i1", after: "i2"} {
		c, err := app.Component(t.Context(), "backend", "api", manager.StatesOnly)
		if err != nil || len(c.Replicas) != 2 {
			t.Fatalf("%+v, %v", c, err)
		}
		for _, r := range c.Replicas {
			if r.Outdated == (r.Instance == own) {
				t.Errorf("to the manager of %s: %+v", own, r)
			}
		}
	}
	if old, now := keeps(t, older), keeps(t, newer); old.Revision != now.Revision || old.States["cache"] != "started" {
		t.Errorf("the units keep %+v and %+v", old, now)
	}

	// What fell is started again by the manager of its version, and by it alone.
	older.Fall("api")
	newer.Fall("cache")
	awaitGoal(t, after, "reached again", func(rest.Goal) bool { return len(older.Executed()) >= 2 && len(newer.Executed()) >= 3 })
	started(before, "i1", "api")
	started(after, "i2", "cache")
	executed(t, older, "api:Standard.start", "api:Standard.start")
	executed(t, newer, "api:Standard.start", "cache:Standard.start", "cache:Standard.start")
}

func TestAnOlderManagerKeepsWhatANewerOneSaysInTheGoal(t *testing.T) {
	t.Parallel()
	older, newer, found := passing(t)
	text := `{"revision":"7:abc","asked":"7:abc","states":{"api":"started"},"pace":{"api":"slow"},"holds":{"cache":{"by":"jo","until":"noon"}}}`
	for _, u := range []*fakeunit.Unit{older, newer} {
		if _, err := u.PutDocument(wire.GoalDocument, wire.Document{Revision: wire.Revision{Counter: 7, ID: "abc"}, Content: json.RawMessage(text)}); err != nil {
			t.Fatal(err)
		}
	}
	app := version(t, found, false)
	awaitGoal(t, app, "known", func(g rest.Goal) bool { return g.Acting && g.Revision == "7:abc" && g.Reached == 1 })
	if _, err := app.Start(t.Context(), rest.RunRequest{Node: "backend", Component: "api", Operation: "Standard.stop", Replica: "i1", By: "ann"}); err != nil {
		t.Fatal(err)
	}
	awaitGoal(t, app, "with a hold more", func(g rest.Goal) bool { return len(g.Holds) == 2 && len(g.Lacking) == 0 })
	if _, kept, err := app.SetGoal(t.Context(), rest.GoalRequest{States: map[string]string{"gui": "configured"}, Merge: true}); err != nil || !kept {
		t.Fatalf("kept %v, %v", kept, err)
	}
	awaitGoal(t, app, "everywhere", func(g rest.Goal) bool { return len(g.Lacking) == 0 })
	for _, u := range []*fakeunit.Unit{older, newer} {
		d := keeps(t, u)
		if string(d.Unknown["pace"]) != `{"api":"slow"}` || string(d.Holds["cache"].Unknown["until"]) != `"noon"` || d.Holds["api"].By != "ann" || d.States["gui"] != "configured" {
			t.Errorf("%s keeps %+v", u.Instance, d)
		}
	}
}
