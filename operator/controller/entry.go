package controller

import (
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/types"

	"github.com/toskose/toskose/operator/levels"
)

// entry is an entry of a resource's list, and the object that it makes.
type entry struct {
	name      string
	key       types.NamespacedName
	spec      map[string]any
	permanent bool // a component that its applications share
}

// entriesOf returns the entries of a resource's list. An entry that names the same object as another one is a problem.
func entriesOf(place levels.Place, resource *object, namespace string) (all []entry, problems []string) {
	taken := map[types.NamespacedName]string{}
	for _, item := range listOf(resource.Object, "spec", place.Lower.Plural) {
		e := entryOf(place, resource, item, namespace)
		if of, ok := taken[e.key]; ok {
			problems = append(problems, fmt.Sprintf("%s %q and %q would both have the name %q", place.Lower.Singular, of, e.name, e.key.Name))
			continue
		}
		if e.permanent && e.spec["workload"] != nil {
			problems = append(problems, fmt.Sprintf("component %q is permanent, so it cannot have a workload", e.name))
			continue
		}
		taken[e.key] = e.name
		all = append(all, e)
	}
	return all, problems
}

func entryOf(place levels.Place, resource *object, item map[string]any, namespace string) entry {
	e := entry{name: wordOf(item, "name"), spec: maps.Clone(item)}
	e.key.Name = levels.ChildName(resource.GetName(), e.name)
	switch *place.Lower {
	case levels.Application:
		e.key.Namespace = namespace
		if given := wordOf(item, "namespace"); given != "" {
			e.key.Namespace = given
		}
		delete(e.spec, "namespace")
	case levels.Component:
		e.key.Namespace = resource.GetNamespace()
		if e.permanent, _ = item["permanent"].(bool); e.permanent {
			e.key.Name = e.name
		} else if _, given := item["replicas"]; !given && item["workload"] == nil {
			e.spec["replicas"] = numberOf(resource, "spec", "replicas")
		}
	}
	return e
}
