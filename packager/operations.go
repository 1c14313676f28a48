package packager

import (
	"maps"
	"slices"

	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
)

// components returns the component settings that toskose.yml may contain.
func components(app *spec.Application) map[string]config.TargetComponent {
	all := map[string]config.TargetComponent{}
	for _, c := range app.Components {
		t := config.TargetComponent{Node: c.Node, Operations: operations(c), Port: declaredPort(app, c)}
		if len(c.Connections) > 0 {
			t.Requires = append(t.Requires, protocol.Connection)
		}
		if len(c.Depends) > 0 {
			t.Requires = append(t.Requires, protocol.Dependency)
		}
		for _, r := range c.Named {
			if r.Class != protocol.Host {
				t.Requires = append(t.Requires, r.Name)
			}
		}
		slices.Sort(t.Requires)
		t.Requires = slices.Compact(t.Requires)
		all[c.Name] = t
	}
	return all
}

// operations returns the operations of a component that have a script.
func operations(c spec.Component) map[string]config.TargetOperation {
	all := map[string]config.TargetOperation{}
	for name, o := range c.Operations() {
		if o.Script == "" {
			continue
		}
		t := config.TargetOperation{Kind: string(c.Protocol.KindOf(name))}
		if slices.ContainsFunc(c.Protocol.Free, func(f protocol.Free) bool { return f.Operation == name }) {
			t.States = c.Protocol.StateNames()
		}
		all[name.String()] = t
	}
	return all
}

// declaredPort returns the TCP port at which a component must accept connections once started, or
// 0. The component's own endpoint takes precedence. The container's endpoint or, without one, its only port
// applies if no other component is started in the container.
func declaredPort(app *spec.Application, c spec.Component) int {
	if c.Endpoint != 0 {
		return c.Endpoint
	}
	for _, other := range app.Components {
		if other.Name != c.Name && other.Node == c.Node && starts(other) {
			return 0
		}
	}
	i := slices.IndexFunc(app.Nodes, func(n spec.Node) bool { return n.Name == c.Node })
	switch {
	case i < 0: // a draft
		return 0
	case app.Nodes[i].Endpoint != 0:
		return app.Nodes[i].Endpoint
	}
	port := 0
	for _, p := range app.Nodes[i].Ports {
		switch {
		case p.Protocol != "tcp":
		case port != 0:
			return 0
		default:
			port = p.Container
		}
	}
	return port
}

// starts reports whether an operation with a script starts a component.
func starts(c spec.Component) bool {
	for name, o := range c.Operations() {
		if o.Script != "" && c.Protocol.KindOf(name) == protocol.KindStart {
			return true
		}
	}
	return false
}

// Configured returns the application with the settings of toskose.yml for its model: published ports, kinds of operations, and
// the states of operations that no transition names.
func Configured(app *spec.Application, cfg config.Config) *spec.Application {
	changed := *app
	changed.Nodes = slices.Clone(app.Nodes)
	for i := range changed.Nodes {
		n := &changed.Nodes[i]
		n.Ports = cfg.Nodes[n.Name].Published(n.Ports)
	}
	changed.Components = slices.Clone(app.Components)
	for i := range changed.Components {
		c := &changed.Components[i]
		written := cfg.Nodes[c.Node].Components[c.Name].Operations
		if len(written) == 0 {
			continue
		}
		c.Protocol.Free, c.Protocol.Kinds = slices.Clone(c.Protocol.Free), maps.Clone(c.Protocol.Kinds)
		for j := range c.Protocol.Free {
			f := &c.Protocol.Free[j]
			if states := written[f.String()].States; states != nil {
				f.States = slices.Sorted(slices.Values(states))
			}
		}
		for name, o := range written {
			if o.Kind == "" {
				continue
			}
			if c.Protocol.Kinds == nil {
				c.Protocol.Kinds = map[string]protocol.Kind{}
			}
			c.Protocol.Kinds[name] = protocol.Kind(o.Kind)
		}
	}
	return &changed
}
