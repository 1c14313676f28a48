package manager

import (
	"cmp"
	"time"

	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/plan"
	"github.com/toskose/toskose/spec/protocol"
)

// goalModel returns the application as a goal.Model.
func goalModel(app *spec.Application) *goal.Model {
	m := goal.Model{
		Elements: plan.Elements(app), Node: map[string]string{}, Groups: map[string][]string{}, Policies: map[string]goal.Policy{},
		MaxUnavailable: map[string]int{}, Tasks: map[string]goal.Task{}, Jobs: map[string]string{}, Programs: map[string]goal.Program{},
	}
	for _, n := range app.Nodes {
		m.MaxUnavailable[n.Name] = n.MaxUnavailable
		for _, component := range n.Job {
			m.Jobs[component] = n.Name
		}
	}
	for _, c := range app.Components {
		m.Node[c.Name] = c.Node
		if c.Program != nil {
			m.Programs[c.Name] = goal.Program{Autostart: c.Program.Autostart}
		}
		if c.Task != nil {
			m.Tasks[c.Name] = task(c.Task)
		}
		if c.Policy != nil {
			m.Policies[c.Name] = policy(c.Policy)
		}
	}
	for _, g := range app.Groups {
		m.Groups[g.Name] = g.Members
	}
	return goal.NewModel(m)
}

func task(t *spec.Task) goal.Task {
	return goal.Task{
		Completions: t.Completions, Parallelism: t.Parallelism, BackoffLimit: t.BackoffLimit,
		Deadline: time.Duration(t.Deadline) * time.Second, Never: t.Rerun == spec.RerunNever, FailOn: t.FailOn,
	}
}

func policy(p *spec.Policy) goal.Policy {
	g := goal.Policy{
		Stable: time.Duration(p.Stable), MaxDelay: time.Duration(p.MaxDelay), TakeDown: p.TakeDown,
		Attempts: map[protocol.Operation]int{},
	}
	for name, n := range p.Attempts {
		if operation, err := protocol.ParseOperation(name); err == nil { // Validate has rejected other names
			g.Attempts[operation] = n
		}
	}
	return g
}

// digests returns the expected digest of each node's unit configuration.
func digests(app *spec.Application) map[string]string {
	all := map[string]string{}
	for _, n := range app.Nodes {
		if n.Unit != nil && n.Unit.Digest != "" {
			all[n.Name] = n.Unit.Digest
		}
	}
	return all
}

// unitNames returns a function that returns the name of a component in its unit.
func unitNames(app *spec.Application) func(component string) string {
	programs := map[string]string{}
	for _, c := range app.Components {
		if c.Program != nil {
			programs[c.Name] = c.Program.Name
		}
	}
	return func(component string) string { return cmp.Or(programs[component], component) }
}
