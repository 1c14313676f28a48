package config

import (
	"fmt"
	"slices"
	"strings"
)

var kinds = []string{"run", "start", "stop"}

// checkComponents reports components, operations and states that the application
// does not have.
func (d *decoder) checkComponents(components map[string]Component, target *Target) {
	for _, name := range keysOf(components) {
		path := "components." + name
		var operations map[string][]string
		if target != nil {
			known := false
			if operations, known = target.Components[name]; !known {
				d.reportAt(path, "the application has no component of this name%s", didYouMean(name, keysOf(target.Components)))
				continue
			}
		}
		for _, operation := range keysOf(components[name].Operations) {
			path := path + ".operations." + operation
			o := components[name].Operations[operation]
			d.oneOf(path+".kind", o.Kind, kinds)
			if target == nil {
				continue
			}
			states, known := operations[operation]
			if !known {
				d.reportAt(path, "the component has no operation of this name with a script%s", didYouMean(operation, keysOf(operations)))
				continue
			}
			d.checkStates(path+".states", o.States, states)
		}
	}
}

func (d *decoder) checkStates(path string, written, states []string) {
	if len(states) == 0 && d.has(path) {
		d.reportAt(path, "the component's protocol says in which states the operation may run")
		return
	}
	for i, state := range written {
		at := fmt.Sprintf("%s.%d", path, i)
		switch {
		case d.bad[at]:
		case slices.Contains(written[:i], state):
			d.reportAt(at, "%q is listed twice", state)
		case !slices.Contains(states, state):
			d.reportAt(at, "%q is not a state that it may run in, which are %s%s", state, strings.Join(states, ", "), didYouMean(state, states))
		}
	}
}
