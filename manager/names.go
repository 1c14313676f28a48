package manager

import (
	"errors"
	"fmt"
	"strings"

	"github.com/toskose/toskose/manager/unitclient"
	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/tosca"
	"github.com/toskose/toskose/tosca/diag"
)

// node is a container of the model with what is needed to reach it.
type node struct {
	model       *tosca.Node
	conf        config.Node
	toskosed    bool
	credentials unitclient.Credentials
	components  []*component
}

func (n *node) name() string { return n.model.Name }

// component is a component of the model on its node.
type component struct {
	model      *tosca.Component
	node       *node
	operations []operation
}

func (c *component) name() string { return c.model.Name }

// operation is an operation of a component.
type operation struct {
	component *component
	iface     string
	model     tosca.Operation
}

// qualified is the name that always finds it.
func (o operation) qualified() string { return o.iface + "." + o.model.Name }

// process is its name as a process of the unit.
func (o operation) process() string { return o.component.name() + ":" + o.qualified() }

// index joins the model and its configuration. All that is missing is reported.
func index(app *tosca.Application, conf *config.Config, passwords map[string]string) ([]*node, error) {
	var problems []error
	nodes := make([]*node, 0, len(app.Nodes))
	byName := map[string]*node{}
	for i := range app.Nodes {
		n := &node{model: &app.Nodes[i], conf: conf.Nodes[app.Nodes[i].Name]}
		if n.conf.Alias == "" {
			n.conf.Alias = n.name()
		}
		nodes, byName[n.name()] = append(nodes, n), n
	}
	for i := range app.Components {
		c := &component{model: &app.Components[i]}
		c.node = byName[c.model.Node]
		if c.node == nil {
			problems = append(problems, fmt.Errorf("component %q is on node %q, which the application does not have", c.name(), c.model.Node))
			continue
		}
		for _, iface := range c.model.Interfaces {
			for _, op := range iface.Operations {
				c.operations = append(c.operations, operation{component: c, iface: iface.Name, model: op})
			}
		}
		c.node.components = append(c.node.components, c)
		c.node.toskosed = true
	}
	for _, n := range nodes {
		if n.toskosed {
			problems = append(problems, n.credential(passwords))
		}
	}
	return nodes, errors.Join(problems...)
}

func (n *node) credential(passwords map[string]string) error {
	n.credentials = unitclient.Credentials{User: n.conf.User, Password: passwords[n.name()], Name: n.name()}
	if n.conf.Port < 1 || n.conf.Port > 65535 {
		return fmt.Errorf("node %q: toskose.yml gives its unit the port %d", n.name(), n.conf.Port)
	}
	if n.conf.User == "" || n.credentials.Password == "" {
		return fmt.Errorf("node %q: its unit's user or password is missing", n.name())
	}
	return nil
}

func (a *App) node(name string) (*node, error) {
	names := make([]string, 0, len(a.nodes))
	for _, n := range a.nodes {
		if n.name() == name {
			return n, nil
		}
		names = append(names, n.name())
	}
	return nil, unknown(ErrUnknownNode, fmt.Sprintf("the application has no node %q", name), name, names)
}

func (a *App) component(nodeName, name string) (*component, error) {
	n, err := a.node(nodeName)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, c := range n.components {
		if c.name() == name {
			return c, nil
		}
		names = append(names, c.name())
	}
	if !n.toskosed {
		return nil, &Error{Kind: ErrUnknownComponent, Detail: fmt.Sprintf("node %q is standalone: it hosts no components", nodeName)}
	}
	for _, other := range a.nodes {
		for _, c := range other.components {
			if c.name() == name {
				return nil, &Error{Kind: ErrUnknownComponent, Detail: fmt.Sprintf(
					"node %q has no component %q: it is on node %q", nodeName, name, other.name())}
			}
		}
	}
	return nil, unknown(ErrUnknownComponent, fmt.Sprintf("node %q has no component %q", nodeName, name), name, names)
}

// operation finds an operation by "interface.operation", or by its bare name
// where one interface only has it.
func (a *App) operation(nodeName, componentName, name string) (operation, error) {
	c, err := a.component(nodeName, componentName)
	if err != nil {
		return operation{}, err
	}
	var named []operation
	var names, qualified []string
	for _, op := range c.operations {
		if op.qualified() == name {
			return op, nil
		}
		if op.model.Name == name {
			named = append(named, op)
			qualified = append(qualified, op.qualified())
		}
		names = append(names, op.qualified())
	}
	switch len(named) {
	case 1:
		return named[0], nil
	case 0:
		e := unknown(ErrUnknownOperation, fmt.Sprintf("component %q has no operation %q", componentName, name), name, names)
		if e.Suggestion == "" {
			e.Suggestion = nearestBare(c, name)
		}
		return operation{}, e
	}
	return operation{}, &Error{
		Kind: ErrAmbiguous, Candidates: qualified,
		Detail: fmt.Sprintf("component %q has several operations %q: %s", componentName, name, strings.Join(qualified, ", ")),
	}
}

func unknown(kind error, detail, name string, names []string) *Error {
	return &Error{Kind: kind, Detail: detail, Candidates: names, Suggestion: diag.Nearest(name, names)}
}

// nearestBare gives the operation whose bare name is most likely meant.
func nearestBare(c *component, name string) string {
	full := map[string]string{}
	var names []string
	for _, op := range c.operations {
		full[op.model.Name] = op.qualified()
		names = append(names, op.model.Name)
	}
	return full[diag.Nearest(name[strings.LastIndex(name, ".")+1:], names)]
}
