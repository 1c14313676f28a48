package packager

import (
	"regexp"
	"slices"

	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
)

// nameForm matches names that are valid in a section of supervisord.conf, in a list of programs, as a
// folder, in a URL and as the name of a container.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)

const nameRule = "letters, digits, '_', '.' and '-', beginning with a letter or digit"

// Segments of the manager's routes: nodes and components cannot have these names.
var (
	nodeRoutes = []string{"reload"}
	partRoutes = []string{"log", "operations"}
)

// checkNames rejects names that are invalid for programs, routes or containers.
func (p *planner) checkNames() {
	for _, n := range p.app.Nodes {
		p.checkName("container", n.Name, nodeRoutes)
		if UnitPassword(n.Name) == ManagerPassword || n.Name == p.plan.Config.Manager.Alias {
			p.report("container %q: the name is reserved for the manager; rename the container", n.Name)
		}
	}
	for _, v := range p.app.Volumes {
		p.checkName("volume", v.Name, nil)
	}
	programs := map[string]string{}
	for _, c := range p.app.Components {
		p.checkName("component", c.Name, partRoutes)
		p.checkOperations(c, programs)
	}
}

func (p *planner) checkName(what, name string, routes []string) {
	if !nameForm.MatchString(name) {
		p.report("%s %q: the name cannot be used for containers and programs: only %s", what, name, nameRule)
	}
	if slices.Contains(routes, name) {
		p.report("%s %q: the name is a route of the manager's API; rename the %s", what, name, what)
	}
}

func (p *planner) checkOperations(c spec.Component, programs map[string]string) {
	for name := range c.Operations() {
		if !nameForm.MatchString(name.Interface) || !nameForm.MatchString(name.Name) {
			p.report("component %q: operation %q: the name cannot be used for programs: only %s", c.Name, name, nameRule)
		}
		if slices.Contains(partRoutes, name.Name) {
			p.report("component %q: operation %q: the name is a route of the manager's API; rename the operation", c.Name, name)
		}
		program := c.Name + "." + processName(c, name)
		if other, ok := programs[program]; ok {
			p.report("component %q: operation %q: it has the same program name %q as %q; rename one of them", c.Name, name, program, other)
		}
		programs[program] = c.Name + " " + name.String()
	}
}

// processName returns an operation's name, with its interface if another interface of the component
// has the same operation.
func processName(c spec.Component, operation protocol.Operation) string {
	for other := range c.Operations() {
		if other.Name == operation.Name && other != operation {
			return operation.String()
		}
	}
	return operation.Name
}

// checkPorts rejects containers that publish the same port of the host as another container or the
// manager, which a Swarm publishes at all addresses.
func (p *planner) checkPorts() {
	type publisher struct {
		spec.Port
		name string
	}
	taken := []publisher{{spec.Port{Host: p.plan.Config.Manager.Port, Protocol: "tcp"}, "the manager"}}
	for _, n := range p.app.Nodes {
		for _, np := range n.Ports {
			i := slices.IndexFunc(taken, func(o publisher) bool { return np.Conflicts(o.Port) })
			if i >= 0 {
				p.report("container %q: port %s of the host is already published by %s", n.Name, np.Published(), taken[i].name)
				continue
			}
			taken = append(taken, publisher{np, "the container " + n.Name})
		}
	}
}
