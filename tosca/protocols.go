package tosca

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/inherit"
	"github.com/toskose/toskose/tosca/internal/resolve"
	"github.com/toskose/toskose/tosca/internal/source"
)

// protocolReader reads a node's protocol and checks its names.
type protocolReader struct {
	*compiler
	n            *node
	of           string
	requirements []string
	capabilities []string
	ifaces       map[string]*inherit.Interface
	states       []string
}

func (c *compiler) readProtocol(n *node, props map[string]*source.Node, from *resolve.Policy) protocol.Protocol {
	of := "policy " + quote(from.Name)
	r := &protocolReader{compiler: c, n: n, of: of, ifaces: c.Interfaces(n.Node)}
	for _, d := range n.Typ.Reqs {
		r.requirements = append(r.requirements, d.Name)
	}
	for _, e := range n.edges {
		r.requirements = append(r.requirements, e.Name, e.class)
	}
	r.requirements = append(r.requirements, protocol.Alive)
	r.capabilities = append(slices.Sorted(maps.Keys(n.Typ.Caps)), protocol.Alive)
	slices.Sort(r.requirements)
	r.requirements = slices.Compact(r.requirements)

	p := protocol.Protocol{States: r.readStates(props["states"])}
	r.states = p.StateNames()
	if initial := props["initial_state"]; initial != nil {
		p.Initial = r.state(initial, "initial_state")
	}
	p.Transitions = r.readTransitions(props["transitions"])
	if handlers := props["fault_handlers"]; handlers != nil {
		for _, item := range handlers.Items {
			f := r.fields(item, "a fault handler", "source", "target")
			p.FaultHandlers = append(p.FaultHandlers, protocol.FaultHandler{
				Source: r.state(f["source"], "a fault handler"), Target: r.state(f["target"], "a fault handler"),
			})
		}
		r.onlyOnce(handlers, p.FaultHandlers)
	}
	if n.isTask() {
		p = r.withRun(p, props["transitions"], from)
	}
	switch n.kind {
	case software:
		return p.Hosted()
	case container:
		return p.Hosting()
	default:
		return p
	}
}

func (r *protocolReader) fields(n *source.Node, what string, names ...string) map[string]*source.Node {
	found := map[string]*source.Node{}
	if n.Kind != source.Map {
		r.Errorf(n.Pos(), code.PolicyShape, "%s: %s must be a map with %s", r.of, what, strings.Join(names, ", "))
		return found
	}
	for k, v := range n.Pairs() {
		if !slices.Contains(names, k.Text) {
			r.Unknown(k.Pos(), code.PolicyShape, k.Text, names, "%s: %s has no %q", r.of, what, k.Text)
			continue
		}
		found[k.Text] = v
	}
	for _, name := range names {
		if _, has := found[name]; !has && name != "requires" && name != "offers" {
			r.Errorf(n.Pos(), code.PolicyShape, "%s: %s lacks %q", r.of, what, name)
		}
	}
	return found
}

// names reads a list of known names.
func (r *protocolReader) names(n *source.Node, what, kind string, known []string) []string {
	if n.IsNull() {
		return nil
	}
	if n.Kind != source.List {
		r.Errorf(n.Pos(), code.PolicyShape, "%s: %s: its %ss must be a list", r.of, what, kind)
		return nil
	}
	var all []string
	for _, item := range n.Items {
		if !slices.Contains(known, item.Text) {
			r.Unknown(item.Pos(), code.PolicyName, item.Text, known, "%s: %s names %s %q, which %s does not have", r.of, what, kind, item.Text, r.n.Of())
			continue
		}
		all = append(all, item.Text)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (r *protocolReader) readStates(n *source.Node) []protocol.State {
	var all []protocol.State
	for k, v := range n.Pairs() {
		s := protocol.State{Name: k.Text}
		what := "state " + quote(s.Name)
		if !isName(s.Name) {
			r.Errorf(k.Pos(), code.Name, "%s: %s cannot have this name: %s", r.of, what, nameSentence)
		}
		if !v.IsNull() {
			f := r.fields(v, what, "requires", "offers")
			s.Requires = r.names(f["requires"], what, "requirement", r.requirements)
			s.Offers = r.names(f["offers"], what, "capability", r.capabilities)
		}
		all = append(all, s)
	}
	if len(all) == 0 && n != nil {
		r.Errorf(n.Pos(), code.PolicyShape, "%s has no states", r.of)
	}
	slices.SortFunc(all, func(a, b protocol.State) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// state reads the name of a state of the protocol.
func (r *protocolReader) state(n *source.Node, what string) string {
	if n == nil {
		return "" // already reported
	}
	if !slices.Contains(r.states, n.Text) {
		r.Unknown(n.Pos(), code.PolicyState, n.Text, r.states, "%s: %s names state %q, which the protocol does not have", r.of, what, n.Text)
	}
	return n.Text
}

func (r *protocolReader) readTransitions(n *source.Node) []protocol.Transition {
	var all []protocol.Transition
	if n == nil {
		return nil
	}
	for i, item := range n.Items {
		what := fmt.Sprintf("transition %d", i+1)
		f := r.fields(item, what, "source", "target", "interface", "operation", "requires")
		if f["source"] == nil || f["target"] == nil || f["interface"] == nil || f["operation"] == nil {
			continue
		}
		t := protocol.Transition{
			Source: r.state(f["source"], what), Target: r.state(f["target"], what),
			Operation: protocol.Operation{Interface: f["interface"].Text, Name: f["operation"].Text},
			Requires:  r.names(f["requires"], what, "requirement", r.requirements),
		}
		r.checkOperation(f["interface"], f["operation"], what)
		for _, other := range all {
			if other.Source == t.Source && other.Operation == t.Operation {
				r.Errorf(item.Pos(), code.PolicyTwoWay, "%s: two transitions leave state %q by %s", r.of, t.Source, t.Operation)
			}
		}
		all = append(all, t)
	}
	return all
}

func (r *protocolReader) checkOperation(of, op *source.Node, what string) {
	i := r.ifaces[of.Text]
	switch {
	case i == nil:
		r.Unknown(of.Pos(), code.PolicyName, of.Text, slices.Sorted(maps.Keys(r.ifaces)),
			"%s: %s names interface %q, which %s does not have", r.of, what, of.Text, r.n.Of())
	case i.Operations[op.Text] == nil:
		r.Unknown(op.Pos(), code.PolicyName, op.Text, slices.Sorted(maps.Keys(i.Operations)),
			"%s: %s names operation %q, which interface %q does not have", r.of, what, op.Text, of.Text)
	}
}

func (r *protocolReader) onlyOnce(n *source.Node, handlers []protocol.FaultHandler) {
	seen := map[string]bool{}
	for _, h := range handlers {
		if seen[h.Source] {
			r.Errorf(n.Pos(), code.PolicyTwoWay, "%s: state %q has two fault handlers", r.of, h.Source)
		}
		seen[h.Source] = true
	}
}

const (
	typeProtocol = "tosker.policies.Protocol"
	typeUnit     = "tosker.groups.DeploymentUnit"
)

// units returns the deployment units.
func (c *compiler) units() []spec.Group {
	var all []spec.Group
	for _, t := range c.Topo.Groups {
		g := c.Groups[t.Name]
		if !inherit.ChainHas(c.Chain(g.Typ), typeUnit) {
			continue
		}
		u := spec.Group{Name: g.Name}
		for _, n := range c.Members(t) {
			u.Members = append(u.Members, n.Name)
		}
		slices.Sort(u.Members)
		all = append(all, u)
	}
	sortBy(all, func(u *spec.Group) string { return u.Name })
	return all
}

// policies are the protocols of nodes: from policies, and the defaults by kind.
type policies struct {
	own                               map[*node]protocol.Protocol
	container, volume, software, task protocol.Protocol
}

// of returns a node's protocol: from its policy, or the default of its kind.
func (p *policies) of(n *node) protocol.Protocol {
	if own, ok := p.own[n]; ok {
		return own
	}
	switch {
	case n.kind == container:
		return p.container
	case n.kind == volume:
		return p.volume
	case n.isTask():
		return p.task
	default:
		return p.software
	}
}

// protocols reads the policies that are protocols, and checks names in others.
func (c *compiler) protocols() *policies {
	all, by := map[*node]protocol.Protocol{}, map[*node]string{}
	for _, p := range c.Policies {
		if p.Typ == nil || p.Invalid || !inherit.ChainHas(c.Chain(p.Typ), typeProtocol) {
			continue
		}
		of := "policy " + quote(p.Name)
		if len(p.Targets) == 0 {
			c.Warnf(p.Pos, code.PolicyIdle, "%s is a protocol without targets, so it has no effect", of)
		}
		props := p.Values()
		for _, target := range p.Nodes {
			n := c.byNode[target]
			if by[n] == p.Name {
				continue // also in a group
			}
			if other, twice := by[n]; twice {
				c.Errorf(p.Pos, code.PolicyTwice, "%s gives %s a protocol, and so does policy %q", of, n.Of(), other)
				continue
			}
			by[n] = p.Name
			if n.Typ == nil || n.kind == foreign {
				continue
			}
			all[n] = c.readProtocol(n, props, p)
		}
	}
	return &policies{own: all, container: protocol.Container(), volume: protocol.Volume(), software: protocol.Software(), task: protocol.Task()}
}
