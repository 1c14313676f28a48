package manager

import (
	"slices"
	"time"

	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/tosca"
)

// goalModel returns the application as goals know it.
func goalModel(app *tosca.Application, conf *config.Config) *goal.Model {
	m := goal.Model{
		Elements: tosca.PlanElements(app), Node: map[string]string{}, Groups: map[string][]string{}, Policies: map[string]goal.Policy{},
		MaxUnavailable: map[string]int{}, Tasks: map[string]goal.Task{}, Jobs: map[string]string{},
	}
	for name, n := range conf.Nodes {
		m.MaxUnavailable[name] = n.MaxUnavailable
	}
	for _, n := range app.Nodes {
		for _, component := range n.Job {
			m.Jobs[component] = n.Name
		}
	}
	for i := range app.Components {
		c := &app.Components[i]
		m.Node[c.Name] = c.Node
		if c.Task != nil {
			m.Tasks[c.Name] = task(c.Task)
		}
		m.Policies[c.Name] = policy(c, conf.Nodes[c.Node].Components[c.Name])
	}
	for _, u := range app.Units {
		m.Groups[u.Name] = u.Members
	}
	return goal.NewModel(m)
}

func task(t *tosca.Task) goal.Task {
	return goal.Task{
		Completions: t.Completions, Parallelism: t.Parallelism, BackoffLimit: t.BackoffLimit,
		Deadline: time.Duration(t.Deadline) * time.Second, Never: t.Rerun == tosca.RerunNever, FailOn: t.FailOn,
	}
}

// policy returns how toskose.yml wants a component kept.
func policy(c *tosca.Component, conf config.Component) goal.Policy {
	p := goal.Policy{
		Stable: config.ParseDuration(conf.Restart.Stable), MaxDelay: config.ParseDuration(conf.Restart.DelayMax),
		Attempts: map[protocol.Operation]int{},
	}
	for name, r := range conf.Requirements {
		if r.WhileAway == config.WhileAwayDown {
			p.TakeDown = append(p.TakeDown, name)
		}
	}
	slices.Sort(p.TakeDown)
	for name := range c.Operations() {
		o := conf.Operations[name.String()]
		switch {
		case o.Attempts > 0:
			p.Attempts[name] = o.Attempts
		case c.Protocol.KindOf(name) == protocol.KindRun && conf.Restart.Attempts > 0:
			p.Attempts[name] = conf.Restart.Attempts
		}
	}
	return p
}
