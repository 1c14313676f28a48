package spec

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/toskose/toskose/spec/protocol"
)

// Container is the document that the unit of a container reads along with its supervisord.conf:
// the components of the container, and the inputs of their operations.
type Container struct {
	Format      int      `json:"format"`        // FormatVersion; EncodeContainer sets it
	Application string   `json:"application"`   // its name
	Node        string   `json:"node"`          // the container's
	Job         *Job     `json:"job,omitempty"` // nil: operations run on request
	Components  []Hosted `json:"components"`    // by name
}

// Hosted is a component of a container.
type Hosted struct {
	Name       string            `json:"name"`
	Protocol   protocol.Protocol `json:"protocol"`
	Files      string            `json:"files,omitempty"` // a digest of its files, so that other files make another version
	Operations []Program         `json:"operations,omitempty"`
}

// Program is an operation of a component that has a script. supervisord.conf defines how to run
// it.
type Program struct {
	protocol.Operation
	Inputs            map[string]string `json:"inputs,omitempty"`             // by variable, without INPUT_
	SecretInputs      map[string]string `json:"secret_inputs,omitempty"`      // the file with each value, by variable, without INPUT_
	SecretEnvironment map[string]string `json:"secret_environment,omitempty"` // the file with each value, by variable
}

// Job is run by a container for a single task, without a manager: Steps, as far as the protocols
// of components allow them, and Task for each index.
type Job struct {
	Steps       []JobStep `json:"steps,omitempty"` // in order
	Task        JobStep   `json:"task"`
	Input       string    `json:"input"`              // of Task: the index
	Completions int       `json:"completions"`        // indexes
	Deadline    int       `json:"deadline,omitempty"` // seconds for all, from the first run on; 0: no limit
	FailOn      []int     `json:"fail_on,omitempty"`  // exit codes after which an index is not run again
}

// JobStep names an operation of a component.
type JobStep struct {
	Component string `json:"component"`
	Operation string `json:"operation"` // interface.operation
}

// String returns "component:interface.operation".
func (j JobStep) String() string { return j.Component + ":" + j.Operation }

// EncodeContainer writes a container's document as indented JSON.
func EncodeContainer(c *Container) ([]byte, error) {
	written := *c
	written.Format = FormatVersion
	return encode(&written, "container", c.Node)
}

// DecodeContainer reads what EncodeContainer writes, and validates it.
func DecodeContainer(data []byte) (*Container, error) {
	var c Container
	if err := decode(data, &c); err != nil {
		return nil, err
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &c, nil
}

// Program returns an operation of a component; nil: the document has none.
func (c *Container) Program(component string, operation protocol.Operation) *Program {
	for i := range c.Components {
		if c.Components[i].Name != component {
			continue
		}
		for j := range c.Components[i].Operations {
			if p := &c.Components[i].Operations[j]; p.Operation == operation {
				return p
			}
		}
	}
	return nil
}

// Validate returns everything that is wrong with the document, joined. No error has the value of an input.
func (c *Container) Validate() error {
	var problems []error
	report := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	for i, of := range c.Components {
		subject := fmt.Sprintf("component %q", of.Name)
		if of.Name == "" {
			report("a component has no name")
		}
		if slices.ContainsFunc(c.Components[:i], func(o Hosted) bool { return o.Name == of.Name }) {
			report("%s is there twice", subject)
		}
		for _, err := range of.Protocol.Problems() {
			report("%s: protocol: %w", subject, err)
		}
		for j, p := range of.Operations {
			if slices.ContainsFunc(of.Operations[:j], func(o Program) bool { return o.Operation == p.Operation }) {
				report("%s: operation %q is there twice", subject, p.Operation)
			}
			for _, err := range p.problems() {
				report("%s: operation %q: %w", subject, p.Operation, err)
			}
		}
	}
	if j := c.Job; j != nil && (j.Completions < 1 || j.Completions > MaxCompletions) {
		report("the job has %d completions, which is not between 1 and %d", j.Completions, MaxCompletions)
	}
	return errors.Join(problems...)
}

func (p *Program) problems() (problems []error) {
	report := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	for _, set := range []struct {
		what   string
		values map[string]string
		files  bool
	}{{"input", p.Inputs, false}, {"secret input", p.SecretInputs, true}, {"secret variable", p.SecretEnvironment, true}} {
		for _, name := range slices.Sorted(maps.Keys(set.values)) {
			switch value := set.values[name]; {
			case name == "" || strings.ContainsAny(name, "=\x00"):
				report("%s %q: no variable can have this name", set.what, name)
			case strings.ContainsRune(value, 0):
				report("%s %q: its value has a zero byte", set.what, name)
			case set.files && !path.IsAbs(value):
				report("%s %q: the path of its file is not absolute", set.what, name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.SecretInputs)) {
		if _, both := p.Inputs[name]; both {
			report("input %q is secret, too", name)
		}
	}
	return problems
}
