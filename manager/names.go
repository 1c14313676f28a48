package manager

import (
	"errors"
	"fmt"
	"strings"

	"github.com/toskose/toskose/manager/unitclient"
	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/tosca"
	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/protocol"
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
	models     []OperationModel                     // these, as they are shown
	kinds      map[protocol.Operation]protocol.Kind // that toskose.yml gives
	choices    choices
}

func (c *component) name() string { return c.model.Name }

// operation is an operation of a component.
type operation struct {
	component *component
	name      protocol.Operation
	model     tosca.Operation
}

// process is its name as a process of the unit.
func (o operation) process() string { return o.component.name() + ":" + o.name.String() }

// index joins the model and its configuration, and reports all that is missing.
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
		c := &component{model: &app.Components[i], models: []OperationModel{}, kinds: map[protocol.Operation]protocol.Kind{}}
		c.node = byName[c.model.Node]
		if c.node == nil {
			problems = append(problems, fmt.Errorf("component %q is on node %q, which the application does not have", c.name(), c.model.Node))
			continue
		}
		for name, op := range c.model.Operations() {
			o := operation{component: c, name: name, model: op}
			c.operations, c.models = append(c.operations, o), append(c.models, o.view())
			if kind := c.node.conf.Components[c.name()].Operations[name.String()].Kind; kind != "" {
				c.kinds[name] = protocol.Kind(kind)
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
		return fmt.Errorf("node %q: port %d of its unit in toskose.yml is not valid", n.name(), n.conf.Port)
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

// operation finds an operation by "interface.operation", or by its bare name if
// only one interface has it.
func (a *App) operation(nodeName, componentName, name string) (operation, error) {
	c, err := a.component(nodeName, componentName)
	if err != nil {
		return operation{}, err
	}
	var candidates []operation
	var names, ambiguous []string
	for _, op := range c.operations {
		full := op.name.String()
		if full == name {
			return op, nil
		}
		if op.name.Name == name {
			candidates = append(candidates, op)
			ambiguous = append(ambiguous, full)
		}
		names = append(names, full)
	}
	switch len(candidates) {
	case 1:
		return candidates[0], nil
	case 0:
		e := unknown(ErrUnknownOperation, fmt.Sprintf("component %q has no operation %q", componentName, name), name, names)
		if e.Suggestion == "" {
			e.Suggestion = nearestBare(c, name)
		}
		return operation{}, e
	}
	return operation{}, &Error{
		Kind: ErrAmbiguous, Candidates: ambiguous,
		Detail: fmt.Sprintf("component %q has several operations %q: %s", componentName, name, strings.Join(ambiguous, ", ")),
	}
}

func unknown(kind error, detail, name string, names []string) *Error {
	return &Error{Kind: kind, Detail: detail, Candidates: names, Suggestion: diag.Nearest(name, names)}
}

// nearestBare returns the operation whose bare name is most likely meant.
func nearestBare(c *component, name string) string {
	full := map[string]string{}
	var names []string
	for _, op := range c.operations {
		full[op.name.Name] = op.name.String()
		names = append(names, op.name.Name)
	}
	if parsed, err := protocol.ParseOperation(name); err == nil {
		name = parsed.Name
	}
	return full[diag.Nearest(name, names)]
}
