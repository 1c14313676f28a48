package topology

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
)

// Operation is an operation of a component.
type Operation struct {
	Component *Component
	Name      protocol.Operation
	Model     spec.Operation
}

// Implemented reports whether the unit does something for the operation: it has a script, or is an operation of a
// program.
func (o Operation) Implemented() bool {
	return o.Model.Script != "" || o.Component.Model.Program != nil
}

// HasProcess reports whether the operation has a process of its own, and thus a log. A program is the process of its
// start.
func (o Operation) HasProcess() bool {
	return o.Model.Script != "" || o.Component.Model.Program != nil && o.Name == protocol.ProgramStart
}

// Process returns the name of the operation's process in the unit.
func (o Operation) Process() string {
	if p := o.Component.Model.Program; p != nil {
		return p.Name
	}
	return o.Component.Name() + ":" + o.Name.String()
}

// Describe returns the static description of the operation.
func (o Operation) Describe() rest.OperationModel {
	view := rest.OperationModel{Name: o.Name.String(), Implemented: o.Implemented()}
	for _, input := range o.Model.Inputs {
		view.Inputs = append(view.Inputs, input.Name)
	}
	return view
}

// CheckInputs returns an error that names all inputs that the operation does not declare; a unit's error would
// name only the first.
func (o Operation) CheckInputs(inputs map[string]string) error {
	var declared, undeclared []string
	for _, input := range o.Model.Inputs {
		declared = append(declared, input.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		if !slices.Contains(declared, name) {
			undeclared = append(undeclared, fmt.Sprintf("%q", name))
		}
		if strings.ContainsRune(inputs[name], 0) {
			return &rest.Error{Kind: rest.ErrInvalid, Detail: fmt.Sprintf("the value of input %q contains a zero byte, which no environment variable can", name)}
		}
	}
	if undeclared == nil {
		return nil
	}
	has := "none"
	if declared != nil {
		has = strings.Join(declared, ", ")
	}
	return &rest.Error{Kind: rest.ErrInvalid, Candidates: declared, Detail: fmt.Sprintf(
		"operation %s of component %q does not declare the input %s (it declares %s)",
		o.Name, o.Component.Name(), strings.Join(undeclared, ", "), has)}
}
