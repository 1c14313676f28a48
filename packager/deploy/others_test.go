package deploy

import (
	"os"
	"strings"
	"testing"
	"time"
)

// TestObjectsOfAnotherAreNotTakenOver deploys to a namespace that has objects already.
func TestObjectsOfAnotherAreNotTakenOver(t *testing.T) {
	object := func(kind, name, labels string) string {
		return `{"kind": "` + kind + `", "metadata": {"name": "` + name + `", "labels": {` + labels + `}}}`
	}
	const ours, another = `"app.kubernetes.io/part-of": "shop", "app.kubernetes.io/managed-by": "toskose"`, `"app.kubernetes.io/part-of": "blog", "app.kubernetes.io/managed-by": "toskose"`
	for name, tt := range map[string]struct{ answer, want string }{
		"another application's": {
			`{"kind": "List", "items": [` + object("Namespace", "shop", "") + "," + object("Service", "backend", another) + "," + object("Deployment", "frontend", ours) + `]}`,
			`namespace "shop" has a service "backend" already, and it belongs to application "blog": package it for another namespace`,
		},
		"somebody's": {object("Deployment", "backend", `"app": "x"`), `namespace "shop" has a deployment "backend" already, and toskose has not created it`},
	} {
		dir, calls := fakeCluster(t, "*\"get --kustomize\"*) echo '"+strings.ReplaceAll(tt.answer, "'", `'\''`)+"' ;;")
		_, err := Up(t.Context(), nil, Options{Dir: dir, Target: Kubernetes, Timeout: time.Minute, Environ: os.Environ(), Progress: t.Output()})
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Count(err.Error(), "already") != 1 {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
		if changed := changes(calls()); len(changed) > 0 {
			t.Errorf("%s: %q", name, changed)
		}
	}
}
