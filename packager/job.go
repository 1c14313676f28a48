package packager

import (
	"slices"

	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
)

// jobOf returns the Task of a container that toskose.yml configures to run without the manager, or
// nil.
func (p *planner) jobOf(node string) *spec.Component {
	if !p.plan.Config.Nodes[node].Job {
		return nil
	}
	components := p.components(node)
	i := slices.IndexFunc(components, func(c spec.Component) bool { return c.Task != nil })
	if i < 0 {
		return nil // already reported
	}
	return &components[i]
}

// checkJobs rejects job: true on nodes whose Task needs the manager.
func (p *planner) checkJobs() {
	for _, n := range p.app.Nodes {
		cfg := p.plan.Config.Nodes[n.Name]
		if !cfg.Job {
			continue
		}
		var tasks []spec.Component
		components := p.components(n.Name)
		for _, c := range components {
			if c.Task != nil {
				tasks = append(tasks, c)
			}
		}
		if len(tasks) != 1 {
			p.report("container %q: nodes.%s.job: it hosts %d Tasks instead of one", n.Name, n.Name, len(tasks))
			continue
		}
		if r := cfg.Deploy.Replicas; r != nil && *r > 1 {
			p.report("container %q: nodes.%s.job: each of %d replicas would run the whole Task %q: leave out deploy.replicas", n.Name, n.Name, *r, tasks[0].Name)
		}
		hosts := p.hostsOf(tasks[0])
		for _, c := range components {
			switch {
			case c.Task != nil:
			case !slices.Contains(hosts, c.Name):
				p.report("container %q: nodes.%s.job: it also hosts component %q, which the manager must run: it may only host Task %q and the hosts of that", n.Name, n.Name, c.Name, tasks[0].Name)
			case starts(c):
				p.report("container %q: nodes.%s.job: component %q is started, so the manager must run it", n.Name, n.Name, c.Name)
			}
		}
		if _, ok := stepsTo(tasks[0]); !ok {
			p.report("container %q: nodes.%s.job: the protocol of Task %q leads from %q to no %s", n.Name, n.Name, tasks[0].Name, tasks[0].Protocol.Initial, protocol.TaskRun)
		}
		p.checkAlone(n.Name, append(hosts, tasks[0].Name, n.Name))
	}
}

// checkAlone rejects a job that depends on components, because the manager must order them.
func (p *planner) checkAlone(node string, own []string) {
	for _, c := range p.app.Components {
		for _, to := range slices.Concat(c.Depends, c.Connections) {
			if c.Node != node && slices.Contains(own, to) {
				p.report("container %q: nodes.%s.job: component %q depends on %q, so the manager must run it", node, node, c.Name, to)
			}
			if c.Node == node && !slices.Contains(own, to) && slices.ContainsFunc(p.app.Components, func(o spec.Component) bool { return o.Name == to }) {
				p.report("container %q: nodes.%s.job: component %q depends on %q, which may not be up when the container starts, so the manager must run it", node, node, c.Name, to)
			}
		}
	}
}

// hostsOf returns the hosts of a component, the outermost first.
func (p *planner) hostsOf(c spec.Component) []string {
	var all []string
	for i := 0; i >= 0; {
		if i = slices.IndexFunc(p.app.Components, func(o spec.Component) bool { return o.Name == c.Host }); i >= 0 {
			c = p.app.Components[i]
			all = append(all, c.Name)
		}
	}
	slices.Reverse(all)
	return all
}

// stepsTo returns the operations of a Task that come before the first run.
func stepsTo(c spec.Component) (steps []protocol.Operation, ok bool) {
	implemented := func(o protocol.Operation) bool { return isImplemented(c, o) }
	type place struct {
		state string
		steps []protocol.Operation
	}
	seen := map[string]bool{c.Protocol.Initial: true}
	for queue := []place{{state: c.Protocol.Initial}}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		next := c.Protocol.Allowed(at.state, false, implemented)
		// An operation with a script is not skipped.
		if slices.ContainsFunc(next, func(s protocol.Step) bool { return s.Operation == protocol.TaskRun }) {
			return at.steps, true
		}
		for _, s := range next {
			if implemented(s.Operation) && !seen[s.Target] {
				seen[s.Target] = true
				queue = append(queue, place{s.Target, append(slices.Clip(at.steps), s.Operation)})
			}
		}
	}
	return nil, false
}

func isImplemented(c spec.Component, o protocol.Operation) bool {
	for name, operation := range c.Operations() {
		if name == o {
			return operation.Script != ""
		}
	}
	return false
}

// unitJob returns the job that the container's unit runs without a manager, or nil.
func (p *planner) unitJob(node string) *spec.Job {
	c := p.jobOf(node)
	if c == nil {
		return nil
	}
	step := func(component string, o protocol.Operation) spec.JobStep {
		return spec.JobStep{Component: component, Operation: o.String()}
	}
	job := spec.Job{
		Task: step(c.Name, protocol.TaskRun), Input: spec.TaskIndex, Completions: c.Task.Completions,
		Deadline: c.Task.Deadline, FailOn: c.Task.FailOn,
	}
	for _, host := range p.hostsOf(*c) {
		i := slices.IndexFunc(p.app.Components, func(o spec.Component) bool { return o.Name == host })
		for _, name := range []string{"create", "configure"} {
			if o := (protocol.Operation{Interface: protocol.Standard, Name: name}); isImplemented(p.app.Components[i], o) {
				job.Steps = append(job.Steps, step(host, o))
			}
		}
	}
	steps, _ := stepsTo(*c)
	for _, o := range steps {
		job.Steps = append(job.Steps, step(c.Name, o))
	}
	return &job
}

// asJob makes the orchestrator run the container until it exits with status 0.
func (s *Service) asJob(c *spec.Component) {
	task := *c.Task
	s.Job = &Job{Name: c.Name, Task: task}
	if r := &s.Deploy.RestartPolicy; *r == (config.RestartPolicy{}) {
		r.Condition = "on-failure"
		if r.MaxAttempts = &task.BackoffLimit; task.BackoffLimit == 0 {
			*r = config.RestartPolicy{Condition: "none"} // Docker treats 0 as no limit
		}
	}
}

// withoutJobs removes the components that run without the manager: the manager treats their
// containers as standalone ones.
func (p *planner) withoutJobs(app *spec.Application) {
	gone := map[string]bool{}
	app.Components = slices.DeleteFunc(app.Components, func(c spec.Component) bool {
		gone[c.Name] = gone[c.Name] || p.plan.Config.Nodes[c.Node].Job
		return gone[c.Name]
	})
	for i := range app.Nodes {
		if n := &app.Nodes[i]; p.plan.Config.Nodes[n.Name].Job {
			for _, c := range p.components(n.Name) {
				n.Job = append(n.Job, c.Name)
			}
		}
	}
	app.Groups = slices.Clone(app.Groups)
	for i := range app.Groups {
		app.Groups[i].Members = slices.DeleteFunc(slices.Clone(app.Groups[i].Members), func(name string) bool { return gone[name] })
	}
}
