package packager

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/toskose/toskose/templates"
	"github.com/toskose/toskose/tosca"
	"github.com/toskose/toskose/unit/wire"
)

// unitConf is the data of the template of supervisord.conf.
type unitConf struct {
	App, Node  string
	TLS        *unitTLS
	Components []unitComponent
}

type unitComponent struct {
	Name, Protocol string
	Programs       []unitProgram
}

type unitProgram struct {
	Name, Process, Command, Directory string
	Component, Interface              string
	Kind                              wire.OperationKind
	Inputs, SecretInputs, SecretEnv   string
	Log                               string
	StopWait, Timeout                 int
}

// unitConf renders the unit's configuration for a node.
func (p *planner) unitConf(node string, components []tosca.Component, secrets map[string]string) ([]byte, error) {
	conf := unitConf{App: p.plan.App, Node: node, TLS: p.unitTLS(node)}
	for _, c := range components {
		protocol, err := jsonValue(wireProtocol(c))
		if err != nil {
			return nil, fmt.Errorf("component %q: protocol: %w", c.Name, err)
		}
		uc := unitComponent{Name: c.Name, Protocol: protocol}
		for _, i := range c.Interfaces {
			for _, o := range i.Operations {
				if o.Script == "" {
					continue
				}
				program, err := p.program(c, i.Name, o, secrets)
				if err != nil {
					return nil, fmt.Errorf("component %q: operation %q: %w", c.Name, i.Name+"."+o.Name, err)
				}
				uc.Programs = append(uc.Programs, program)
			}
		}
		conf.Components = append(conf.Components, uc)
	}
	return templates.Render(templates.SupervisordConf, conf)
}

func (p *planner) program(c tosca.Component, iface string, o tosca.Operation, secrets map[string]string) (unitProgram, error) {
	process := processName(c, iface, o.Name)
	program := unitProgram{
		Name: c.Name + "." + process, Process: process, Component: c.Name, Interface: iface,
		Directory: appPath(c.Name, ""), Kind: kind(iface, o.Name), StopWait: ProgramGrace,
		Timeout: o.Timeout,
		Log:     path.Join(StatePath, "logs", c.Name, process),
	}
	script, err := scriptCommand(p.archive, appPath(c.Name, o.Script), o.Script)
	if err != nil {
		return unitProgram{}, err
	}
	program.Command = script
	for _, set := range []struct {
		into   *string
		values map[string]string
	}{{&program.Inputs, p.inputs(c, o)}, {&program.SecretInputs, p.secretInputs(c, iface, o)}, {&program.SecretEnv, secrets}} {
		if len(set.values) == 0 {
			continue
		}
		if *set.into, err = jsonValue(set.values); err != nil {
			return unitProgram{}, err
		}
	}
	return program, nil
}

// scriptCommand gives the command of a script: itself, or sh's where it does
// not say what runs it.
func scriptCommand(archive fs.FS, at, script string) (string, error) {
	head, err := firstBytes(archive, script)
	if err != nil {
		return "", fmt.Errorf("script %q: %w", script, err)
	}
	if runsItself(head) {
		return command(at), nil
	}
	return command("/bin/sh", at), nil
}

func kind(iface, operation string) wire.OperationKind {
	if iface == "Standard" && operation == "start" {
		return wire.OperationStart
	}
	if iface == "Standard" && operation == "stop" {
		return wire.OperationStop
	}
	return wire.OperationRun
}

func wireProtocol(c tosca.Component) wire.Protocol {
	out := wire.Protocol{Initial: c.Protocol.Initial, States: []string{}, Transitions: []wire.Transition{}}
	for _, s := range c.Protocol.States {
		out.States = append(out.States, s.Name)
	}
	for _, t := range c.Protocol.Transitions {
		out.Transitions = append(out.Transitions, wire.Transition{Source: t.Source, Target: t.Target, Operation: t.Qualified()})
	}
	for _, h := range c.Protocol.FaultHandlers {
		out.FaultHandlers = append(out.FaultHandlers, wire.FaultHandler{Source: h.Source, Target: h.Target})
	}
	return out
}

// inputs gives an operation's INPUT_ variables, without that prefix, but for
// the secret ones.
func (p *planner) inputs(c tosca.Component, o tosca.Operation) map[string]string {
	values := map[string]string{}
	for _, in := range o.Inputs {
		if !p.hidden(c.Name, in.Name) {
			values[strings.ToUpper(in.Name)] = p.inputValue(c, in)
		}
	}
	return values
}

// inputValue is an input's value; an artifact's is its path in the container.
func (p *planner) inputValue(c tosca.Component, in tosca.OperationInput) string {
	return in.Resolve(func(owner, artifact string) string {
		return appPath(p.keeper(c, owner), artifact)
	})
}

// keeper is the component in whose folder an artifact lies that an input
// names: its owner's where that is in the same container, otherwise the
// component's own, which gets a copy.
func (p *planner) keeper(c tosca.Component, owner string) string {
	i := slices.IndexFunc(p.app.Components, func(o tosca.Component) bool { return o.Name == owner })
	if i >= 0 && p.app.Components[i].Node == c.Node {
		return owner
	}
	return c.Name
}

// checkInputs refuses names that make one variable, and what no variable can
// be named or hold.
func (p *planner) checkInputs(c tosca.Component) {
	for _, i := range c.Interfaces {
		for _, o := range i.Operations {
			seen := map[string]string{}
			for _, in := range o.Inputs {
				subject := fmt.Sprintf("component %q: operation %q: input %q", c.Name, i.Name+"."+o.Name, in.Name)
				upper := strings.ToUpper(in.Name)
				if other, ok := seen[upper]; ok {
					p.report("%s: is the variable INPUT_%s, as %q is", subject, upper, other)
				}
				seen[upper] = in.Name
				if strings.ContainsAny(in.Name, "=\x00") || strings.ContainsRune(in.Value, 0) {
					p.report("%s: cannot be a variable of the environment", subject)
				}
			}
		}
	}
}

// sharedInputs gives the INPUT_ variables that all operations of a node agree
// on, of those that declare them.
func (p *planner) sharedInputs(components []tosca.Component) map[string]string {
	shared, differs := map[string]string{}, map[string]bool{}
	for _, c := range components {
		for _, i := range c.Interfaces {
			for _, o := range i.Operations {
				for name, value := range p.inputs(c, o) {
					name = "INPUT_" + name
					if other, ok := shared[name]; ok && other != value {
						differs[name] = true
					}
					shared[name] = value
				}
			}
		}
	}
	for name := range differs {
		delete(shared, name)
	}
	return shared
}
