package controller

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/toskose/toskose/operator/levels"
)

// view is the input of a decision about a resource.
type view struct {
	deployed bool // the resource and all above it are to be deployed
	entries  []entry
	problems []string // of the resource's spec

	// existing has the objects of the next lower kind that the resource controls, that name it as their upper resource, or that
	// have the name of an entry.
	existing map[types.NamespacedName]*object
	enabled  map[string]bool // namespaces that levels may write into
}

// decision has the next changes below a resource, and its state.
type decision struct {
	apply     []entry   // objects to create or change, owned by the resource
	adopt     []*object // applications to become the owner of
	remove    []*object
	parts     []part
	conflicts []string
	invalid   []string
}

// part is the state of an entry.
type part struct {
	name, situation string
	replicas        int64
}

// decide compares a resource's list with the existing objects. It leaves permanent components to their own rules, except for
// their state.
func decide(place levels.Place, resource *object, v view) decision {
	d := decision{invalid: v.problems}
	wanted := map[types.NamespacedName]bool{}
	for _, e := range v.entries {
		if !v.deployed {
			d.parts = append(d.parts, part{name: e.name, situation: levels.Stored})
			continue
		}
		wanted[e.key] = true
		d.decideEntry(place, resource, e, v)
	}
	for _, o := range sortedValues(v.existing) {
		if wanted[keyOf(o)] {
			continue
		}
		switch {
		case isAdoptable(place, resource, o):
			d.decideAdopted(place, resource, o, v)
		case isControlledBy(o, resource) && o.GetDeletionTimestamp() == nil:
			d.remove = append(d.remove, o)
		}
	}
	return d
}

// decideEntry decides about the object of an entry of a deployed resource.
func (d *decision) decideEntry(place levels.Place, resource *object, e entry, v view) {
	now := v.existing[e.key]
	p := part{name: e.name, situation: levels.Deploying}
	defer func() { d.parts = append(d.parts, p) }()
	if e.permanent {
		if now != nil {
			p.situation, p.replicas = situationOf(now), replicasOf(now)
		}
		return
	}
	if why := refuseNamespace(*place.Lower, e.key.Namespace, v); why != "" {
		d.invalid = append(d.invalid, fmt.Sprintf("%s %q: %s", place.Lower.Singular, e.name, why))
		return
	}
	switch {
	case now == nil:
		d.apply = append(d.apply, e)
	case now.GetDeletionTimestamp() != nil: // it is created again when it is gone
	case !isControlledBy(now, resource) && !isAdoptable(place, resource, now):
		d.conflicts = append(d.conflicts, fmt.Sprintf("%s %q exists, and belongs to %s", place.Lower.Singular, e.key.Name, ownerName(now)))
	case !isControlledBy(now, resource) || !hasSpec(now, e.spec):
		d.apply = append(d.apply, e)
	default:
		p.situation, p.replicas = belowDeployed(now), replicasOf(now)
	}
}

// belowDeployed returns the state of an object below a deployed resource. If the object is to be deployed, it can be stored only
// until its controller has seen that the resource is deployed.
func belowDeployed(o *object) string {
	state := situationOf(o)
	if state == levels.Stored && boolOf(o, "spec", "deploy") {
		return levels.Deploying
	}
	return state
}

// decideAdopted decides about an application that names the resource as its upper resource, and that no entry lists.
func (d *decision) decideAdopted(place levels.Place, resource, o *object, v view) {
	name := o.GetNamespace() + "/" + o.GetName()
	if why := refuseNamespace(*place.Lower, o.GetNamespace(), v); why != "" {
		d.invalid = append(d.invalid, fmt.Sprintf("application %q: %s", name, why))
		return
	}
	if !isControlledBy(o, resource) && o.GetDeletionTimestamp() == nil {
		d.adopt = append(d.adopt, o)
	}
	p := part{name: name, situation: situationOf(o)}
	if v.deployed {
		p.situation = belowDeployed(o)
	}
	d.parts = append(d.parts, p)
}

// isAdoptable reports whether an object without another controller names the resource as its upper resource.
func isAdoptable(place levels.Place, resource, o *object) bool {
	return (controllerOf(o) == nil || isControlledBy(o, resource)) && namesUpper(o, place.Own) && textOf(o, "spec", "upper", "name") == resource.GetName()
}

// refuseNamespace returns the reason why a level must not write into a namespace, or "".
func refuseNamespace(lower levels.Kind, namespace string, v view) string {
	if lower != levels.Application || v.enabled[namespace] {
		return ""
	}
	return fmt.Sprintf("namespace %q does not exist or has no label %s: %s", namespace, levels.Enabled, levels.EnabledValue)
}

// hasSpec reports whether an object's spec is the wanted one. The upper resource of an adopted application stays as it is.
func hasSpec(o *object, want map[string]any) bool {
	have := map[string]any{}
	for key, value := range mapOf(o.Object, "spec") {
		if key != "upper" {
			have[key] = value
		}
	}
	return equal(have, want)
}

// situationOf returns the state of an object that its own controller has reported for its current spec.
func situationOf(o *object) string {
	field := "ready"
	if o.GetKind() == levels.Component.Kind {
		field = "situation"
	}
	state := textOf(o, "status", field)
	if state == "" || numberOf(o, "status", "observedGeneration") != o.GetGeneration() || o.GetDeletionTimestamp() != nil {
		return levels.Deploying
	}
	return state
}

func replicasOf(o *object) int64 { return numberOf(o, "status", "replicas") }

// ready returns the state of a resource: it is running if everything below it is that is to be deployed.
func (d *decision) ready(deployed bool) string {
	switch {
	case !deployed:
		return levels.Stored
	case len(d.conflicts)+len(d.invalid)+len(d.apply) > 0:
		return levels.Deploying
	case slices.ContainsFunc(d.parts, func(p part) bool { return p.situation == levels.Deploying }):
		return levels.Deploying
	}
	return levels.Running
}

// message describes the state of a resource.
func (d *decision) message(deployed bool) string {
	if !deployed {
		return "it is stored, and nothing below it is deployed"
	}
	var waiting []string
	for _, p := range d.parts {
		if p.situation == levels.Deploying {
			waiting = append(waiting, p.name)
		}
	}
	slices.Sort(waiting)
	if problems := slices.Concat(d.conflicts, d.invalid); len(problems) > 0 {
		return strings.Join(problems, "; ")
	}
	if len(waiting) > 0 {
		return "not running yet: " + strings.Join(waiting, ", ")
	}
	return "everything below it is running"
}

func sortedValues(all map[types.NamespacedName]*object) []*object {
	values := make([]*object, 0, len(all))
	for _, o := range all {
		values = append(values, o)
	}
	return sorted(values)
}
