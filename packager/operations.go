package packager

import (
	"cmp"
	"slices"

	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/tosca"
	"github.com/toskose/toskose/tosca/protocol"
)

// operations returns what toskose.yml may say of operations: those that have a
// script, with the states that are to choose from.
func operations(app *tosca.Application) map[string]map[string][]string {
	all := map[string]map[string][]string{}
	for _, c := range app.Components {
		all[c.Name] = map[string][]string{}
		for name, o := range c.Operations() {
			if o.Script != "" {
				all[c.Name][name.String()] = nil
			}
		}
		for _, f := range c.Protocol.Free {
			all[c.Name][f.String()] = c.Protocol.StateNames()
		}
	}
	return all
}

// configured returns the application with the states that toskose.yml gives to
// operations that no transition names.
func configured(app *tosca.Application, cfg map[string]config.Component) *tosca.Application {
	if len(cfg) == 0 {
		return app
	}
	changed := *app
	changed.Components = slices.Clone(app.Components)
	for i := range changed.Components {
		c := &changed.Components[i]
		c.Protocol.Free = slices.Clone(c.Protocol.Free)
		for j := range c.Protocol.Free {
			f := &c.Protocol.Free[j]
			if states := cfg[c.Name].Operations[f.String()].States; states != nil {
				f.States = slices.Sorted(slices.Values(states))
			}
		}
	}
	return &changed
}

// kind is an operation's kind: toskose.yml's, else that of its name.
func (p *planner) kind(component string, name protocol.Operation) protocol.Kind {
	written := p.plan.Config.Components[component].Operations[name.String()].Kind
	return cmp.Or(protocol.Kind(written), name.Kind())
}
