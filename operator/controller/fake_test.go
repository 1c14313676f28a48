package controller

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/toskose/toskose/operator/levels"
	"github.com/toskose/toskose/operator/manifests"
)

// fakeKind is the Go type of a kind, and T makes it another type than that of other kinds: the fake client takes objects of
// one Go type for one kind.
type fakeKind[T any] struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              map[string]any `json:"spec,omitempty"`
	Status            map[string]any `json:"status,omitempty"`
}

func (f *fakeKind[T]) DeepCopyObject() runtime.Object {
	return &fakeKind[T]{f.TypeMeta, *f.DeepCopy(), runtime.DeepCopyJSON(f.Spec), runtime.DeepCopyJSON(f.Status)}
}

type fakeList[T any] struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []fakeKind[T] `json:"items"`
}

func (f *fakeList[T]) DeepCopyObject() runtime.Object {
	list := &fakeList[T]{TypeMeta: f.TypeMeta, ListMeta: f.ListMeta}
	for i := range f.Items {
		list.Items = append(list.Items, *f.Items[i].DeepCopyObject().(*fakeKind[T]))
	}
	return list
}

func register[T any](s *runtime.Scheme, gvk schema.GroupVersionKind) {
	s.AddKnownTypeWithName(gvk, &fakeKind[T]{})
	s.AddKnownTypeWithName(gvk.GroupVersion().WithKind(gvk.Kind+"List"), &fakeList[T]{})
	metav1.AddToGroupVersion(s, gvk.GroupVersion())
}

// registerKinds adds the kinds of a structure with at most two levels to a scheme.
func registerKinds(s *runtime.Scheme, structure levels.Structure) {
	types := []func(*runtime.Scheme, schema.GroupVersionKind){register[[1]int], register[[2]int], register[[3]int], register[[4]int]}
	for i, k := range structure.Kinds() {
		types[i](s, gvkOf(k))
	}
}

// converter knows the schemas of a structure's kinds, as the API server does: without it, a list would have one manager.
func converter(t *testing.T, s levels.Structure) managedfields.TypeConverter {
	t.Helper()
	const metadata = "io.k8s.ObjectMeta"
	all := map[string]*spec.Schema{metadata: parseSchema(t, []byte(objectMeta))}
	for _, k := range s.Kinds() {
		data, err := json.Marshal(manifests.SchemaOf(s, k))
		if err != nil {
			t.Fatal(err)
		}
		parsed := parseSchema(t, data)
		parsed.Properties["metadata"] = *spec.RefSchema("#/definitions/" + metadata)
		parsed.AddExtension("x-kubernetes-group-version-kind", []any{map[string]any{"group": k.Group, "version": levels.Version, "kind": k.Kind}})
		all["io.toskose."+k.Kind] = parsed
	}
	c, err := managedfields.NewTypeConverter(all, false)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// objectMeta has the lists of metadata with their keys.
const objectMeta = `{"type": "object", "properties": {
	"name": {"type": "string"}, "namespace": {"type": "string"}, "uid": {"type": "string"}, "resourceVersion": {"type": "string"},
	"generation": {"type": "integer"}, "creationTimestamp": {"type": "string"}, "deletionTimestamp": {"type": "string"},
	"deletionGracePeriodSeconds": {"type": "integer"},
	"managedFields": {"type": "array", "x-kubernetes-list-type": "atomic", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
	"labels": {"type": "object", "additionalProperties": {"type": "string"}},
	"annotations": {"type": "object", "additionalProperties": {"type": "string"}},
	"finalizers": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
	"ownerReferences": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["uid"], "items": {
		"type": "object", "properties": {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "name": {"type": "string"},
		"uid": {"type": "string"}, "controller": {"type": "boolean"}, "blockOwnerDeletion": {"type": "boolean"}}}}}}`

func parseSchema(t *testing.T, data []byte) *spec.Schema {
	t.Helper()
	s := &spec.Schema{}
	if err := json.Unmarshal(data, s); err != nil {
		t.Fatal(err)
	}
	return s
}
