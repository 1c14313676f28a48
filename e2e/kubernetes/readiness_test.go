package kubernetes_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/toskose/toskose/internal/sample"
	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/spec"
)

// TestNamesLeadToPodsThatAreReadyAndTheManagerToAll: only the manager has
// something to do with a unit whose components are not up.
func TestNamesLeadToPodsThatAreReadyAndTheManagerToAll(t *testing.T) {
	t.Parallel()
	all := built(t, packaged(t, plan(t, sample.App(), config.Config{}), defaults(), false))
	backend := get[*appsv1.Deployment](t, all, "Deployment/backend").Spec.Template.Spec.Containers[0]
	if diff := cmp.Diff([]string{packager.UnitPath, "ready"}, backend.ReadinessProbe.Exec.Command); diff != "" {
		t.Error(diff)
	}
	for name, p := range map[string]*corev1.Probe{"liveness": backend.LivenessProbe, "startup": backend.StartupProbe} {
		if diff := cmp.Diff([]string{packager.UnitPath, "health"}, p.Exec.Command); diff != "" {
			t.Errorf("%s: a pod is restarted for what its components do: %s", name, diff)
		}
	}
	for name, unready := range map[string]bool{"backend": false, "api": false, "backend-public": false, "frontend": false, "backend-units": true, "frontend-units": true} {
		if s := get[*corev1.Service](t, all, "Service/"+name); s.Spec.PublishNotReadyAddresses != unready {
			t.Errorf("%s: %+v", name, s.Spec)
		}
	}
	env := map[string]string{}
	for _, v := range get[*appsv1.Deployment](t, all, "Deployment/toskose-manager").Spec.Template.Spec.Containers[0].Env {
		env[v.Name] = v.Value
	}
	if got, want := env["TOSKOSE_DISCOVERY_UNITS"], "backend=backend-units,frontend=frontend-units"; got != want {
		t.Errorf("the manager finds %q, want %q", got, want)
	}
}

// TestAPodThatIsNotReadyIsReplacedByWhatMendsIt: by default a StatefulSet waits
// until the pods that it has are ready.
func TestAPodThatIsNotReadyIsReplacedByWhatMendsIt(t *testing.T) {
	t.Parallel()
	app := sample.App()
	app.Nodes[0].Storage = []spec.Storage{{Volume: "dbvolume", Location: "/shared"}}
	all := built(t, packaged(t, plan(t, app, config.Config{}), defaults(), false))
	for _, name := range []string{app.Nodes[0].Name, "store"} {
		if got := get[*appsv1.StatefulSet](t, all, "StatefulSet/"+name).Spec.PodManagementPolicy; got != appsv1.ParallelPodManagement {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestTheManagerIsSoonElsewhere(t *testing.T) {
	t.Parallel()
	all := built(t, packaged(t, plan(t, sample.App(), config.Config{}), defaults(), false))
	tolerated := func(name string) map[string]int64 {
		out := map[string]int64{}
		for _, to := range get[*appsv1.Deployment](t, all, "Deployment/"+name).Spec.Template.Spec.Tolerations {
			if to.Operator == corev1.TolerationOpExists && to.Effect == corev1.TaintEffectNoExecute {
				out[to.Key] = *to.TolerationSeconds
			}
		}
		return out
	}
	want := map[string]int64{corev1.TaintNodeNotReady: 30, corev1.TaintNodeUnreachable: 30}
	if diff := cmp.Diff(want, tolerated("toskose-manager")); diff != "" {
		t.Error(diff)
	}
	if got := tolerated("backend"); len(got) > 0 {
		t.Errorf("backend: %v", got)
	}
}
