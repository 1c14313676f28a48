//go:build envtest

package controller

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/go-logr/logr"

	"github.com/toskose/toskose/operator/levels"
	"github.com/toskose/toskose/operator/manifests"
)

// apiServer is a real API server with the operator's manifests. It has no controllers of Kubernetes: no pods, no garbage collection.
type apiServer struct {
	t         testing.TB
	config    *rest.Config
	admin     client.Client
	structure levels.Structure
}

// patience is how long a test waits for a state.
const patience = 2 * time.Minute

// TestOnAnAPIServer has all tests on one API server, one after the other.
func TestOnAnAPIServer(t *testing.T) {
	for _, name := range []string{"TEST_ASSET_KUBE_APISERVER", "TEST_ASSET_ETCD"} {
		if os.Getenv(name) == "" {
			t.Fatalf("%s is not set: it is the path of the program that this test starts", name)
		}
	}
	ctrl.SetLogger(logr.Discard())
	env := &envtest.Environment{}
	config, err := env.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	structure, err := levels.Parse("assemblyline,asset", levels.LevelGroup)
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := addBuiltin(scheme); err != nil {
		t.Fatal(err)
	}
	admin, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	s := &apiServer{t, config, admin, structure}
	s.install()
	stop := s.startControllers()
	defer stop()
	t.Run("a file that lacks a field or has a name twice is refused", s.refuses)
	t.Run("the status changes by its subresource only", s.statusIsSeparate)
	t.Run("each controller is denied what it does not need", s.denies)
	t.Run("a line is ready when all its replicas are, and not when one is lost", s.ready)
	t.Run("resources without an upper one", s.alone)
	t.Run("columns", s.columns)
}

// post applies a file, and returns the API server's error.
func (s *apiServer) post(file string) error {
	for _, document := range strings.Split(file, "\n---\n") {
		o := &object{}
		data, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			return err
		}
		if err := o.UnmarshalJSON(data); err != nil {
			return err
		}
		if err := s.admin.Apply(s.t.Context(), client.ApplyConfigurationFromUnstructured(o), user, client.ForceOwnership); err != nil {
			return err
		}
	}
	return nil
}

// wait waits until a condition holds.
func (s *apiServer) wait(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", patience, what)
		}
	}
}

// install applies the generated manifests, and waits until the API server knows the kinds.
func (s *apiServer) install() {
	s.t.Helper()
	files, err := manifests.Generate(manifests.Options{Structure: s.structure, Group: levels.LevelGroup, Namespace: "plant", Image: "toskose-operator:test"})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, f := range files {
		if f.Name == manifests.Kustomization {
			continue
		}
		if err := s.post(strings.TrimPrefix(string(f.Data), manifests.Header)); err != nil {
			s.t.Fatalf("%s: %v", f.Name, err)
		}
	}
	for _, k := range s.structure.Kinds() {
		s.wait(s.t, "the API server knows "+k.Kind, func() bool { return s.admin.List(s.t.Context(), newList(gvkOf(k))) == nil })
	}
}

// as returns the access of a controller's service account.
func (s *apiServer) as(controller string) *rest.Config {
	c := rest.CopyConfig(s.config)
	c.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + manifests.Namespace + ":toskose-" + controller,
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:" + manifests.Namespace, "system:authenticated"},
	}
	return c
}

// startControllers starts each controller with the permissions of its own role.
func (s *apiServer) startControllers() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	for _, name := range s.structure.Controllers() {
		go func() {
			ended <- Run(ctx, s.as(name), Options{
				Structure: s.structure, Controllers: []string{name}, Namespace: "plant", HealthAddress: "0", MetricsAddress: "0",
				Registry: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
			})
		}()
	}
	return func() {
		cancel()
		for range s.structure.Controllers() {
			if err := <-ended; err != nil {
				s.t.Error(err)
			}
		}
	}
}

func (s *apiServer) get(t *testing.T, gvk schema.GroupVersionKind, namespace, name string) *object {
	t.Helper()
	o := newObject(gvk, client.ObjectKey{Namespace: namespace, Name: name})
	if err := s.admin.Get(t.Context(), keyOf(o), o); err != nil {
		return nil
	}
	return o
}

func (s *apiServer) situation(t *testing.T, kind, namespace, name string) string {
	t.Helper()
	place, _ := s.structure.Find(kind)
	o := s.get(t, gvkOf(place.Own), namespace, name)
	if o == nil {
		return "missing"
	}
	return situationOf(o)
}

func (s *apiServer) refuses(t *testing.T) {
	const application = `apiVersion: toskose.io/v1alpha1
kind: Application
metadata: {name: refused, namespace: plant}
spec: {name: refused, deploy: true, replicas: 1, components: [%s]}
`
	component := "{name: a, image: b, flowConfig: {previous: [], next: []}}"
	tests := map[string]struct{ file, want string }{
		"level":     {"apiVersion: levels.toskose.io/v1alpha1\nkind: Asset\nmetadata: {name: refused}\nspec: {name: refused}\n", "spec.deploy: Required value"},
		"nested":    {"apiVersion: levels.toskose.io/v1alpha1\nkind: Assemblyline\nmetadata: {name: refused}\nspec: {name: refused, deploy: true, assets: [{name: a, deploy: true}]}\n", "spec.assets[0].applications: Required value"},
		"component": {fmt.Sprintf(application, "{name: a, image: b}"), "spec.components[0].flowConfig: Required value"},
		"topic":     {fmt.Sprintf(application, "{name: a, image: b, flowConfig: {previous: [], next: [{name: c}]}}"), "spec.components[0].flowConfig.next[0].IFMHtopic: Required value"},
		"twice":     {fmt.Sprintf(application, component+", "+component), "duplicate"},
		"name":      {fmt.Sprintf(application, "{name: A_b, image: b, flowConfig: {previous: [], next: []}}"), "spec.components[0].name"},
	}
	for name, test := range tests {
		if err := s.post(test.file); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: the error is %v, want one with %q", name, err, test.want)
		}
	}
}

func (s *apiServer) statusIsSeparate(t *testing.T) {
	if err := s.post(fmt.Sprintf(robot, false)); err != nil {
		t.Fatal(err)
	}
	s.wait(t, "the robot is stored", func() bool { return s.situation(t, "asset", "", "robot-1") == levels.Stored })
	place, _ := s.structure.Find("asset")
	o := s.get(t, gvkOf(place.Own), "", "robot-1")
	o.Object["status"] = map[string]any{"ready": levels.Running}
	if err := s.admin.Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if got := s.situation(t, "asset", "", "robot-1"); got != levels.Stored {
		t.Errorf("an update of the resource changed its status to %s", got)
	}
}

func (s *apiServer) denies(t *testing.T) {
	type access struct{ verb, group, resource string }
	denied := map[string][]access{
		"assemblyline": {{"list", "toskose.io", "applications"}, {"create", "apps", "deployments"}, {"list", "", "secrets"}, {"update", "levels.toskose.io", "assemblylines"}},
		"asset":        {{"create", "levels.toskose.io", "assemblylines"}, {"list", "toskose.io", "components"}, {"list", "", "secrets"}, {"create", "levels.toskose.io", "assets"}},
		"application":  {{"create", "levels.toskose.io", "assets"}, {"create", "apps", "deployments"}, {"list", "", "configmaps"}, {"delete", "toskose.io", "applications"}},
		"component":    {{"list", "levels.toskose.io", "assets"}, {"create", "toskose.io", "applications"}, {"list", "", "secrets"}, {"list", "", "pods"}, {"create", "apps", "daemonsets"}},
	}
	for name, all := range denied {
		as, err := kubernetes.NewForConfig(s.as(name))
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range all {
			request := as.RESTClient().Verb(map[string]string{"list": "GET", "create": "POST", "update": "PUT", "delete": "DELETE"}[a.verb])
			path := "/apis/" + a.group + "/v1alpha1/" + a.resource
			switch a.group {
			case "":
				path = "/api/v1/namespaces/plant/" + a.resource
			case "apps":
				path = "/apis/apps/v1/namespaces/plant/" + a.resource
			case levels.Group:
				path = "/apis/toskose.io/v1alpha1/namespaces/plant/" + a.resource
			}
			if a.verb == "update" || a.verb == "delete" {
				path += "/any"
			}
			var code int
			request.AbsPath(path).SetHeader("Content-Type", "application/json").Body([]byte("{}")).Do(t.Context()).StatusCode(&code)
			if code != 403 {
				t.Errorf("%s may %s %s.%s: %d", name, a.verb, a.resource, a.group, code)
			}
		}
	}
}

// startPods gives a Deployment the status that it has with some ready replicas.
func (s *apiServer) startPods(t *testing.T, o *object, ready int64) {
	t.Helper()
	o.Object["status"] = map[string]any{"replicas": int64(1), "updatedReplicas": int64(1), "readyReplicas": ready, "observedGeneration": o.GetGeneration()}
	if err := s.admin.Status().Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

func (s *apiServer) ready(t *testing.T) {
	if err := s.post(caseStudy().String()); err != nil {
		t.Fatal(err)
	}
	list := newList(deploymentKind)
	s.wait(t, "there are nine Deployments", func() bool {
		if err := s.admin.List(t.Context(), list, client.InNamespace("plant")); err != nil {
			t.Fatal(err)
		}
		return len(list.Items) == 9
	})
	for i := range list.Items {
		s.startPods(t, &list.Items[i], 1)
	}
	s.wait(t, "the line is running", func() bool { return s.situation(t, "assemblyline", "", "line-1") == levels.Running })
	s.wait(t, "both applications have an entry in the file of the permanent component", func() bool {
		o := s.get(t, configMapKind, "plant", "cm-process")
		return o != nil && strings.Contains(textOf(o, "data", "process.properties"), "applications = line-1-robot-1-processing, line-1-robot-2-processing\n")
	})
	s.startPods(t, s.get(t, deploymentKind, "plant", "line-1-robot-2-acquisition-camera"), 0)
	s.wait(t, "the line waits for the lost replica", func() bool { return s.situation(t, "assemblyline", "", "line-1") == levels.Deploying })
	if got := s.situation(t, "asset", "", "line-1-robot-1"); got != levels.Running {
		t.Errorf("the other robot is %s", got)
	}
	events := newList(schema.GroupVersionKind{Version: "v1", Kind: "Event"})
	s.wait(t, "there is an event of the line", func() bool {
		if err := s.admin.List(t.Context(), events); err != nil {
			t.Fatal(err)
		}
		for i := range events.Items {
			if textOf(&events.Items[i], "involvedObject", "name") == "line-1" && textOf(&events.Items[i], "reason") == levels.Running {
				return true
			}
		}
		return false
	})
}

func (s *apiServer) alone(t *testing.T) {
	err := s.post(fmt.Sprintf(robot, true) + `---
apiVersion: toskose.io/v1alpha1
kind: Application
metadata: {name: alone, namespace: plant}
spec: {name: alone, deploy: true, replicas: 1, components: []}
`)
	if err != nil {
		t.Fatal(err)
	}
	s.wait(t, "an asset without a line is running", func() bool { return s.situation(t, "asset", "", "robot-1") == levels.Running })
	s.wait(t, "an application without an asset is running", func() bool { return s.situation(t, "application", "plant", "alone") == levels.Running })
}

func (s *apiServer) columns(t *testing.T) {
	as, err := kubernetes.NewForConfig(s.config)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{
		"/apis/levels.toskose.io/v1alpha1/assemblylines":          {"Name", "Deploy", "Ready", "Age"},
		"/apis/toskose.io/v1alpha1/namespaces/plant/applications": {"Name", "Replicas", "Deploy", "Ready", "Age"},
		"/apis/toskose.io/v1alpha1/namespaces/plant/components":   {"Name", "Image", "Replicas", "Situation", "Age"},
	}
	for path, columns := range want {
		data, err := as.RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var table metav1.Table
		if err := json.NewDecoder(bytes.NewReader(data)).Decode(&table); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range table.ColumnDefinitions {
			got = append(got, c.Name)
		}
		if diff := cmp.Diff(columns, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}
