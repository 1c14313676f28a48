package packager

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
)

// The values listed under `secrets:` in toskose.yml reach containers as files, like passwords. A unit
// reads them when an operation starts; a standalone container must read them itself.

// values lists the values that can be secrets: COMPONENT.INPUT and CONTAINER.VARIABLE.
func values(app *spec.Application) []string {
	var all []string
	for _, n := range app.Nodes {
		for name := range n.Env {
			all = append(all, n.Name+"."+name)
		}
	}
	for _, c := range app.Components {
		for _, o := range c.Operations() {
			for _, in := range o.Inputs {
				all = append(all, c.Name+"."+in.Name)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// hidden reports whether an input or a variable is a secret.
func (p *planner) hidden(owner, name string) bool {
	return slices.Contains(p.plan.Config.Secrets, owner+"."+name)
}

// hide plans a secret, once, and returns its path in containers.
func (p *planner) hide(name, value string) string {
	if strings.HasSuffix(value, "\n") { // a unit leaves out the last line's end, which many a tool adds
		value += "\n"
	}
	i := slices.IndexFunc(p.plan.Secrets, func(s Secret) bool { return s.Name == name })
	switch {
	case i >= 0 && p.plan.Secrets[i].Application && p.plan.Secrets[i].Given == value:
	case i >= 0 || slices.Contains([]string{SecretNamesFile, NetrcFile, TLSAuthorityFile}, name):
		p.report("secret %q: another secret file already has this name; rename the input or the variable", name)
	case !nameForm.MatchString(name):
		p.report("secret %q: the name cannot be used for files: only %s", name, nameRule)
	case value == "":
		p.report("secret %q: it has no value", name)
	default:
		p.plan.Secrets = append(p.plan.Secrets, Secret{Name: name, Given: value, Application: true})
	}
	return path.Join(SecretsPath, name)
}

// checkSecrets rejects duplicate secret names: an input may have the name of a unit's password or
// of a certificate.
func (p *planner) checkSecrets() {
	for i, s := range p.plan.Secrets {
		if slices.ContainsFunc(p.plan.Secrets[:i], func(o Secret) bool { return o.Name == s.Name }) {
			p.report("secret %q: another secret file already has this name; rename the input or the variable", s.Name)
		}
	}
}

// secretInputs returns the files of an operation's secret inputs, by the names of their variables
// without INPUT_.
func (p *planner) secretInputs(c spec.Component, name protocol.Operation, o spec.Operation) map[string]string {
	files := map[string]string{}
	for _, in := range o.Inputs {
		if p.hidden(c.Name, in.Name) {
			files[strings.ToUpper(in.Name)] = p.hide(p.secretName(c, name, in), p.inputValue(c, in))
		}
	}
	return files
}

// secretName returns the name of an input's secret. Operations whose inputs have the same name and
// value share one secret.
func (p *planner) secretName(c spec.Component, name protocol.Operation, in spec.OperationInput) string {
	for _, other := range c.Operations() {
		for _, same := range other.Inputs {
			if same.Name == in.Name && p.inputValue(c, same) != p.inputValue(c, in) {
				return c.Name + "." + name.String() + "." + in.Name
			}
		}
	}
	return c.Name + "." + in.Name
}

// secretVariables removes a container's secret variables from its environment and returns their
// files.
func (p *planner) secretVariables(s *Service) map[string]string {
	files := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		if !p.hidden(s.Name, name) {
			continue
		}
		secret := s.Name + "." + name
		files[name] = p.hide(secret, s.Env[name])
		s.Secrets = append(s.Secrets, secret)
		delete(s.Env, name)
	}
	return files
}

// secretFiles adds the secret inputs of a container's components to its secrets.
func (p *planner) secretFiles(s *Service, components []spec.Component) {
	for _, c := range components {
		for name, o := range c.Operations() {
			for _, file := range p.secretInputs(c, name, o) {
				s.Secrets = append(s.Secrets, path.Base(file))
			}
		}
	}
	slices.Sort(s.Secrets)
	s.Secrets = slices.Compact(s.Secrets)
}

// public returns the application without its secrets, for the manager. It also omits the values of
// the topology's inputs, from which secrets come.
func (p *planner) public() *spec.Application {
	app := *p.app
	app.Nodes = slices.Clone(app.Nodes)
	for i := range app.Nodes {
		n := &app.Nodes[i]
		n.Env = maps.Clone(n.Env)
		maps.DeleteFunc(n.Env, func(name, _ string) bool { return p.hidden(n.Name, name) })
	}
	app.Components = slices.Clone(app.Components)
	p.withoutJobs(&app)
	for i := range app.Components {
		p.publicInputs(&app.Components[i])
	}
	app.Inputs = slices.Clone(app.Inputs)
	for i := range app.Inputs {
		if len(p.plan.Config.Secrets) > 0 || app.Inputs[i].Secret {
			app.Inputs[i].Value = nil
		}
	}
	return &app
}

// publicInputs keeps only the names of a component's secret inputs.
func (p *planner) publicInputs(c *spec.Component) {
	c.Interfaces = slices.Clone(c.Interfaces)
	for i := range c.Interfaces {
		operations := slices.Clone(c.Interfaces[i].Operations)
		for j := range operations {
			inputs := slices.Clone(operations[j].Inputs)
			for k, in := range inputs {
				if p.hidden(c.Name, in.Name) {
					inputs[k] = spec.OperationInput{Name: in.Name, FromInput: in.FromInput}
				}
			}
			operations[j].Inputs = inputs
		}
		c.Interfaces[i].Operations = operations
	}
}
