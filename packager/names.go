package packager

import (
	"regexp"
	"slices"

	"github.com/toskose/toskose/tosca"
)

// What is valid in a section of supervisord.conf, in a list of programs, as a
// folder, in a URL and as a name of a container, all at once.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)

const nameRule = "letters, digits, '_', '.' and '-', beginning with a letter or digit"

// Segments of the manager's routes beside which nothing may have that name.
var (
	nodeRoutes = []string{"reload"}
	partRoutes = []string{"log", "operations"}
)

// checkNames refuses what no program, route or container can be named.
func (p *planner) checkNames() {
	for _, n := range p.app.Nodes {
		p.checkName("container", n.Name, nodeRoutes)
		if n.Name+"-password" == ManagerPassword || n.Name == p.plan.Config.Manager.Alias {
			p.report("container %q: the name is the manager's own; rename the container", n.Name)
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

func (p *planner) checkOperations(c tosca.Component, programs map[string]string) {
	for _, i := range c.Interfaces {
		for _, o := range i.Operations {
			if !nameForm.MatchString(i.Name) || !nameForm.MatchString(o.Name) {
				p.report("component %q: operation %q: the name cannot be used for programs: only %s", c.Name, i.Name+"."+o.Name, nameRule)
			}
			if slices.Contains(partRoutes, o.Name) {
				p.report("component %q: operation %q: the name is a route of the manager's API; rename the operation", c.Name, i.Name+"."+o.Name)
			}
			program, subject := c.Name+"."+processName(c, i.Name, o.Name), c.Name+" "+i.Name+"."+o.Name
			if other, ok := programs[program]; ok {
				p.report("component %q: operation %q: its program %q is %q's already; rename one of them", c.Name, i.Name+"."+o.Name, program, other)
			}
			programs[program] = subject
		}
	}
}

// processName is an operation's bare name where one interface of the component
// only has it, otherwise `interface.operation`.
func processName(c tosca.Component, iface, operation string) string {
	n := 0
	for _, i := range c.Interfaces {
		if slices.ContainsFunc(i.Operations, func(o tosca.Operation) bool { return o.Name == operation }) {
			n++
		}
	}
	if n == 1 {
		return operation
	}
	return iface + "." + operation
}

// checkPorts refuses two containers that publish one port of the host, or one
// that does the manager's.
func (p *planner) checkPorts() {
	type port struct {
		host     int
		protocol string
	}
	manager := p.plan.Config.Manager.Port
	taken := map[port]string{{manager, "tcp"}: "the manager"}
	for _, n := range p.app.Nodes {
		for _, np := range n.Ports {
			at := port{np.Host, np.Protocol}
			if np.Host == 0 {
				continue
			}
			if other, ok := taken[at]; ok {
				p.report("container %q: port %d of the host is published by %s already", n.Name, np.Host, other)
				continue
			}
			taken[at] = "the container " + n.Name
		}
	}
}
