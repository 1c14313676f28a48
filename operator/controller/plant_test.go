package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoapply "k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/yaml"

	"github.com/toskose/toskose/operator/levels"
)

// plant is a cluster in memory with all controllers of a structure. A test decides which of them runs when.
type plant struct {
	t         *testing.T
	client    client.WithWatch
	structure levels.Structure
	events    *record.FakeRecorder
	writes    *int
	created   *int
}

// user is the field manager of what a test applies.
const user = client.FieldOwner("user")

func newPlant(t *testing.T, names string, namespaces ...string) *plant {
	t.Helper()
	structure, err := levels.Parse(names, levels.LevelGroup)
	if err != nil {
		t.Fatal(err)
	}
	// The converter of the second scheme would accept the kinds that the first has in addition.
	scheme, builtin := runtime.NewScheme(), runtime.NewScheme()
	if err := errors.Join(addBuiltin(scheme), addBuiltin(builtin)); err != nil {
		t.Fatal(err)
	}
	registerKinds(scheme, structure)
	p := &plant{t: t, structure: structure, events: record.NewFakeRecorder(10000), writes: new(int), created: new(int)}
	b := fake.NewClientBuilder().WithScheme(scheme).
		WithTypeConverters(converter(t, structure), clientgoapply.NewTypeConverter(builtin)).
		WithInterceptorFuncs(interceptor.Funcs{Apply: p.apply, Delete: p.remove, SubResourcePatch: p.patchStatus})
	for _, k := range structure.Kinds() {
		b = b.WithStatusSubresource(newObject(gvkOf(k), types.NamespacedName{}))
	}
	for _, i := range indexesOf(structure, structure.Controllers()) {
		b = b.WithIndex(i.object, i.field, i.keys)
	}
	for _, name := range namespaces {
		b = b.WithObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{levels.Enabled: levels.EnabledValue}}})
	}
	p.client = b.Build()
	return p
}

// addBuiltin adds Kubernetes' own kinds that the controllers use. With all, each client would take 100 ms to make.
func addBuiltin(s *runtime.Scheme) error {
	return errors.Join(corev1.AddToScheme(s), appsv1.AddToScheme(s), batchv1.AddToScheme(s))
}

// apply counts writes, and does what the API server does and the fake client does not: new objects have a UID, and an object that is
// being deleted is removed with its last finalizer.
func (p *plant) apply(ctx context.Context, c client.WithWatch, config runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	*p.writes++
	data, err := json.Marshal(config)
	if err != nil {
		return err
	}
	o := &object{}
	if err := o.UnmarshalJSON(data); err != nil {
		return err
	}
	now := newObject(o.GroupVersionKind(), keyOf(o))
	if err := c.Get(ctx, keyOf(o), now); client.IgnoreNotFound(err) != nil {
		return err
	} else if err != nil {
		*p.created++
		o.SetUID(types.UID(fmt.Sprintf("uid-%d", *p.created)))
		return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), opts...)
	}
	o.SetUID(now.GetUID())
	if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), opts...); err != nil {
		return err
	}
	if o.GetDeletionTimestamp() != nil && len(o.GetFinalizers()) == 0 { // the fake client keeps it
		return c.Delete(ctx, o)
	}
	return nil
}

func (p *plant) remove(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
	*p.writes++
	return c.Delete(ctx, o, opts...)
}

func (p *plant) patchStatus(ctx context.Context, c client.Client, resource string, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	*p.writes++
	return c.SubResource(resource).Patch(ctx, o, patch, opts...)
}

// post applies a file of the user.
func (p *plant) post(file string) {
	p.t.Helper()
	for _, document := range strings.Split(file, "\n---\n") {
		o := &object{}
		if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
			p.t.Fatal(err)
		}
		data, err := o.MarshalJSON() // numbers as they are read from a cluster
		if err != nil {
			p.t.Fatal(err)
		}
		if err := o.UnmarshalJSON(data); err != nil {
			p.t.Fatal(err)
		}
		if err := p.client.Apply(p.t.Context(), client.ApplyConfigurationFromUnstructured(o), user, client.ForceOwnership); err != nil {
			p.t.Fatal(err)
		}
	}
}

func (p *plant) list(gvk schema.GroupVersionKind) []object {
	p.t.Helper()
	list := newList(gvk)
	if err := p.client.List(p.t.Context(), list); err != nil {
		p.t.Fatal(err)
	}
	return list.Items
}

func (p *plant) kinds() []schema.GroupVersionKind {
	var all []schema.GroupVersionKind
	for _, k := range p.structure.Kinds() {
		all = append(all, gvkOf(k))
	}
	return append(all, componentObjects...)
}

// get returns an object, or nil.
func (p *plant) get(gvk schema.GroupVersionKind, namespace, name string) *object {
	p.t.Helper()
	o := newObject(gvk, types.NamespacedName{Namespace: namespace, Name: name})
	err := p.client.Get(p.t.Context(), keyOf(o), o)
	if client.IgnoreNotFound(err) != nil {
		p.t.Fatal(err)
	}
	if err != nil {
		return nil
	}
	return o
}

func (p *plant) delete(gvk schema.GroupVersionKind, namespace, name string) {
	p.t.Helper()
	err := p.client.Delete(p.t.Context(), newObject(gvk, types.NamespacedName{Namespace: namespace, Name: name}))
	if client.IgnoreNotFound(err) != nil {
		p.t.Fatal(err)
	}
}

// reconcile runs the controller of a kind for one resource.
func (p *plant) reconcile(k levels.Kind, key types.NamespacedName) {
	p.t.Helper()
	place, _ := p.structure.Find(k.Singular)
	reports := reporter{client: p.client, events: p.events, now: func() time.Time { return time.Unix(0, 0) }}
	var r reconcile.Reconciler = &Level{Client: p.client, Place: place, Namespace: "plant", reporter: reports}
	if k == levels.Component {
		r = &Component{Client: p.client, Live: p.client, reporter: reports}
	}
	if _, err := r.Reconcile(p.t.Context(), reconcile.Request{NamespacedName: key}); err != nil {
		p.t.Fatalf("%s %s: %v", k.Kind, key, err)
	}
}

// request is a resource that a controller may reconcile.
type request struct {
	kind levels.Kind
	key  types.NamespacedName
}

func (p *plant) requests() []request {
	var all []request
	for _, k := range p.structure.Kinds() {
		items := p.list(gvkOf(k))
		for i := range items {
			all = append(all, request{k, keyOf(&items[i])})
		}
	}
	return all
}

// collectGarbage removes the objects whose owners were removed, as the cluster's garbage collector does.
func (p *plant) collectGarbage() {
	p.t.Helper()
	for again := true; again; {
		again = false
		exists := map[types.UID]bool{}
		for _, gvk := range p.kinds() {
			items := p.list(gvk)
			for i := range items {
				exists[items[i].GetUID()] = true
			}
		}
		for _, gvk := range p.kinds() {
			for _, o := range p.list(gvk) {
				c := controllerOf(&o)
				if c != nil && !exists[c.UID] && o.GetDeletionTimestamp() == nil {
					p.delete(gvk, o.GetNamespace(), o.GetName())
					again = again || len(o.GetFinalizers()) == 0
				}
			}
		}
	}
}

// startPods makes all replicas of all workloads ready.
func (p *plant) startPods() {
	p.t.Helper()
	for _, gvk := range []schema.GroupVersionKind{deploymentKind, statefulSetKind} {
		for _, o := range p.list(gvk) {
			replicas, given, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
			if !given {
				replicas = 1
			}
			if numberOf(&o, "status", "readyReplicas") == replicas && numberOf(&o, "status", "replicas") == replicas {
				continue
			}
			p.setStatus(&o, map[string]any{"replicas": replicas, "updatedReplicas": replicas, "readyReplicas": replicas, "observedGeneration": o.GetGeneration()})
		}
	}
}

func (p *plant) setStatus(o *object, status map[string]any) {
	p.t.Helper()
	o.Object["status"] = status
	if err := p.client.Status().Update(p.t.Context(), o); err != nil {
		p.t.Fatal(err)
	}
}

// settle runs all controllers until nothing changes.
func (p *plant) settle() {
	p.t.Helper()
	for range 40 {
		before := p.snapshot()
		for _, r := range p.requests() {
			p.reconcile(r.kind, r.key)
		}
		p.collectGarbage()
		p.startPods()
		if p.snapshot() == before {
			return
		}
	}
	p.t.Fatal("the controllers do not come to rest")
}

// snapshot returns all objects, without what differs between two runs.
func (p *plant) snapshot() string {
	p.t.Helper()
	var all []string
	for _, gvk := range p.kinds() {
		items := p.list(gvk)
		for i := range items {
			o := items[i].DeepCopy()
			o.SetUID("")
			o.SetResourceVersion("")
			o.SetManagedFields(nil)
			o.SetCreationTimestamp(metav1.Time{})
			owners := o.GetOwnerReferences()
			for j := range owners {
				owners[j].UID = ""
			}
			o.SetOwnerReferences(owners)
			if users, ok := mapOf(o.Object, "spec")["users"].([]any); ok { // in the order in which they came
				slices.SortFunc(users, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
			}
			annotations := maps.Clone(o.GetAnnotations())
			delete(annotations, digestAnnotation) // it includes the owner's UID
			o.SetAnnotations(annotations)
			data, err := yaml.Marshal(o.Object)
			if err != nil {
				p.t.Fatal(err)
			}
			all = append(all, string(data))
		}
	}
	slices.Sort(all)
	return strings.Join(all, "---\n")
}
