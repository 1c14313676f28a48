package controller

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/toskose/toskose/operator/levels"
)

// The indexes of cached objects: by the name of the resource above, by the applications that use a permanent component, and by the
// component that an object belongs to.
const (
	upperIndex     = "toskose.upper"
	userIndex      = "toskose.user"
	componentIndex = "toskose.component"
)

const (
	// parallel is the number of resources of a kind that are reconciled concurrently.
	parallel   = 8
	retryAfter = 10 * time.Second

	// settleTime is how long a resource waits for further changes below it.
	settleTime = 200 * time.Millisecond
)

// index is an index of the cache.
type index struct {
	object client.Object
	field  string
	keys   client.IndexerFunc
}

// indexesOf returns the indexes that the controllers of a structure use.
func indexesOf(s levels.Structure, controllers []string) []index {
	var all []index
	below := map[levels.Kind]levels.Kind{} // kinds, with the kind above
	for _, name := range controllers {
		place, _ := s.Find(name)
		if place.Upper != nil {
			below[place.Own] = *place.Upper
		}
		if place.Lower != nil {
			below[*place.Lower] = place.Own
		}
	}
	for _, k := range s.Kinds() {
		if upper, ok := below[k]; ok {
			all = append(all, index{newObject(gvkOf(k), types.NamespacedName{}), upperIndex, func(o client.Object) []string {
				return nameList(upperName(asObject(o), upper))
			}})
		}
	}
	if slices.Contains(controllers, levels.Application.Singular) {
		all = append(all, index{newObject(gvkOf(levels.Component), types.NamespacedName{}), userIndex, func(o client.Object) []string { return usersOf(asObject(o)) }})
	}
	if slices.Contains(controllers, levels.Component.Singular) {
		for _, gvk := range componentObjects {
			all = append(all, index{newObject(gvk, types.NamespacedName{}), componentIndex, func(o client.Object) []string {
				return nameList(controllerName(asObject(o), levels.Component))
			}})
		}
	}
	return all
}

func asObject(o client.Object) *object {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return &object{}
	}
	return u
}

func nameList(name string) []string {
	if name == "" {
		return nil
	}
	return []string{name}
}

// usersOf returns the applications that use a permanent component.
func usersOf(component *object) []string {
	var all []string
	for _, u := range listOf(component.Object, "spec", "users") {
		all = append(all, wordOf(u, "name"))
	}
	return all
}

// add adds a controller to a manager.
func add(m manager.Manager, place levels.Place, namespace string) error {
	reports := reporter{client: m.GetClient(), events: m.GetEventRecorderFor("toskose-" + place.Own.Singular), now: time.Now}
	b := ctrl.NewControllerManagedBy(m).Named(place.Own.Singular).
		WithOptions(controller.Options{MaxConcurrentReconciles: parallel}).
		For(newObject(gvkOf(place.Own), types.NamespacedName{}), builder.WithPredicates(otherThanStatus()))
	var r reconcile.Reconciler
	if place.Own == levels.Component {
		r = &Component{Client: m.GetClient(), Live: m.GetAPIReader(), RetryAfter: retryAfter, reporter: reports}
		for _, gvk := range componentObjects {
			b = b.Watches(newObject(gvk, types.NamespacedName{}), requests(func(o *object) []types.NamespacedName {
				return inNamespace(o, controllerName(o, levels.Component))
			}))
		}
	} else {
		r = &Level{Client: m.GetClient(), Place: place, Namespace: namespace, RetryAfter: retryAfter, reporter: reports}
		b = b.Watches(newObject(gvkOf(*place.Lower), types.NamespacedName{}), requests(func(o *object) []types.NamespacedName { return above(place, o) }))
	}
	if place.Upper != nil {
		b = b.Watches(newObject(gvkOf(*place.Upper), types.NamespacedName{}), belowOf(m.GetClient(), place.Own), builder.WithPredicates(seenFromBelow()))
	}
	if place.Lower != nil && *place.Lower == levels.Application {
		b = b.Watches(&corev1.Namespace{}, all(m.GetClient(), place.Own))
	}
	if err := b.Complete(r); err != nil {
		return fmt.Errorf("cannot start the controller of %s: %w", place.Own.Plural, err)
	}
	return nil
}

// otherThanStatus selects updates of a resource itself: its controller has written the status.
func otherThanStatus() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := asObject(e.ObjectOld), asObject(e.ObjectNew)
		return before.GetGeneration() != after.GetGeneration() || !equal(before.GetOwnerReferences(), after.GetOwnerReferences()) ||
			!equal(before.GetFinalizers(), after.GetFinalizers()) || (before.GetDeletionTimestamp() == nil) != (after.GetDeletionTimestamp() == nil)
	}}
}

// seenFromBelow selects updates of a resource that the resources below it depend on: whether it is deployed, known or paused.
func seenFromBelow() predicate.Predicate {
	look := func(o *object) string {
		return fmt.Sprint(boolOf(o, "status", "deployed"), numberOf(o, "status", "observedGeneration") > 0, o.GetDeletionTimestamp() != nil, o.GetAnnotations()[levels.Paused])
	}
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool { return look(asObject(e.ObjectOld)) != look(asObject(e.ObjectNew)) }}
}

// above returns the resources whose state depends on an object of the next lower kind.
func above(place levels.Place, o *object) []types.NamespacedName {
	name := upperName(o, place.Own)
	if !place.Own.Namespaced {
		if name == "" {
			return nil
		}
		return []types.NamespacedName{{Name: name}}
	}
	return append(inNamespace(o, name), inNamespace(o, usersOf(o)...)...)
}

func inNamespace(o *object, names ...string) []types.NamespacedName {
	var all []types.NamespacedName
	for _, name := range names {
		if name != "" {
			all = append(all, types.NamespacedName{Namespace: o.GetNamespace(), Name: name})
		}
	}
	return all
}

// requests returns a handler of events of objects below the resources to reconcile. It delays reconciling, so that one looks at
// many events.
func requests(of func(*object) []types.NamespacedName) handler.EventHandler {
	enqueue := func(q workqueue.TypedRateLimitingInterface[reconcile.Request], objects ...client.Object) {
		for _, o := range objects {
			for _, r := range requestsOf(of(asObject(o))) {
				q.AddAfter(r, settleTime)
			}
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			enqueue(q, e.Object)
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			enqueue(q, e.ObjectOld, e.ObjectNew)
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			enqueue(q, e.Object)
		},
	}
}

func requestsOf(keys []types.NamespacedName) []reconcile.Request {
	all := make([]reconcile.Request, len(keys))
	for i, key := range keys {
		all[i] = reconcile.Request{NamespacedName: key}
	}
	return all
}

// belowOf returns a handler that maps a resource to the resources directly below it.
func belowOf(c client.Client, lower levels.Kind) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, upper client.Object) []reconcile.Request {
		opts := []client.ListOption{client.MatchingFields{upperIndex: upper.GetName()}}
		if upper.GetNamespace() != "" {
			opts = append(opts, client.InNamespace(upper.GetNamespace()))
		}
		return requestsOf(keysOf(ctx, c, lower, opts...))
	})
}

// all returns a handler that maps any object to all resources of a kind.
func all(c client.Client, kind levels.Kind) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, _ client.Object) []reconcile.Request {
		return requestsOf(keysOf(ctx, c, kind))
	})
}

// keysOf lists resources in the cache, whose reads cannot fail once it has started.
func keysOf(ctx context.Context, c client.Client, kind levels.Kind, opts ...client.ListOption) []types.NamespacedName {
	list := newList(gvkOf(kind))
	if err := c.List(ctx, list, opts...); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list the cached resources", "kind", kind.Kind)
		return nil
	}
	keys := make([]types.NamespacedName, len(list.Items))
	for i := range list.Items {
		keys[i] = keyOf(&list.Items[i])
	}
	return keys
}
