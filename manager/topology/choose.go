package topology

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toskose/toskose/internal/suggest"
	"github.com/toskose/toskose/manager/rest"
)

// Choose returns the operations with a process that a name selects: NODE, COMPONENT, NODE/COMPONENT,
// COMPONENT/OPERATION or NODE/COMPONENT/OPERATION. The empty name selects all operations of the application.
func (a *Application) Choose(name string) ([]Operation, error) {
	parts := strings.Split(name, "/")
	if name == "" {
		var all []Operation
		for _, n := range a.Toskosed {
			all = append(all, n.withProcess()...)
		}
		return all, nil
	}
	if c, operation := a.program(name); c != nil {
		return c.choose(operation)
	}
	if len(parts) > 3 {
		return nil, &rest.Error{Kind: rest.ErrInvalid, Detail: fmt.Sprintf("%q is not of the form NODE/COMPONENT/OPERATION", name)}
	}
	n, err := a.Node(parts[0])
	if err != nil {
		c := a.component(parts[0])
		if c == nil {
			return nil, a.nothing(parts[0])
		}
		n, parts = c.Node, append([]string{c.Node.Name()}, parts...)
	}
	switch len(parts) {
	case 1:
		if !n.Toskosed {
			return nil, n.Unattended("it hosts no components, and the orchestrator keeps its log")
		}
		return n.withProcess(), nil
	case 2:
		c, err := a.Component(n.Name(), parts[1])
		if err != nil {
			return nil, err
		}
		return c.withProcess(), nil
	case 3:
		c, err := a.Component(n.Name(), parts[1])
		if err != nil {
			return nil, err
		}
		return c.choose(parts[2])
	}
	return nil, a.nothing(name)
}

// choose returns the operation with a name if it has a process; without a name, all that have one.
func (c *Component) choose(operation string) ([]Operation, error) {
	if operation == "" {
		return c.withProcess(), nil
	}
	op, err := c.operation(operation)
	if err != nil || !op.HasProcess() {
		return nil, err
	}
	return []Operation{op}, nil
}

// program returns the component of an attached node that a name selects, NODE/PROGRAM or NODE/NODE/PROGRAM, and the
// operation that may follow; nil if there is none.
func (a *Application) program(name string) (c *Component, operation string) {
	for _, n := range a.Toskosed {
		rest, is := strings.CutPrefix(name, n.Name()+"/")
		if n.Model.Attached == nil || !is {
			continue
		}
		for _, selected := range []string{rest, strings.TrimPrefix(rest, n.Name()+"/")} {
			program, operation, _ := strings.Cut(selected, "/")
			if c := n.component(program); c != nil && (operation == "" || c.hasOperation(operation)) {
				return c, operation
			}
		}
	}
	return nil, ""
}

func (c *Component) hasOperation(name string) bool {
	_, err := c.operation(name)
	return err == nil
}

// Named returns the component with a name, on whichever node.
func (a *Application) Named(name string) (*Component, error) {
	if c := a.component(name); c != nil {
		return c, nil
	}
	return nil, a.nothing(name)
}

func (a *Application) component(name string) *Component {
	for _, n := range a.Nodes {
		for _, c := range n.Components {
			if c.Name() == name {
				return c
			}
		}
	}
	return nil
}

func (a *Application) nothing(name string) error {
	var names []string
	for _, n := range a.Nodes {
		if slices.Contains(n.Model.Job, name) {
			return n.runsByItself(name)
		}
		names = append(names, n.Name())
		for _, c := range n.Components {
			names = append(names, c.Name())
		}
	}
	return &rest.Error{
		Kind: rest.ErrUnknownComponent, Detail: fmt.Sprintf("the application has no node and no component %q", name),
		Candidates: names, Suggestion: suggest.Nearest(name, names),
	}
}

func (n *Node) withProcess() (all []Operation) {
	for _, c := range n.Components {
		all = append(all, c.withProcess()...)
	}
	return all
}

func (c *Component) withProcess() (all []Operation) {
	for _, op := range c.Operations {
		if op.HasProcess() {
			all = append(all, op)
		}
	}
	return all
}
