// Package topology finds an application's nodes, components and operations by the names that callers use. It knows
// the addresses of their units, and the operations that their protocols allow.
package topology

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/toskose/toskose/internal/suggest"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/manager/unitclient"
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
)

// Node is a container of the model, and the credentials and port of its unit.
type Node struct {
	Model       *spec.Node
	Toskosed    bool // it has a unit: it hosts components, or is attached
	Credentials unitclient.Credentials
	Components  []*Component
}

// Alias is the node's name on the network.
func (n *Node) Alias() string { return cmp.Or(n.Model.Alias, n.Name()) }

// Port returns the port of the unit's API; 0 if the node has no unit.
func (n *Node) Port() int {
	if n.Model.Unit == nil {
		return 0
	}
	return n.Model.Unit.Port
}

// Name is its name in the model.
func (n *Node) Name() string { return n.Model.Name }

// Replica returns the name of the node's replica at an address, for errors.
func (n *Node) Replica(addr netip.AddrPort) string {
	return fmt.Sprintf("replica %s of node %q", addr, n.Name())
}

// IsJob reports whether the container is a job, which runs to completion without the manager.
func (n *Node) IsJob() bool { return len(n.Model.Job) > 0 }

// Unattended is the error of a request that requires a unit, for a node that has none; does describes
// the orchestrator's action instead.
func (n *Node) Unattended(does string) error {
	if n.IsJob() {
		return &rest.Error{Kind: rest.ErrJob, Detail: fmt.Sprintf("node %q is a job, run by its orchestrator: the manager has no part in it", n.Name())}
	}
	return &rest.Error{Kind: rest.ErrStandalone, Detail: fmt.Sprintf("node %q is standalone: %s", n.Name(), does)}
}

// runsByItself is the error of a request for a component of a job.
func (n *Node) runsByItself(component string) error {
	return &rest.Error{Kind: rest.ErrJob, Detail: fmt.Sprintf(
		"component %q is run by its orchestrator: container %q is a job, in which the manager has no part", component, n.Name())}
}

// Component is a component of the model on its node.
type Component struct {
	Model      *spec.Component
	Node       *Node
	Operations []Operation
	Models     []rest.OperationModel // the static descriptions of the operations

	choices choices
}

// Name is its name in the model.
func (c *Component) Name() string { return c.Model.Name }

// Application is an index of the model by name.
type Application struct {
	*spec.Application
	Toskosed []*Node // nodes with a unit
	Nodes    []*Node // all
}

// New indexes an application, and returns an error that names every node whose unit cannot be reached.
func New(app *spec.Application, passwords func(node string) []string) (*Application, error) {
	var problems []error
	nodes := make([]*Node, 0, len(app.Nodes))
	byName := map[string]*Node{}
	for i := range app.Nodes {
		n := &Node{Model: &app.Nodes[i], Toskosed: app.Nodes[i].Attached != nil}
		nodes, byName[n.Name()] = append(nodes, n), n
	}
	for i := range app.Components {
		c := &Component{Model: &app.Components[i], Models: []rest.OperationModel{}}
		c.Node = byName[c.Model.Node]
		if c.Node == nil {
			problems = append(problems, fmt.Errorf("component %q is on node %q, which the application does not have", c.Name(), c.Model.Node))
			continue
		}
		for name, op := range c.Model.Operations() {
			o := Operation{Component: c, Name: name, Model: op}
			c.Operations, c.Models = append(c.Operations, o), append(c.Models, o.Describe())
		}
		c.Node.Components = append(c.Node.Components, c)
		c.Node.Toskosed = true
	}
	a := &Application{Application: app, Nodes: nodes}
	for _, n := range nodes {
		if n.Toskosed {
			a.Toskosed = append(a.Toskosed, n)
			problems = append(problems, n.credential(passwords))
		}
	}
	return a, errors.Join(problems...)
}

// credential sets the credentials of the node's unit.
func (n *Node) credential(passwords func(node string) []string) error {
	if n.Model.Unit == nil {
		return fmt.Errorf(`node %q hosts components, but the application does not say how to reach its unit: set "unit" of the node`, n.Name())
	}
	n.Credentials = unitclient.Credentials{User: n.Model.Unit.User, Passwords: func() []string { return passwords(n.Name()) }, Name: n.Name()}
	if len(n.Credentials.Passwords()) == 0 {
		return fmt.Errorf("node %q: the password of its unit is missing", n.Name())
	}
	return nil
}

// Node finds a node.
func (a *Application) Node(name string) (*Node, error) {
	names := make([]string, 0, len(a.Nodes))
	for _, n := range a.Nodes {
		if n.Name() == name {
			return n, nil
		}
		names = append(names, n.Name())
	}
	return nil, unknown(rest.ErrUnknownNode, fmt.Sprintf("the application has no node %q", name), name, names)
}

// component returns the component of the node with a name, or a program with the unit's name of it; nil if there is
// none.
func (n *Node) component(name string) *Component {
	i := slices.IndexFunc(n.Components, func(c *Component) bool {
		return c.Name() == name || c.Model.Program != nil && c.Model.Program.Name == name
	})
	if i < 0 {
		return nil
	}
	return n.Components[i]
}

// Component finds a component on a node. A program may have the name that it has in its unit.
func (a *Application) Component(nodeName, name string) (*Component, error) {
	n, err := a.Node(nodeName)
	if err != nil {
		return nil, err
	}
	if c := n.component(name); c != nil {
		return c, nil
	}
	var names []string
	for _, c := range n.Components {
		names = append(names, c.Name())
	}
	if slices.Contains(n.Model.Job, name) {
		return nil, n.runsByItself(name)
	}
	if !n.Toskosed {
		return nil, &rest.Error{Kind: rest.ErrUnknownComponent, Detail: fmt.Sprintf("node %q is standalone: it hosts no components", nodeName)}
	}
	if c := a.component(name); c != nil {
		return nil, &rest.Error{Kind: rest.ErrUnknownComponent, Detail: fmt.Sprintf(
			"node %q has no component %q: it is on node %q", nodeName, name, c.Node.Name())}
	}
	return nil, unknown(rest.ErrUnknownComponent, fmt.Sprintf("node %q has no component %q", nodeName, name), name, names)
}

// Operation finds an operation by "interface.operation", or by its bare name if
// only one interface has it.
func (a *Application) Operation(nodeName, componentName, name string) (Operation, error) {
	c, err := a.Component(nodeName, componentName)
	if err != nil {
		return Operation{}, err
	}
	return c.operation(name)
}

func (c *Component) operation(name string) (Operation, error) {
	var candidates []Operation
	var names, ambiguous []string
	for _, op := range c.Operations {
		full := op.Name.String()
		if full == name {
			return op, nil
		}
		if op.Name.Name == name {
			candidates = append(candidates, op)
			ambiguous = append(ambiguous, full)
		}
		names = append(names, full)
	}
	switch len(candidates) {
	case 1:
		return candidates[0], nil
	case 0:
		e := unknown(rest.ErrUnknownOperation, fmt.Sprintf("component %q has no operation %q", c.Name(), name), name, names)
		if e.Suggestion == "" {
			e.Suggestion = nearestBare(c, name)
		}
		return Operation{}, e
	}
	return Operation{}, &rest.Error{
		Kind: rest.ErrAmbiguous, Candidates: ambiguous,
		Detail: fmt.Sprintf("component %q has several operations %q: %s", c.Name(), name, strings.Join(ambiguous, ", ")),
	}
}

func unknown(kind error, detail, name string, names []string) *rest.Error {
	return &rest.Error{Kind: kind, Detail: detail, Candidates: names, Suggestion: suggest.Nearest(name, names)}
}

// nearestBare returns the operation whose bare name is most similar.
func nearestBare(c *Component, name string) string {
	full := map[string]string{}
	var names []string
	for _, op := range c.Operations {
		full[op.Name.Name] = op.Name.String()
		names = append(names, op.Name.Name)
	}
	if parsed, err := protocol.ParseOperation(name); err == nil {
		name = parsed.Name
	}
	return full[suggest.Nearest(name, names)]
}
