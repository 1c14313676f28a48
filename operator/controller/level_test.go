package controller

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/toskose/toskose/operator/levels"
)

func (p *plant) counts() map[string]int {
	p.t.Helper()
	all := map[string]int{}
	for _, gvk := range p.kinds() {
		if n := len(p.list(gvk)); n > 0 {
			all[gvk.Kind] = n
		}
	}
	return all
}

func (p *plant) kind(name string) levels.Kind {
	p.t.Helper()
	place, ok := p.structure.Find(name)
	if !ok {
		p.t.Fatalf("no kind %q", name)
	}
	return place.Own
}

func (p *plant) ready(kind, namespace, name string) string {
	p.t.Helper()
	o := p.get(gvkOf(p.kind(kind)), namespace, name)
	if o == nil {
		return "missing"
	}
	return situationOf(o)
}

func TestOneFileBringsUpALine(t *testing.T) {
	t.Parallel()
	p := newPlant(t, "assemblyline,asset", "plant")
	p.post(caseStudy().String())
	p.settle()
	want := map[string]int{"Assemblyline": 1, "Asset": 2, "Application": 4, "Component": 9, "Deployment": 9, "ConfigMap": 1}
	if diff := cmp.Diff(want, p.counts()); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	for _, o := range p.requests() {
		if got := p.ready(o.kind.Singular, o.key.Namespace, o.key.Name); got != levels.Running {
			t.Errorf("%s %s is %s", o.kind.Kind, o.key.Name, got)
		}
	}
	for _, name := range []string{"line-1-robot-1-acquisition-camera", "process"} {
		if p.get(gvkOf(levels.Component), "plant", name) == nil {
			t.Errorf("there is no component %q", name)
		}
	}
}

func TestALineIsAsReadyAsTheLeastOfItsReplicas(t *testing.T) {
	t.Parallel()
	p := newPlant(t, "assemblyline,asset", "plant")
	p.post(caseStudy().String())
	p.settle()
	camera := "line-1-robot-1-acquisition-camera"
	o := p.get(deploymentKind, "plant", camera)
	p.setStatus(o, map[string]any{"replicas": int64(1), "updatedReplicas": int64(1), "readyReplicas": int64(0)})
	upward := []struct{ kind, namespace, name string }{
		{"component", "plant", camera}, {"application", "plant", "line-1-robot-1-acquisition"}, {"asset", "", "line-1-robot-1"}, {"assemblyline", "", "line-1"},
	}
	for _, r := range upward {
		if got := p.ready(r.kind, r.namespace, r.name); got != levels.Running {
			t.Errorf("%s is %s before its controller has seen the loss", r.kind, got)
		}
		key := newObject(gvkOf(p.kind(r.kind)), client.ObjectKey{Namespace: r.namespace, Name: r.name})
		p.reconcile(p.kind(r.kind), keyOf(key))
		if got := p.ready(r.kind, r.namespace, r.name); got != levels.Deploying {
			t.Errorf("%s is %s after the loss of a replica", r.kind, got)
		}
	}
	if got := p.ready("asset", "", "line-1-robot-2"); got != levels.Running {
		t.Errorf("the other robot is %s", got)
	}
	p.settle()
	if got := p.ready("assemblyline", "", "line-1"); got != levels.Running {
		t.Errorf("the line is %s when the replica is back", got)
	}
}

func TestAStoredResourceHasNothingBelowIt(t *testing.T) {
	t.Parallel()
	p := newPlant(t, "assemblyline,asset", "plant")
	l := caseStudy()
	l.assets[1].deploy = false
	p.post(l.String())
	p.settle()
	if got := p.ready("asset", "", "line-1-robot-2"); got != levels.Stored {
		t.Errorf("the stored robot is %s", got)
	}
	if got := p.ready("assemblyline", "", "line-1"); got != levels.Running {
		t.Errorf("the line above a stored robot is %s", got)
	}
	if diff := cmp.Diff(map[string]int{"Assemblyline": 1, "Asset": 2, "Application": 2, "Component": 5, "Deployment": 5, "ConfigMap": 1}, p.counts()); diff != "" {
		t.Errorf("with a stored robot (-want +got):\n%s", diff)
	}
	l.deploy = false
	p.post(l.String())
	p.settle()
	if diff := cmp.Diff(map[string]int{"Assemblyline": 1, "Component": 1, "Deployment": 1, "ConfigMap": 1}, p.counts()); diff != "" {
		t.Errorf("a stored line with its permanent component (-want +got):\n%s", diff)
	}
	p.post(caseStudy().String())
	p.settle()
	if got := p.ready("assemblyline", "", "line-1"); got != levels.Running {
		t.Errorf("the line is %s when it is deployed again", got)
	}
}

func TestAPermanentComponentHasTheEntriesOfItsApplications(t *testing.T) {
	t.Parallel()
	p := newPlant(t, "assemblyline,asset", "plant")
	l := caseStudy()
	both := l.assets
	l.assets = both[:1]
	p.post(l.String())
	p.settle()
	file := func() string {
		o := p.get(configMapKind, "plant", "cm-process")
		if o == nil {
			return "missing"
		}
		return textOf(o, "data", "process.properties")
	}
	if diff := cmp.Diff(`[InformationSection]
component = process
applications = line-1-robot-1-processing
[OutTopicSection]
line-1-robot-1-processing.sink = topic-processing
[CustomSection]
# line-1-robot-1-processing
of processing
`, file()); diff != "" {
		t.Errorf("one application (-want +got):\n%s", diff)
	}
	template := mapOf(p.get(deploymentKind, "plant", "process").Object, "spec", "template")
	l.assets = both
	p.post(l.String())
	p.settle()
	two := file()
	if !strings.Contains(two, "applications = line-1-robot-1-processing, line-1-robot-2-processing\n") || !strings.Contains(two, "line-1-robot-2-processing.sink") {
		t.Errorf("the file of two applications is\n%s", two)
	}
	if diff := cmp.Diff(template, mapOf(p.get(deploymentKind, "plant", "process").Object, "spec", "template")); diff != "" {
		t.Errorf("the second application changes the pods:\n%s", diff)
	}
	p.delete(gvkOf(p.kind("assemblyline")), "", "line-1")
	p.collectGarbage()
	p.settle()
	if diff := cmp.Diff(map[string]int{"Component": 1, "Deployment": 1, "ConfigMap": 1}, p.counts()); diff != "" {
		t.Errorf("after all applications (-want +got):\n%s", diff)
	}
	if got := p.ready("component", "plant", "process"); got != levels.Running {
		t.Errorf("the permanent component is %s", got)
	}
	if got := file(); strings.Contains(got, "robot") {
		t.Errorf("its file still has removed applications:\n%s", got)
	}
}

func TestAnotherImageOfAPermanentComponentIsAConflict(t *testing.T) {
	t.Parallel()
	p := newPlant(t, "", "plant")
	file := `apiVersion: toskose.io/v1alpha1
kind: Application
metadata: {name: %s, namespace: plant}
spec:
  name: %s
  deploy: true
  replicas: 1
  components:
    - {name: process, image: "process:%d", permanent: true, flowConfig: {previous: [], next: []}}
`
	p.post(fmt.Sprintf(file, "first", "first", 1))
	p.settle()
	p.post(fmt.Sprintf(file, "second", "second", 2))
	p.settle()
	second := p.get(gvkOf(levels.Application), "plant", "second")
	if got, want := messageOf(mapOf(second.Object, "status"), conditionConflict), `component "process" is permanent, and other applications use it with the image "process:1"`; got != want {
		t.Errorf("the conflict is %q, want %q", got, want)
	}
	if got := situationOf(second); got != levels.Deploying {
		t.Errorf("the second application is %s", got)
	}
	if got := p.ready("application", "plant", "first"); got != levels.Running {
		t.Errorf("the first application is %s", got)
	}
	if users := usersOf(p.get(gvkOf(levels.Component), "plant", "process")); !slices.Equal(users, []string{"first"}) {
		t.Errorf("the users are %v", users)
	}
	p.post(fmt.Sprintf(file, "second", "second", 1))
	p.settle()
	if got := p.ready("application", "plant", "second"); got != levels.Running {
		t.Errorf("the second application is %s with the same image", got)
	}
}

func TestAnObjectOfAnotherOwnerIsLeftAlone(t *testing.T) {
	t.Parallel()
	p := newPlant(t, "asset", "plant")
	p.post(`apiVersion: toskose.io/v1alpha1
kind: Application
metadata: {name: robot-1-shop, namespace: plant}
spec: {name: shop, deploy: true, replicas: 1, components: []}
---
apiVersion: levels.toskose.io/v1alpha1
kind: Asset
metadata: {name: robot-1}
spec:
  name: robot-1
  deploy: true
  applications:
    - {name: shop, deploy: false, replicas: 3, components: []}
    - {name: free, deploy: true, replicas: 1, components: []}
    - {name: out, namespace: elsewhere, deploy: true, replicas: 1, components: []}
`)
	p.settle()
	shop := p.get(gvkOf(levels.Application), "plant", "robot-1-shop")
	if controllerOf(shop) != nil || numberOf(shop, "spec", "replicas") != 1 {
		t.Errorf("the application of another owner was changed: %v", shop.Object)
	}
	status := mapOf(p.get(gvkOf(p.kind("asset")), "", "robot-1").Object, "status")
	if got, want := messageOf(status, conditionConflict), `application "robot-1-shop" exists, and belongs to no owner`; got != want {
		t.Errorf("the conflict is %q, want %q", got, want)
	}
	if got, want := messageOf(status, conditionInvalid), `application "out": namespace "elsewhere" does not exist or has no label toskose.io/levels: enabled`; got != want {
		t.Errorf("the invalid entry is %q, want %q", got, want)
	}
	if got := p.ready("application", "plant", "robot-1-free"); got != levels.Running {
		t.Errorf("the other application is %s", got)
	}
	if p.get(gvkOf(levels.Application), "elsewhere", "robot-1-out") != nil {
		t.Error("there is an application in a namespace without the label")
	}
}

const packaged = `apiVersion: toskose.io/v1alpha1
kind: Application
metadata: {name: thinking, namespace: thinking}
spec:
  name: thinking
  deploy: true
  replicas: 1
  upper: {kind: Asset, name: robot-1}
  components:
    - name: api
      image: api:1
      flowConfig: {previous: [], next: []}
      workload:
        kind: StatefulSet
        metadata: {name: api, labels: {app.kubernetes.io/part-of: thinking}, annotations: {note: kept}}
        spec: {replicas: 2, serviceName: api, selector: {matchLabels: {app: api}}, template: {metadata: {labels: {app: api}}, spec: {containers: [{name: api, image: "api:1"}]}}}
`

const robot = `apiVersion: levels.toskose.io/v1alpha1
kind: Asset
metadata: {name: robot-1}
spec: {name: robot-1, deploy: %v, applications: []}
`

func TestAnApplicationThatNamesItsUpperResourceBelongsToIt(t *testing.T) {
	t.Parallel()
	p := newPlant(t, "asset", "plant", "thinking")
	p.post(packaged)
	p.settle()
	if got := p.ready("application", "thinking", "thinking"); got != levels.Stored {
		t.Errorf("it is %s without its upper resource", got)
	}
	p.post(fmt.Sprintf(robot, true))
	p.settle()
	for _, r := range [][3]string{{"application", "thinking", "thinking"}, {"asset", "", "robot-1"}, {"component", "thinking", "thinking-api"}} {
		if got := p.ready(r[0], r[1], r[2]); got != levels.Running {
			t.Errorf("%s is %s", r[2], got)
		}
	}
	parts := listOf(p.get(gvkOf(p.kind("asset")), "", "robot-1").Object, "status", "applications")
	if len(parts) != 1 || wordOf(parts[0], "name") != "thinking/thinking" {
		t.Errorf("the robot's applications are %v", parts)
	}
	api := p.get(statefulSetKind, "thinking", "api")
	if api == nil || api.GetAnnotations()["note"] != "kept" || api.GetLabels()["app.kubernetes.io/part-of"] != "thinking" || controllerOf(api).Kind != "Component" {
		t.Errorf("the workload is %v", api)
	}
	p.post(fmt.Sprintf(robot, false))
	p.settle()
	if got := p.ready("application", "thinking", "thinking"); got != levels.Stored {
		t.Errorf("it is %s below a stored robot", got)
	}
	if p.get(statefulSetKind, "thinking", "api") != nil {
		t.Error("its workload still exists")
	}
	p.delete(gvkOf(p.kind("asset")), "", "robot-1")
	p.settle()
	if len(p.counts()) > 0 {
		t.Errorf("after its upper resource was removed there are %v", p.counts())
	}
}

func TestThePauseOfAnApplicationLeavesItsWorkloadsAlone(t *testing.T) {
	t.Parallel()
	p := newPlant(t, "", "thinking")
	standing := strings.Replace(packaged, "  upper: {kind: Asset, name: robot-1}\n", "", 1)
	p.post(standing)
	p.settle()
	p.post(strings.Replace(standing, "namespace: thinking}", "namespace: thinking, annotations: {toskose.io/paused: \"true\"}}", 1))
	api := p.get(statefulSetKind, "thinking", "api")
	if err := unstructured.SetNestedField(api.Object, int64(0), "spec", "replicas"); err != nil {
		t.Fatal(err)
	}
	if err := p.client.Update(t.Context(), api); err != nil {
		t.Fatal(err)
	}
	p.settle()
	if got := numberOf(p.get(statefulSetKind, "thinking", "api"), "spec", "replicas"); got != 0 {
		t.Errorf("a paused workload has %d replicas", got)
	}
	if got := p.ready("application", "thinking", "thinking"); got != levels.Deploying {
		t.Errorf("without its replicas, a paused application is %s", got)
	}
	p.post(standing)
	p.settle()
	if got := numberOf(p.get(statefulSetKind, "thinking", "api"), "spec", "replicas"); got != 2 {
		t.Errorf("after the pause there are %d replicas", got)
	}
	if got := p.ready("application", "thinking", "thinking"); got != levels.Running {
		t.Errorf("after the pause it is %s", got)
	}
}

func TestNothingIsWrittenWhenAllIsAsWanted(t *testing.T) {
	t.Parallel()
	p := newPlant(t, "assemblyline,asset", "plant")
	p.post(caseStudy().String())
	p.settle()
	*p.writes = 0
	for _, r := range p.requests() { // as after a restart
		p.reconcile(r.kind, r.key)
	}
	if *p.writes > 0 {
		t.Errorf("there were %d writes", *p.writes)
	}
}

func TestEachTransitionHasAnEvent(t *testing.T) {
	t.Parallel()
	p := newPlant(t, "asset", "plant")
	p.post(fmt.Sprintf(robot, true))
	p.settle()
	p.post(fmt.Sprintf(robot, false))
	p.settle()
	close(p.events.Events)
	var all []string
	for e := range p.events.Events {
		all = append(all, e)
	}
	want := []string{"Normal Running everything below it is running", "Normal Stored it is stored, and nothing below it is deployed"}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// Any order of changes, lost events and restarts ends in the same objects (H12).
func TestAnyOrderOfChangesEndsInTheSameObjects(t *testing.T) {
	t.Parallel()
	final := caseStudy()
	fresh := newPlant(t, "assemblyline,asset", "plant")
	fresh.post(final.String())
	fresh.settle()
	want := fresh.snapshot()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 1))
			p := newPlant(t, "assemblyline,asset", "plant")
			for range 30 {
				p.disturb(random)
			}
			p.post(final.String())
			p.settle()
			if diff := cmp.Diff(want, p.snapshot()); diff != "" {
				t.Errorf("-fresh +after changes:\n%s", diff)
			}
		})
	}
}

// disturb changes the plant, or lets some of its controllers run.
func (p *plant) disturb(random *rand.Rand) {
	switch random.IntN(8) {
	case 0:
		p.post(randomLine(random).String())
	case 1:
		p.delete(gvkOf(p.kind("assemblyline")), "", "line-1")
	case 2: // a user removes anything
		if all := p.requests(); len(all) > 0 {
			r := all[random.IntN(len(all))]
			p.delete(gvkOf(r.kind), r.key.Namespace, r.key.Name)
		}
	case 3:
		if all := p.list(deploymentKind); len(all) > 0 {
			o := all[random.IntN(len(all))]
			p.delete(deploymentKind, o.GetNamespace(), o.GetName())
		}
	case 4:
		p.collectGarbage()
	case 5:
		p.startPods()
	default: // of the events since, only some are seen, in any order
		all := p.requests()
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		for _, r := range all[:len(all)*random.IntN(5)/4] {
			p.reconcile(r.kind, r.key)
		}
	}
}

// randomLine returns the case study, some of whose parts are missing, stored or different.
func randomLine(random *rand.Rand) line {
	l := caseStudy()
	l.deploy = random.IntN(4) > 0
	l.assets = slices.DeleteFunc(l.assets, func(asset) bool { return random.IntN(4) == 0 })
	for i := range l.assets {
		a := &l.assets[i]
		a.deploy = random.IntN(4) > 0
		a.applications = slices.DeleteFunc(a.applications, func(application) bool { return random.IntN(4) == 0 })
		for j := range a.applications {
			app := &a.applications[j]
			app.deploy, app.replicas = random.IntN(4) > 0, 1+random.IntN(2)
			app.components = slices.DeleteFunc(app.components, func(string) bool { return random.IntN(4) == 0 })
		}
	}
	return l
}
