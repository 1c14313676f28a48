package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/toskose/toskose/operator/levels"
)

const componentManager = client.FieldOwner("toskose.io/component")

// Component reconciles components: it makes their workloads, and reports whether these run.
type Component struct {
	client.Client               // its reads may be out of date
	Live          client.Reader // reads the cluster itself
	RetryAfter    time.Duration // when a conflict or an invalid component is looked at again
	reporter
}

// outcome is the state of a component after its objects were applied.
type outcome struct {
	state             workloadState
	conflict, invalid string
}

// Reconcile brings the workload of a component, and its status, up to date.
func (c *Component) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	component := newObject(gvkOf(levels.Component), request.NamespacedName)
	if err := c.Get(ctx, request.NamespacedName, component); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if component.GetDeletionTimestamp() != nil { // the cluster removes what it owns
		return reconcile.Result{}, nil
	}
	paused, err := c.isPaused(ctx, component)
	if err != nil {
		return reconcile.Result{}, err
	}
	var out outcome
	if mapOf(component.Object, "spec", "workload") != nil && boolOf(component, "spec", "permanent") {
		out.invalid = "a permanent component cannot have a workload"
		out.state.why = out.invalid
	} else if err := c.bringUp(ctx, component, paused, &out); err != nil {
		return reconcile.Result{}, err
	}
	situation := levels.Deploying
	if out.state.running && out.conflict == "" && out.invalid == "" {
		situation = levels.Running
	}
	status := map[string]any{"situation": situation, "replicas": out.state.replicas}
	if err := c.report(ctx, component, "situation", status, conditionsOf(situation, out.state.why, out.conflict, out.invalid)); err != nil {
		return reconcile.Result{}, err
	}
	if out.conflict != "" || out.invalid != "" {
		return reconcile.Result{RequeueAfter: c.RetryAfter}, nil
	}
	return reconcile.Result{}, nil
}

// isPaused reports whether the workloads of a component's application must not be changed.
func (c *Component) isPaused(ctx context.Context, component *object) (bool, error) {
	name := controllerName(component, levels.Application)
	if name == "" {
		return false, nil
	}
	application := newObject(gvkOf(levels.Application), types.NamespacedName{Namespace: component.GetNamespace(), Name: name})
	if err := c.Get(ctx, client.ObjectKeyFromObject(application), application); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return application.GetAnnotations()[levels.Paused] == "true", nil
}

// bringUp applies a component's objects, removes its outdated objects, and reads the state of its workload.
func (c *Component) bringUp(ctx context.Context, component *object, paused bool, out *outcome) error {
	existing, err := c.existing(ctx, component)
	if err != nil {
		return err
	}
	for _, want := range objectsOf(component) {
		id := want.GetKind() + "/" + want.GetName()
		now := existing[id]
		delete(existing, id)
		if !paused {
			if now, err = c.ensure(ctx, component, want, now, out); err != nil {
				return err
			}
		}
		if want.GetKind() != configMapKind.Kind {
			out.state = stateOf(want, now)
		}
		if out.conflict != "" || out.invalid != "" {
			out.state.why = strings.Trim(out.conflict+"; "+out.invalid, "; ")
			return nil
		}
	}
	if paused {
		out.state.why = "its application is paused; " + out.state.why
		return nil
	}
	for _, id := range slices.Sorted(maps.Keys(existing)) {
		o := existing[id]
		if o.GetDeletionTimestamp() != nil {
			continue
		}
		uid := o.GetUID()
		err := c.Delete(ctx, o, client.Preconditions{UID: &uid}, client.PropagationPolicy("Background"))
		if client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// existing returns the objects that a component controls, by kind and name.
func (c *Component) existing(ctx context.Context, component *object) (map[string]*object, error) {
	all := map[string]*object{}
	for _, gvk := range componentObjects {
		list := newList(gvk)
		if err := c.List(ctx, list, client.InNamespace(component.GetNamespace()), client.MatchingFields{componentIndex: component.GetName()}); err != nil {
			return nil, err
		}
		for i := range list.Items {
			if o := &list.Items[i]; isControlledBy(o, component) {
				all[o.GetKind()+"/"+o.GetName()] = o
			}
		}
	}
	return all, nil
}

// ensure applies an object unless it is as wanted, and returns it as it is now.
func (c *Component) ensure(ctx context.Context, component, want, now *object, out *outcome) (*object, error) {
	if now == nil {
		now = newObject(want.GroupVersionKind(), keyOf(want))
		err := c.Live.Get(ctx, keyOf(want), now)
		switch {
		case apierrors.IsNotFound(err):
			now = nil
		case err != nil:
			return nil, err
		case !isControlledBy(now, component):
			out.conflict = fmt.Sprintf("%s %q exists, and belongs to %s", strings.ToLower(want.GetKind()), want.GetName(), ownerName(now))
			return nil, nil
		}
	}
	if now != nil && (now.GetDeletionTimestamp() != nil || isAsWanted(now, want)) {
		return now, nil
	}
	applied := want.DeepCopy()
	err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), componentManager, client.ForceOwnership)
	if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) {
		out.invalid = fmt.Sprintf("%s %q: %v", strings.ToLower(want.GetKind()), want.GetName(), err)
		return now, nil
	}
	if err != nil {
		return nil, err
	}
	return applied, nil
}

// isAsWanted reports whether an object has all that is wanted, and nothing that was wanted before.
func isAsWanted(now, want *object) bool {
	if now.GetAnnotations()[digestAnnotation] != want.GetAnnotations()[digestAnnotation] {
		return false
	}
	for _, field := range []string{"spec", "data"} {
		if !includes(now.Object[field], want.Object[field]) {
			return false
		}
	}
	for key, value := range want.GetLabels() {
		if now.GetLabels()[key] != value {
			return false
		}
	}
	return true
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
