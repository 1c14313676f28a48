package packager

import (
	"maps"
	"slices"

	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
)

// document returns the application as its manager reads it: without secrets, and with the run-time
// settings of toskose.yml.
func (p *planner) document() *spec.Application {
	app := p.public()
	if goal := p.plan.Config.Manager.Goal; goal != config.GoalNone {
		app.Goal = goal
	}
	for i := range app.Nodes {
		n := &app.Nodes[i]
		cfg := p.plan.Config.Nodes[n.Name]
		n.MaxUnavailable = cfg.MaxUnavailable
		if cfg.Alias != n.Name {
			n.Alias = cfg.Alias
		}
		if hosts(app, n.Name) {
			n.Unit = &spec.Unit{Port: cfg.Port, User: cfg.User, Digest: p.plan.Digests[n.Name]}
		}
	}
	for i := range app.Components {
		c := &app.Components[i]
		c.Policy = policy(c, p.plan.Config.Nodes[c.Node].Components[c.Name])
	}
	return app
}

// policy returns the settings in toskose.yml of how a goal restarts a component.
func policy(c *spec.Component, cfg config.Component) *spec.Policy {
	p := spec.Policy{
		Stable: spec.Duration(config.ParseDuration(cfg.Restart.Stable)), MaxDelay: spec.Duration(config.ParseDuration(cfg.Restart.DelayMax)),
		Attempts: map[string]int{},
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Requirements)) {
		if cfg.Requirements[name].WhileAway == config.WhileAwayDown {
			p.TakeDown = append(p.TakeDown, name)
		}
		if cfg.Requirements[name].Live {
			p.Live = append(p.Live, name)
		}
	}
	for name := range c.Operations() {
		o := cfg.Operations[name.String()]
		switch {
		case o.Attempts > 0:
			p.Attempts[name.String()] = o.Attempts
		case c.Protocol.KindOf(name) == protocol.KindRun && cfg.Restart.Attempts > 0:
			p.Attempts[name.String()] = cfg.Restart.Attempts
		}
	}
	return &p
}
