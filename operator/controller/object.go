package controller

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/toskose/toskose/operator/levels"
)

// object is a resource. The user names the levels, so they have no Go types.
type object = unstructured.Unstructured

func gvkOf(k levels.Kind) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: k.Group, Version: levels.Version, Kind: k.Kind}
}

// newObject returns an object of a kind with only its name.
func newObject(gvk schema.GroupVersionKind, key types.NamespacedName) *object {
	o := &object{Object: map[string]any{}}
	o.SetGroupVersionKind(gvk)
	o.SetName(key.Name)
	if key.Namespace != "" {
		o.SetNamespace(key.Namespace)
	}
	return o
}

// newList returns an empty list of objects of a kind.
func newList(gvk schema.GroupVersionKind) *unstructured.UnstructuredList {
	gvk.Kind += "List"
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gvk)
	return list
}

func keyOf(o *object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

func textOf(o *object, path ...string) string {
	value, _, _ := unstructured.NestedString(o.Object, path...)
	return value
}

func boolOf(o *object, path ...string) bool {
	value, _, _ := unstructured.NestedBool(o.Object, path...)
	return value
}

func numberOf(o *object, path ...string) int64 {
	value, _, _ := unstructured.NestedInt64(o.Object, path...)
	return value
}

// listOf returns the objects of a list.
func listOf(from map[string]any, path ...string) []map[string]any {
	values, _, _ := unstructured.NestedFieldNoCopy(from, path...)
	items, _ := values.([]any)
	var all []map[string]any
	for _, item := range items {
		if m, ok := item.(map[string]any); ok {
			all = append(all, m)
		}
	}
	return all
}

func mapOf(from map[string]any, path ...string) map[string]any {
	value, _, _ := unstructured.NestedFieldNoCopy(from, path...)
	m, _ := value.(map[string]any)
	return m
}

func wordOf(m map[string]any, key string) string {
	word, _ := m[key].(string)
	return word
}

// own makes owner the controller of an object.
func own(o, owner *object) {
	yes := true
	o.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: owner.GetName(), UID: owner.GetUID(),
		Controller: &yes, BlockOwnerDeletion: &yes,
	}})
}

// controllerOf returns an object's controller, or nil.
func controllerOf(o *object) *metav1.OwnerReference { return metav1.GetControllerOf(o) }

func isControlledBy(o, owner *object) bool {
	c := controllerOf(o)
	return c != nil && c.UID == owner.GetUID()
}

// controllerName returns the name of an object's controller if it is of a kind, or "".
func controllerName(o *object, of levels.Kind) string {
	c := controllerOf(o)
	if c == nil || c.Kind != of.Kind || !strings.HasPrefix(c.APIVersion, of.Group+"/") {
		return ""
	}
	return c.Name
}

// ownerName describes the owner of an object for users.
func ownerName(o *object) string {
	if c := controllerOf(o); c != nil {
		return c.Kind + " " + c.Name
	}
	return "no owner"
}

// upperName returns the name of the resource above an object: of its controller, or of the one that its spec names.
func upperName(o *object, upper levels.Kind) string {
	if name := controllerName(o, upper); name != "" {
		return name
	}
	if controllerOf(o) == nil && namesUpper(o, upper) {
		return textOf(o, "spec", "upper", "name")
	}
	return ""
}

// namesUpper reports whether an Application's spec names a resource of the kind as its upper resource.
func namesUpper(o *object, upper levels.Kind) bool {
	return o.GetKind() == levels.Application.Kind && strings.EqualFold(textOf(o, "spec", "upper", "kind"), upper.Kind)
}

// equal reports whether two values of JSON are equal.
func equal(a, b any) bool { return equality.Semantic.DeepEqual(a, b) }

// includes reports whether have has all that want has. Lists have to have the same length.
func includes(have, want any) bool {
	switch w := want.(type) {
	case map[string]any:
		h, ok := have.(map[string]any)
		if !ok {
			return len(w) == 0
		}
		for key, value := range w {
			if !includes(h[key], value) {
				return false
			}
		}
		return true
	case []any:
		h, ok := have.([]any)
		if !ok || len(h) != len(w) {
			return len(w) == 0 && len(h) == 0
		}
		for i := range w {
			if !includes(h[i], w[i]) {
				return false
			}
		}
		return true
	default:
		return equal(have, want)
	}
}

// sorted returns objects in the order of their names.
func sorted(all []*object) []*object {
	return slices.SortedFunc(slices.Values(all), func(a, b *object) int {
		return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
	})
}
