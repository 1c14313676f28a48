package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/toskose/toskose/operator/levels"
)

// The field managers of a level: of the resources that it lists, and of its ownership of adopted applications.
const (
	levelManager = client.FieldOwner("toskose.io/level")
	upperManager = client.FieldOwner("toskose.io/upper")
)

// errUpperUnknown is returned for a resource whose upper resource has no status yet: it is unknown whether that is deployed.
var errUpperUnknown = errors.New("the upper resource has no status yet")

// Level reconciles the resources of a kind with a list of lower resources: a level, or Application.
type Level struct {
	client.Client // its reads may be out of date
	Place         levels.Place
	Namespace     string        // of applications whose entry names none
	RetryAfter    time.Duration // when a conflict or an invalid resource is looked at again
	reporter
}

// Reconcile brings the objects below a resource, and its status, up to date.
func (l *Level) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	resource := newObject(gvkOf(l.Place.Own), request.NamespacedName)
	if err := l.Get(ctx, request.NamespacedName, resource); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if resource.GetDeletionTimestamp() != nil { // the cluster removes what it owns
		return reconcile.Result{}, l.releaseAll(ctx, resource, nil)
	}
	v, err := l.look(ctx, resource)
	if errors.Is(err, errUpperUnknown) { // its first status leads here again
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	d := decide(l.Place, resource, v)
	if err := l.carryOut(ctx, resource, &d); err != nil {
		return reconcile.Result{}, err
	}
	if l.Place.Own == levels.Application {
		if err := l.shareComponents(ctx, resource, v, &d); err != nil {
			return reconcile.Result{}, err
		}
	}
	if err := l.reportLevel(ctx, resource, v.deployed, d); err != nil {
		return reconcile.Result{}, err
	}
	if len(d.conflicts)+len(d.invalid) > 0 {
		return reconcile.Result{RequeueAfter: l.RetryAfter}, nil
	}
	return reconcile.Result{}, nil
}

// look returns the input of the decision about a resource.
func (l *Level) look(ctx context.Context, resource *object) (view, error) {
	v := view{existing: map[types.NamespacedName]*object{}, enabled: map[string]bool{}}
	v.entries, v.problems = entriesOf(l.Place, resource, l.Namespace)
	above, why, err := l.isDeployedAbove(ctx, resource)
	if err != nil {
		return v, err
	}
	if why != "" {
		v.problems = append(v.problems, why)
	}
	v.deployed = above && boolOf(resource, "spec", "deploy")
	all, err := l.below(ctx, resource)
	if err != nil {
		return v, err
	}
	for i := range all {
		v.existing[keyOf(&all[i])] = &all[i]
	}
	for _, e := range v.entries {
		if !v.deployed || v.existing[e.key] != nil {
			continue
		}
		o, err := l.find(ctx, e.key)
		if err != nil {
			return v, err
		}
		if o != nil {
			v.existing[e.key] = o
		}
	}
	if *l.Place.Lower == levels.Application {
		err = l.lookAtNamespaces(ctx, &v)
	}
	return v, err
}

// below returns the objects that a resource controls, or that name it as their upper resource.
func (l *Level) below(ctx context.Context, resource *object) ([]object, error) {
	list := newList(gvkOf(*l.Place.Lower))
	opts := []client.ListOption{client.MatchingFields{upperIndex: resource.GetName()}}
	if l.Place.Own.Namespaced {
		opts = append(opts, client.InNamespace(resource.GetNamespace()))
	}
	err := l.List(ctx, list, opts...)
	return list.Items, err
}

// find returns an object of the next lower kind, or nil. If the cache does not have it yet, it is applied: the API server refuses
// that for an object with another controller.
func (l *Level) find(ctx context.Context, key types.NamespacedName) (*object, error) {
	o := newObject(gvkOf(*l.Place.Lower), key)
	err := l.Get(ctx, key, o)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return o, err
}

func (l *Level) lookAtNamespaces(ctx context.Context, v *view) error {
	list := &corev1.NamespaceList{}
	if err := l.List(ctx, list, client.MatchingLabels{levels.Enabled: levels.EnabledValue}); err != nil {
		return err
	}
	for _, n := range list.Items {
		v.enabled[n.Name] = true
	}
	return nil
}

// isDeployedAbove reports whether the resource above exists and is deployed. Without one, it is as if the system above the highest
// level were.
func (l *Level) isDeployedAbove(ctx context.Context, resource *object) (deployed bool, why string, err error) {
	name := ""
	if l.Place.Upper != nil {
		name = upperName(resource, *l.Place.Upper)
	}
	if name == "" {
		kind := textOf(resource, "spec", "upper", "kind")
		if kind == "" || controllerOf(resource) != nil {
			return true, "", nil
		}
		return false, fmt.Sprintf("spec.upper.kind %q is not the lowest level", kind), nil
	}
	upper := newObject(gvkOf(*l.Place.Upper), types.NamespacedName{Name: name})
	if err := l.Get(ctx, client.ObjectKeyFromObject(upper), upper); err != nil {
		return false, "", client.IgnoreNotFound(err)
	}
	if numberOf(upper, "status", "observedGeneration") == 0 && upper.GetGeneration() > 0 {
		return false, "", errUpperUnknown
	}
	return boolOf(upper, "status", "deployed") && upper.GetDeletionTimestamp() == nil, "", nil
}

// carryOut applies and removes the objects that a decision lists.
func (l *Level) carryOut(ctx context.Context, resource *object, d *decision) error {
	for _, e := range d.apply {
		o := newObject(gvkOf(*l.Place.Lower), e.key)
		own(o, resource)
		o.Object["spec"] = e.spec
		err := l.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), levelManager, client.ForceOwnership)
		if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
			d.invalid = append(d.invalid, fmt.Sprintf("%s %q: %v", l.Place.Lower.Singular, e.name, err))
			continue
		}
		if err != nil {
			return err
		}
	}
	for _, a := range d.adopt {
		o := newObject(gvkOf(*l.Place.Lower), keyOf(a))
		own(o, resource)
		o.SetUID(a.GetUID())
		if err := l.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), upperManager, client.ForceOwnership); err != nil {
			return err
		}
	}
	for _, o := range d.remove {
		uid := o.GetUID()
		err := l.Delete(ctx, o, client.Preconditions{UID: &uid}, client.PropagationPolicy("Background"))
		if client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

func (l *Level) reportLevel(ctx context.Context, resource *object, deployed bool, d decision) error {
	items := []any{}
	replicas := numberOf(resource, "spec", "replicas")
	for _, p := range d.parts {
		items = append(items, map[string]any{"name": p.name, "situation": p.situation})
		replicas = min(replicas, p.replicas)
	}
	ready := d.ready(deployed)
	status := map[string]any{"deployed": deployed, "ready": ready, l.Place.Lower.Plural: items}
	if l.Place.Own == levels.Application {
		status["replicas"] = replicas
	}
	return l.report(ctx, resource, "ready", status, conditionsOf(ready, d.message(deployed), strings.Join(d.conflicts, "; "), strings.Join(d.invalid, "; ")))
}
