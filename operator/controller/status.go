package controller

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/toskose/toskose/operator/levels"
)

// The types of conditions. Conflict and Invalid exist only while they are true.
const (
	conditionReady    = "Ready"
	conditionConflict = "Conflict"
	conditionInvalid  = "Invalid"
)

// statusManager is the field manager of statuses.
const statusManager = client.FieldOwner("toskose.io/status")

// condition is a condition before its time is known.
type condition struct {
	kind            string
	isTrue          bool
	reason, message string
}

// conditionsOf returns the conditions of a resource in a state.
func conditionsOf(state, message, conflict, invalid string) []condition {
	all := []condition{{conditionReady, state == levels.Running, state, message}}
	if conflict != "" {
		all = append(all, condition{conditionConflict, true, "OtherOwner", conflict})
	}
	if invalid != "" {
		all = append(all, condition{conditionInvalid, true, "Refused", invalid})
	}
	return all
}

// reporter writes statuses and emits events.
type reporter struct {
	client client.Client
	events record.EventRecorder
	now    func() time.Time
}

// report writes a resource's status if it has changed, and emits an event for each transition. state is the field with the
// resource's state.
func (r *reporter) report(ctx context.Context, resource *object, field string, status map[string]any, conditions []condition) error {
	status["observedGeneration"] = resource.GetGeneration()
	before := mapOf(resource.Object, "status")
	status["conditions"] = r.withTimes(resource, before, conditions)
	if equal(before, status) {
		return nil
	}
	o := newObject(resource.GroupVersionKind(), keyOf(resource))
	o.SetUID(resource.GetUID()) // not another resource of this name
	o.Object["status"] = status
	err := r.client.Status().Patch(ctx, o, client.Apply, statusManager, client.ForceOwnership)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	state, old := wordOf(status, field), wordOf(before, field)
	if isNew := old == "" && state == levels.Deploying; state != old && !isNew {
		r.events.Event(resource, corev1.EventTypeNormal, state, conditions[0].message)
	}
	for _, c := range conditions[1:] {
		if c.message != messageOf(before, c.kind) {
			r.events.Event(resource, corev1.EventTypeWarning, c.kind, c.message)
		}
	}
	return nil
}

// withTimes returns conditions in the form of the API. The time of one that has not changed stays.
func (r *reporter) withTimes(resource *object, before map[string]any, conditions []condition) []any {
	var all []any
	for _, c := range conditions {
		value := "False"
		if c.isTrue {
			value = "True"
		}
		since := r.now().UTC().Format(time.RFC3339)
		if old := conditionIn(before, c.kind); old != nil && wordOf(old, "status") == value {
			since = wordOf(old, "lastTransitionTime")
		}
		all = append(all, map[string]any{
			"type": c.kind, "status": value, "reason": c.reason, "message": c.message,
			"lastTransitionTime": since, "observedGeneration": resource.GetGeneration(),
		})
	}
	return all
}

func conditionIn(status map[string]any, kind string) map[string]any {
	for _, c := range listOf(status, "conditions") {
		if wordOf(c, "type") == kind {
			return c
		}
	}
	return nil
}

func messageOf(status map[string]any, kind string) string {
	return wordOf(conditionIn(status, kind), "message")
}
