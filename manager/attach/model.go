// Package attach makes components of the programs that the units of attached nodes report. It sends no requests and
// starts no goroutine.
package attach

import (
	"maps"
	"slices"
	"strings"

	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
)

// programType is the type of components that are programs.
const programType = "Program"

// Model returns the application with a component for each program of its attached nodes, by node. Programs that
// others require and no unit reports are components, too: what requires them waits.
func Model(app *spec.Application, programs map[string][]spec.AttachedProgram) *spec.Application {
	all := map[string]map[string]spec.AttachedProgram{} // by node and name
	for _, n := range app.Nodes {
		if n.Attached != nil {
			all[n.Name] = map[string]spec.AttachedProgram{}
			for _, p := range programs[n.Name] {
				all[n.Name][p.Name] = p
			}
		}
	}
	addRequired(app, all)
	model := *app
	model.Components = slices.Clone(app.Components)
	for _, n := range app.Nodes {
		for _, p := range all[n.Name] {
			model.Components = append(model.Components, component(&n, p))
		}
	}
	slices.SortFunc(model.Components, func(a, b spec.Component) int { return strings.Compare(a.Name, b.Name) })
	return &model
}

// addRequired adds the programs that others require.
func addRequired(app *spec.Application, all map[string]map[string]spec.AttachedProgram) {
	for _, n := range app.Nodes {
		if n.Attached == nil {
			continue
		}
		for program, targets := range n.Attached.Requires {
			if _, known := all[n.Name][program]; !known {
				continue
			}
			for _, target := range targets {
				node, name, isProgram := strings.Cut(target, "/")
				if _, known := all[node][name]; isProgram && !known && all[node] != nil {
					all[node][name] = spec.AttachedProgram{Name: name}
				}
			}
		}
	}
}

func component(n *spec.Node, p spec.AttachedProgram) spec.Component {
	c := spec.Component{
		Name: n.Name + "/" + p.Name, Type: programType, Host: n.Name, Node: n.Name, Protocol: protocol.Program(), Program: &p,
		Connections: slices.Compact(slices.Sorted(slices.Values(n.Attached.Requires[p.Name]))),
		Policy:      &spec.Policy{Live: []string{protocol.Connection}},
	}
	operations := map[string][]spec.Operation{}
	for _, o := range c.Protocol.Operations() {
		operations[o.Interface] = append(operations[o.Interface], spec.Operation{Name: o.Name})
	}
	for _, name := range slices.Sorted(maps.Keys(operations)) {
		slices.SortFunc(operations[name], func(a, b spec.Operation) int { return strings.Compare(a.Name, b.Name) })
		c.Interfaces = append(c.Interfaces, spec.Interface{Name: name, Operations: operations[name]})
	}
	return c
}
