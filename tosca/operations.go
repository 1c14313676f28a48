package tosca

import (
	"bufio"
	"bytes"
	"cmp"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/check"
	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/inherit"
	"github.com/toskose/toskose/tosca/internal/source"
)

// component returns the model of a component.
func (c *compiler) component(n *node, policies *policies) spec.Component {
	m := spec.Component{Name: n.Name, Type: n.Type.Name}
	if n.host != nil {
		m.Host = n.host.Name
	}
	if n.base != nil {
		m.Node = n.base.Name
	} else if n.host != nil && c.Errors() == 0 {
		c.Incomplete(n.Pos, code.ReqMissing, "%s is hosted on no container", n.Of())
	}
	m.Connections, m.Depends = n.providers()
	m.Named = n.namedRequirements()
	m.Endpoint = c.endpoint(n)
	m.Artifacts = c.componentArtifacts(n)
	ifaces := check.Interfaces(c.Graph, n.Node)
	m.Interfaces = make([]spec.Interface, 0, len(ifaces))
	for _, name := range inherit.Keys(ifaces) {
		m.Interfaces = append(m.Interfaces, c.modelInterface(n, name, ifaces[name]))
	}
	if m.Task = c.task(n, ifaces); m.Task != nil {
		declareParts(m.Interfaces, m.Task.Completions)
	}
	m.Protocol = c.withFree(n, policies, m, ifaces)
	if _, own := policies.own[n]; own {
		idle := m.Unimplemented()
		for _, d := range m.Protocol.Doubts(func(op protocol.Operation) bool { return !slices.Contains(idle, op) }) {
			c.Warnf(n.Pos, code.PolicyDoubt, "%s: from state %q operation %q may lead to %q as well as to %q, skipping operations that are not implemented: %q is taken",
				n.Of(), d.State, d.Operation, d.Taken, d.Other, d.Taken)
		}
	}
	return m
}

// withFree adds implemented operations that no transition names to a component's
// protocol. They are in interfaces other than Standard, may run, and do not change the
// state.
func (c *compiler) withFree(n *node, policies *policies, m spec.Component, ifaces map[string]*inherit.Interface) protocol.Protocol {
	p := policies.of(n)
	named := p.Operations()
	for name, o := range m.Operations() {
		if o.Script == "" || slices.Contains(named, name) {
			continue
		}
		at := ifaces[name.Interface].Operations[name.Name].At.Implementation.Pos
		if _, own := policies.own[n]; name.Interface == protocol.Standard {
			if !own {
				continue // not in Standard (already reported)
			}
			c.Warnf(at, code.PolicyFree, "%s: operation %q never runs: no transition of its protocol names it", n.Of(), name)
			continue
		}
		p = p.WithFree(name)
		if slices.Contains(c.decided[n.Name], name.String()) {
			continue
		}
		c.Warnf(at, code.PolicyFree, "%s: no transition of its protocol names operation %q: it may run in every state but %q, and changes none", n.Of(), name, p.Initial)
	}
	return p
}

func (c *compiler) modelInterface(n *node, name string, i *inherit.Interface) spec.Interface {
	m := spec.Interface{Name: name, Operations: make([]spec.Operation, 0, len(i.Operations))}
	if !isName(name) {
		c.Errorf(n.Pos, code.OpName, "%s: interface %q cannot have this name: %s", n.Of(), name, nameSentence)
	}
	for _, op := range inherit.Keys(i.Operations) {
		o := i.Operations[op]
		made := spec.Operation{Name: op, Timeout: o.At.Timeout}
		if len(o.Inputs) == 0 && o.At.Implementation.Name == "" && o.At.Primary == nil && len(o.At.Dependencies) == 0 && isWord(op, "_-") {
			m.Operations = append(m.Operations, made) // the common case
			continue
		}
		of := n.Of() + ": operation " + quote(protocol.Operation{Interface: name, Name: op}.String())
		if !isWord(op, "_-") {
			c.Errorf(o.At.Pos, code.OpName, "%s cannot have this name: it is of letters, digits, '_' and '-', and has at most 63 characters", of)
		}
		made.Inputs = c.operationInputs(n, o, of)
		for _, a := range o.At.Artifacts() {
			check.IsConstant(c.Graph, a, of)
		}
		if o.At.Implementation.Name != "" {
			var found bool
			if made.Script, found = c.script(n, o.At, o.At.Implementation, of); found {
				c.checkScript(made.Script, o.At.Implementation.Pos, of)
			}
		}
		for _, d := range o.At.Dependencies {
			if file, ok := c.script(n, o.At, d, of); ok && !slices.Contains(made.Files, file) {
				made.Files = append(made.Files, file)
			}
		}
		slices.Sort(made.Files)
		m.Operations = append(m.Operations, made)
	}
	return m
}

// script returns the file of an implementation: a path, or the name of an artifact of
// the node (TOSCA 1.3, 3.6.16).
func (c *compiler) script(n *node, o *grammar.Operation, ref grammar.Ref, of string) (string, bool) {
	if !c.IsFile(o.File, ref.Name) {
		if a, ok := c.Artifact(n.Node, ref.Name); ok {
			within, _ := grammar.Within(a.In, a.File.Name)
			return within, c.IsFile(a.In, a.File.Name) // reported at the artifact
		}
	}
	return c.File(o.File, ref, of)
}

var variableRule = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// operationInputs returns the inputs of an operation. Each becomes an environment
// variable, INPUT_ and its name in capitals.
func (c *compiler) operationInputs(n *node, o *inherit.Operation, of string) []spec.OperationInput {
	if len(o.Inputs) == 0 {
		return nil
	}
	all := make([]spec.OperationInput, 0, len(o.Inputs))
	variables := make(map[string]string, len(o.Inputs))
	for _, name := range inherit.Keys(o.Inputs) {
		p := o.Inputs[name]
		of := of + ": input " + quote(name)
		if !variableRule.MatchString(name) {
			c.Errorf(p.At.Pos, code.OpInput, "%s cannot be an environment variable: its name must be of letters, digits and '_', and not begin with a digit", of)
			continue
		}
		if other, taken := variables[strings.ToUpper(name)]; taken {
			c.Errorf(p.At.Pos, code.OpInput, "%s and input %q are one environment variable, INPUT_%s", of, other, strings.ToUpper(name))
			continue
		}
		variables[strings.ToUpper(name)] = name
		if in, ok := c.operationInput(n, name, p, of); ok {
			all = append(all, in)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

func (c *compiler) operationInput(n *node, name string, p inherit.Parameter, of string) (spec.OperationInput, bool) {
	written := p.Value
	if written.IsNull() && p.Def != nil {
		written = p.Def.Fallback()
	}
	if written.IsNull() {
		if p.Def != nil && p.Def.Required {
			c.Errorf(p.At.Pos, code.OpMissing, "%s is required, and has neither a value nor a default", of)
		}
		// An explicit empty value is kept, a missing one is not.
		return spec.OperationInput{Name: name}, p.Value != nil
	}
	at := n.Place(of)
	at.Artifacts = true
	r := c.Values.Eval(written, at)
	if r.OK && r.Later != nil {
		c.RunTimeOnly(r, of)
		return spec.OperationInput{}, false
	}
	if !r.OK || !c.Spend(r.Size) || !c.Values.Check(r.Node, p.Def, at) {
		return spec.OperationInput{}, false
	}
	text := data.Text(c.Values.Convert(r.Node, p.Def))
	if len(text) > data.MaxText || !c.Spend(len(text)) {
		c.Errorf(p.At.Pos, code.ValueLarge, "%s is longer than the %d bytes that a variable can hold", of, data.MaxText)
		return spec.OperationInput{}, false
	}
	return c.withArtifacts(n, spec.OperationInput{Name: name, FromInput: r.Input}, text, of, written.Pos())
}

// withArtifacts replaces the markers of get_artifact. It returns false if an artifact is
// not a file in the component's container.
func (c *compiler) withArtifacts(n *node, in spec.OperationInput, text, of string, at diag.Position) (_ spec.OperationInput, ok bool) {
	pieces := strings.Split(text, data.Marker)
	if len(pieces) == 1 {
		in.Value = text
		return in, true
	}
	for i, piece := range pieces {
		if i%2 == 0 {
			if piece != "" {
				in.Parts = append(in.Parts, spec.InputPart{Text: piece})
			}
			continue
		}
		ref, _ := c.ArtifactByMarker(piece)
		switch owner := c.byNode[ref.Node]; {
		case owner == nil || (owner.kind == software && ref.Path == ""):
			return in, false // reported at the artifact
		case owner.kind != software:
			c.Errorf(at, code.FunctionEntity, "%s: get_artifact names %q, which is not a component, so its artifacts are not files", of, owner.Name)
			return in, false
		case owner.base != n.base:
			c.Errorf(at, code.FunctionEntity, "%s: get_artifact names %q, which is in another container", of, owner.Name)
			return in, false
		default:
			in.Parts = append(in.Parts, spec.InputPart{Artifact: ref.Path, Owner: owner.Name})
		}
	}
	if len(in.Parts) == 1 {
		in.Artifact, in.Owner, in.Parts = in.Parts[0].Artifact, in.Parts[0].Owner, nil
	}
	return in, true
}

// providers returns the sorted targets of connections and dependencies.
func (n *node) providers() (connections, depends []string) {
	return n.targets(protocol.Connection), n.targets(protocol.Dependency)
}

// targets returns the sorted targets of a class of requirements.
func (n *node) targets(class string) []string {
	var all []string
	for i, e := range n.edges {
		if e.class != class {
			continue
		}
		if all == nil {
			all = make([]string, 0, len(n.edges)-i)
		}
		all = append(all, e.target.Name)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// namedRequirements returns the named requirements, sorted by name and target.
func (n *node) namedRequirements() []spec.Requirement {
	var all []spec.Requirement
	for _, e := range n.edges {
		if e.Name != e.class {
			all = append(all, spec.Requirement{Name: e.Name, Class: e.class, Target: e.target.Name})
		}
	}
	slices.SortFunc(all, func(a, b spec.Requirement) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Target, b.Target))
	})
	return slices.Compact(all)
}

// other returns the model of a node that cannot be packaged.
func (n *node) other() spec.Other {
	m := spec.Other{Name: n.Name, Type: n.Type.Name, Properties: n.Values()}
	if n.Host != nil {
		m.Host = n.Host.Name
	}
	for _, e := range n.Edges {
		m.Requirements = append(m.Requirements, spec.Reach{Name: e.Name, Target: e.Target.Name})
	}
	slices.SortFunc(m.Requirements, func(a, b spec.Reach) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Target, b.Target))
	})
	m.Requirements = slices.Compact(m.Requirements)
	return m
}

// checkComponentPorts warns if two components of a container have the same port, as only
// one can listen. The port of a component is its property "port", or that of a
// capability.
func (c *compiler) checkComponentPorts() {
	type socket struct {
		container *node
		port      int
	}
	first := map[socket]string{}
	for _, n := range c.nodes {
		if n.kind != software || n.base == nil || n.Typ == nil {
			continue
		}
		for number, at := range c.portsOf(n) {
			key := socket{n.base, number}
			if other, taken := first[key]; taken {
				c.Warnf(at, code.ComponentPort, "%s listens on port %d, and so does component %q in the same container, %q", n.Of(), number, other, n.base.Name)
				continue
			}
			first[key] = n.Name
		}
	}
}

// portsOf returns the ports of a component, with positions.
func (c *compiler) portsOf(n *node) map[int]diag.Position {
	var ports map[int]diag.Position
	take := func(v, written *source.Node) {
		if v.IsNull() || !v.IsScalar() {
			return
		}
		if number, ok := port(v.Text); ok && number != 0 {
			if ports == nil {
				ports = map[int]diag.Position{}
			}
			ports[number] = n.Pos
			if written != nil {
				ports[number] = written.Pos()
			}
		}
	}
	if n.HasProperty("port") {
		take(n.Property("port").Node, n.Properties.Get("port"))
	}
	for _, k := range n.Capabilities {
		if d := n.Typ.Caps[k.Name]; d != nil && d.Props["port"] != nil {
			written := k.Properties.Get("port")
			take(c.Values.Eval(written, n.Place(n.Of())).Node, written)
		}
	}
	return ports
}

// maxFirstLine bounds the part of a script that is read; kernels read less of a #! line.
const maxFirstLine = 512

// RunsItself reports whether a kernel executes a file with this beginning. Other scripts
// run in /bin/sh.
func RunsItself(head []byte) bool {
	return bytes.HasPrefix(head, []byte("#!")) || bytes.HasPrefix(head, []byte("\x7fELF"))
}

// checkScript warns once of a script without a valid interpreter.
func (c *compiler) checkScript(name string, at diag.Position, of string) {
	if c.scripts[name] {
		return
	}
	if c.scripts == nil {
		c.scripts = map[string]bool{}
	}
	c.scripts[name] = true
	f, err := c.archive.Open(name)
	if err != nil {
		return // reported when it is packaged
	}
	defer f.Close()
	line, _ := bufio.NewReaderSize(io.LimitReader(f, maxFirstLine), maxFirstLine).ReadString('\n')
	if ext := path.Ext(name); ext != "" && ext != ".sh" && !RunsItself([]byte(line)) {
		c.Warnf(at, code.ScriptShell, "%s: script %q does not begin with #!, so /bin/sh runs it", of, name)
	}
	if strings.HasPrefix(line, "#!") && strings.HasSuffix(line, "\r\n") {
		c.Errorf(at, code.ScriptLineEnd, "%s: script %q has DOS line ends (CRLF): no system finds the interpreter %s; convert it, as with dos2unix",
			of, name, strconv.Quote(strings.TrimSpace(line[2:len(line)-2])+"\r"))
	}
}
