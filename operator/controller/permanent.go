package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/toskose/toskose/operator/levels"
)

// finalizer is the finalizer of an Application that uses permanent components: it keeps the Application until its entry is
// removed from them.
const (
	finalizer        = "toskose.io/permanent"
	finalizerManager = client.FieldOwner("toskose.io/finalizer")
)

// userManager returns the field manager of an application's entry in permanent components. Each application has its own, so that
// a conflict names the application that a different value comes from.
func userManager(application string) client.FieldOwner {
	return client.FieldOwner("toskose.io/application/" + application)
}

// shareComponents enters an application in the permanent components that it lists, and removes it from all others.
func (l *Level) shareComponents(ctx context.Context, application *object, v view, d *decision) error {
	var permanent []entry
	keep := map[string]bool{}
	for _, e := range v.entries {
		if e.permanent && v.deployed {
			permanent, keep[e.key.Name] = append(permanent, e), true
		}
	}
	if len(permanent) > 0 {
		if err := l.setFinalizer(ctx, application, true); err != nil {
			return err
		}
	}
	for _, e := range permanent {
		if err := l.enter(ctx, application, e, v.existing[e.key], d); err != nil {
			return err
		}
	}
	return l.releaseAll(ctx, application, keep)
}

// enter adds an application's entry to a permanent component, which it creates if it does not exist.
func (l *Level) enter(ctx context.Context, application *object, e entry, now *object, d *decision) error {
	shared, user := sharedSpec(e.spec, application.GetName())
	if now != nil {
		if !boolOf(now, "spec", "permanent") || controllerOf(now) != nil {
			d.conflicts = append(d.conflicts, fmt.Sprintf("component %q exists, is not permanent, and belongs to %s", e.name, ownerName(now)))
			return nil
		}
		if now.GetDeletionTimestamp() != nil {
			return nil
		}
		if have := userOf(now, application.GetName()); equal(have, user) && includes(mapOf(now.Object, "spec"), shared) {
			return nil
		}
	}
	shared["users"] = []any{user}
	o := newObject(gvkOf(levels.Component), e.key)
	o.Object["spec"] = shared
	err := l.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), userManager(application.GetName()))
	if apierrors.IsConflict(err) {
		d.conflicts = append(d.conflicts, sharedConflict(e, now, err))
		return nil
	}
	return err
}

// sharedSpec splits an entry of a permanent component into the part that all its applications share, and the part of one application.
func sharedSpec(spec map[string]any, application string) (shared, user map[string]any) {
	shared, user = maps.Clone(spec), map[string]any{"name": application, "flowConfig": spec["flowConfig"]}
	shared["flowConfig"] = map[string]any{"previous": []any{}, "next": []any{}}
	if lines, ok := spec["customization"]; ok {
		user["customization"] = lines
		delete(shared, "customization")
	}
	return shared, user
}

// sharedConflict describes the difference between the entries of two applications for a permanent component.
func sharedConflict(e entry, now *object, err error) string {
	if now != nil && textOf(now, "spec", "image") != e.spec["image"] {
		return fmt.Sprintf("component %q is permanent, and other applications use it with the image %q", e.name, textOf(now, "spec", "image"))
	}
	return fmt.Sprintf("component %q is permanent, and other applications use it differently: %v", e.name, err)
}

func userOf(component *object, application string) map[string]any {
	users := listOf(component.Object, "spec", "users")
	if i := slices.IndexFunc(users, func(u map[string]any) bool { return wordOf(u, "name") == application }); i >= 0 {
		return users[i]
	}
	return nil
}

// releaseAll removes an application's entry from all permanent components except those to keep, and its finalizer if none is to be
// kept.
func (l *Level) releaseAll(ctx context.Context, application *object, keep map[string]bool) error {
	if l.Place.Own != levels.Application || !slices.Contains(application.GetFinalizers(), finalizer) {
		return nil
	}
	list := newList(gvkOf(levels.Component))
	if err := l.List(ctx, list, client.InNamespace(application.GetNamespace()), client.MatchingFields{userIndex: application.GetName()}); err != nil {
		return err
	}
	for i := range list.Items {
		c := &list.Items[i]
		if keep[c.GetName()] || c.GetDeletionTimestamp() != nil {
			continue
		}
		if err := l.leave(ctx, application, c); err != nil {
			return err
		}
	}
	if len(keep) > 0 {
		return nil
	}
	return l.setFinalizer(ctx, application, false)
}

// leave removes an application's entry from a permanent component. It keeps the rest, which may have no other manager: the
// component outlives the application.
func (l *Level) leave(ctx context.Context, application, component *object) error {
	o := newObject(gvkOf(levels.Component), keyOf(component))
	o.SetUID(component.GetUID())
	spec := maps.Clone(mapOf(component.Object, "spec"))
	delete(spec, "users")
	o.Object["spec"] = spec
	err := l.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), userManager(application.GetName()))
	if apierrors.IsConflict(err) { // the component was removed or has changed since: the next reconciliation sees it
		return fmt.Errorf("cannot leave component %q: %w", component.GetName(), err)
	}
	return client.IgnoreNotFound(err)
}

// setFinalizer adds or removes the finalizer.
func (l *Level) setFinalizer(ctx context.Context, application *object, present bool) error {
	if slices.Contains(application.GetFinalizers(), finalizer) == present {
		return nil
	}
	o := newObject(gvkOf(levels.Application), keyOf(application))
	o.SetUID(application.GetUID())
	if present {
		o.SetFinalizers([]string{finalizer})
	}
	err := l.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), finalizerManager, client.ForceOwnership)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	application.SetFinalizers(o.GetFinalizers())
	application.SetResourceVersion(o.GetResourceVersion())
	return nil
}
