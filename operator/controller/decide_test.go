package controller

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/toskose/toskose/operator/levels"
)

// robotBelow returns an asset of a line with a state that its controller has reported.
func robotBelow(line *object, deploy bool, ready string, generation, observed int64) *object {
	o := newObject(gvkOf(levels.Kind{Group: levels.LevelGroup, Kind: "Asset"}), types.NamespacedName{Name: "line-1-robot"})
	own(o, line)
	o.SetGeneration(generation)
	o.Object["spec"] = map[string]any{"name": "robot", "deploy": deploy}
	o.Object["status"] = map[string]any{"ready": ready, "observedGeneration": observed}
	return o
}

func TestTheStateOfALevelIsThatOfWhatIsBelowIt(t *testing.T) {
	t.Parallel()
	structure, err := levels.Parse("assemblyline,asset", levels.LevelGroup)
	if err != nil {
		t.Fatal(err)
	}
	place, _ := structure.Find("assemblyline")
	line := newObject(gvkOf(place.Own), types.NamespacedName{Name: "line-1"})
	line.SetUID("line")
	other := line.DeepCopy()
	other.SetUID("other")
	tests := map[string]struct {
		deployed bool
		below    *object
		want     string
	}{
		"stored itself":                       {false, nil, levels.Stored},
		"nothing there yet":                   {true, nil, levels.Deploying},
		"running":                             {true, robotBelow(line, true, levels.Running, 2, 2), levels.Running},
		"deploying":                           {true, robotBelow(line, true, levels.Deploying, 2, 2), levels.Deploying},
		"running before its last change":      {true, robotBelow(line, true, levels.Running, 3, 2), levels.Deploying},
		"to be stored":                        {true, robotBelow(line, false, levels.Stored, 2, 2), levels.Running},
		"stored, but not for long":            {true, robotBelow(line, true, levels.Stored, 2, 2), levels.Deploying},
		"running, and of another line's list": {true, robotBelow(other, true, levels.Running, 2, 2), levels.Deploying},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := entry{name: "robot", key: types.NamespacedName{Name: "line-1-robot"}, spec: map[string]any{"name": "robot", "deploy": true}}
			v := view{deployed: test.deployed, entries: []entry{e}, existing: map[types.NamespacedName]*object{}}
			if test.below != nil {
				v.existing[e.key] = test.below
				v.entries[0].spec = mapOf(test.below.Object, "spec")
			}
			d := decide(place, line, v)
			if got := d.ready(test.deployed); got != test.want {
				t.Errorf("it is %s, want %s: %s", got, test.want, d.message(test.deployed))
			}
		})
	}
}

func TestEntriesThatWouldBeOneObjectAreRefused(t *testing.T) {
	t.Parallel()
	structure, _ := levels.Parse("asset", levels.LevelGroup)
	place, _ := structure.Find("application")
	application := newObject(gvkOf(levels.Application), types.NamespacedName{Namespace: "plant", Name: "shop"})
	component := func(name string, permanent bool) any { return map[string]any{"name": name, "permanent": permanent} }
	application.Object["spec"] = map[string]any{"replicas": int64(2), "components": []any{
		component("api", false), component("shop-api", true), map[string]any{"name": "both", "permanent": true, "workload": map[string]any{}},
	}}
	all, problems := entriesOf(place, application, "plant")
	if len(all) != 1 || all[0].key.Name != "shop-api" || all[0].spec["replicas"] != int64(2) {
		t.Errorf("the entries are %v", all)
	}
	want := []string{`component "api" and "shop-api" would both have the name "shop-api"`, `component "both" is permanent, so it cannot have a workload`}
	if len(problems) != 2 || problems[0] != want[0] || problems[1] != want[1] {
		t.Errorf("the problems are %q, want %q", problems, want)
	}
}

func TestTheStateOfAWorkload(t *testing.T) {
	t.Parallel()
	status := func(observed, replicas, updated, ready int64) map[string]any {
		return map[string]any{"observedGeneration": observed, "replicas": replicas, "updatedReplicas": updated, "readyReplicas": ready}
	}
	condition := func(kind string) map[string]any {
		return map[string]any{"succeeded": int64(1), "conditions": []any{map[string]any{"type": kind, "status": "True", "message": "of the test"}}}
	}
	tests := map[string]struct {
		kind    string
		status  map[string]any
		running bool
		why     string
	}{
		"ready":           {"Deployment", status(3, 2, 2, 2), true, "2 of 2 replicas are ready"},
		"not seen yet":    {"Deployment", status(2, 2, 2, 2), false, "replicas of an earlier version are being replaced"},
		"being updated":   {"StatefulSet", status(3, 2, 1, 2), false, "replicas of an earlier version are being replaced"},
		"old pods remain": {"Deployment", status(3, 3, 2, 3), false, "replicas of an earlier version are being replaced"},
		"one lost":        {"Deployment", status(3, 2, 2, 1), false, "1 of 2 replicas are ready"},
		"a Job runs":      {"Job", map[string]any{"active": int64(1)}, false, "its Job has not finished yet"},
		"a Job is done":   {"Job", condition("Complete"), true, "its Job is complete"},
		"a Job failed":    {"Job", condition("Failed"), false, "its Job failed: of the test"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := &object{Object: map[string]any{"kind": test.kind, "status": test.status, "metadata": map[string]any{"generation": int64(3)}}}
			want := &object{Object: map[string]any{"spec": map[string]any{"replicas": int64(2)}}}
			if got := stateOf(want, now); got.running != test.running || got.why != test.why {
				t.Errorf("it is %+v, want %v: %s", got, test.running, test.why)
			}
		})
	}
	if got := stateOf(&object{Object: map[string]any{}}, nil); got.running {
		t.Error("a workload that does not exist is running")
	}
}
