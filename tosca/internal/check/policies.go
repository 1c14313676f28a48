package check

import (
	"regexp"
	"slices"

	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/inherit"
	"github.com/toskose/toskose/tosca/internal/resolve"
	"github.com/toskose/toskose/tosca/internal/source"
)

// checkPolicies checks targets, properties and triggers of policies.
func checkPolicies(g *resolve.Graph) {
	for _, p := range g.Policies {
		checkPolicyTargets(g, p)
		if p.Typ != nil {
			before := g.Errors()
			checkExtensions(g, p)
			checkValues(&p.Holder, inherit.Quoted(p.Typ))
			p.Unfit = g.Errors() > before
		}
		of := p.Of + ": trigger "
		for _, trigger := range p.Triggers {
			checkTrigger(g, trigger, of+quote(trigger.Name), p)
		}
		for _, at := range g.Chain(p.Typ) {
			for _, trigger := range at.Triggers {
				flow{Graph: g}.checkActivities(trigger.Action, of+quote(trigger.Name), p.Nodes, "")
			}
		}
	}
}

// checkExtensions explains a property that only our own type of protocol has.
func checkExtensions(g *resolve.Graph, p *resolve.Policy) {
	for k := range p.Properties.Pairs() {
		if k.Text == "fault_handlers" && p.Props[k.Text] == nil && inherit.ChainHas(inherit.Ancestors(p.Typ), "tosker.policies.Protocol") {
			p.Explained = k.Text
			g.Errorf(k.Pos(), code.PropUnknown, "%s: fault_handlers is an extension: give the policy type toskose.policies.Protocol", p.Of)
		}
	}
}

func checkPolicyTargets(g *resolve.Graph, p *resolve.Policy) {
	for _, ref := range p.Targets {
		n, group := g.ByName[ref.Name], g.Groups[ref.Name]
		switch {
		case n != nil:
			if n.Typ != nil && p.Typ != nil && !isFor(g, p.Typ, n.Typ.Chain) {
				g.Errorf(ref.Pos, code.PolicyType, "%s names %q of type %q, which %s is not for", p.Of, n.Name, n.Type.Name, inherit.Quoted(p.Typ))
			}
		case group != nil:
			if group.Typ != nil && p.Typ != nil && !isFor(g, p.Typ, inherit.Ancestors(group.Typ)) && !isForAll(g, p.Typ, g.Members(group.Group)) {
				g.Errorf(ref.Pos, code.PolicyType, "%s names %q of type %q, which %s is not for", p.Of, group.Name, group.Type.Name, inherit.Quoted(p.Typ))
			}
		case g.Relations[ref.Name] != nil && !g.Doc.V2():
		default:
			g.Unknown(ref.Pos, code.PolicyTarget, ref.Name, g.TemplateNames(resolve.AnyNode), "%s names %q, which is not in the topology", p.Of, ref.Name)
		}
	}
}

func isForAll(g *resolve.Graph, t *grammar.Type, nodes []*resolve.Node) bool {
	return !slices.ContainsFunc(nodes, func(n *resolve.Node) bool { return n.Typ != nil && !isFor(g, t, n.Typ.Chain) })
}

// checkGroups checks members and what is assigned to groups.
func checkGroups(g *resolve.Graph) {
	for _, t := range g.Topo.Groups {
		group := g.Groups[t.Name]
		for _, m := range t.Members {
			n, other := g.ByName[m.Name], g.Groups[m.Name]
			switch {
			case n == nil && other == group: // nodes come first: each kind of template has names of its own (TOSCA 2.0, 6.9.1)
				g.Errorf(m.Pos, code.GroupMember, "%s names itself", group.Of)
			case n == nil && other == nil:
				g.Unknown(m.Pos, code.GroupMember, m.Name, g.TemplateNames(resolve.AnyNode), "%s names %q, which is not in the topology", group.Of, m.Name)
			case n != nil && n.Typ != nil && !isFor(g, group.Typ, n.Typ.Chain):
				g.Errorf(m.Pos, code.GroupType, "%s names %q of type %q, which %s is not for", group.Of, m.Name, n.Type.Name, inherit.Quoted(group.Typ))
			}
		}
		if group.Typ == nil {
			continue
		}
		checkValues(&group.Holder, inherit.Quoted(group.Typ))
		if len(t.Interfaces) > 0 {
			faces := g.TypeInterfaces(g.Inherit(group.Typ))
			checkInterfaces(g, t.Interfaces, checkAssigned(g, faces, t.Interfaces, g.Doc, group.Of), &group.Holder)
		}
	}
}

// isFor reports whether a group's or policy's type is for things of a type: the
// nearest list of its ancestors says so. What the normative types say is
// advice.
func isFor(g *resolve.Graph, t *grammar.Type, chain []*grammar.Type) bool {
	for _, at := range inherit.Ancestors(t) {
		if len(at.Targets) == 0 {
			continue
		}
		return allows(g, at.Doc, chain[0].Kind, at.Targets, chain) || at.Doc.Embedded
	}
	return true
}

// checkTrigger checks what a trigger of a policy watches and does.
func checkTrigger(g *resolve.Graph, t *grammar.Trigger, of string, p *resolve.Policy) {
	if f := t.Target; f != nil && f.Node.Name != "" {
		checkEventFilter(g, f, of)
	}
	checkWhen(g, t, of, data.Place{Doc: p.Doc, Self: p}, watched(g, t.Target))
	flow{Graph: g}.checkActivities(t.Action, of, p.Nodes, "")
}

// checkWhen checks when a trigger of a policy or a policy type acts.
func checkWhen(g *resolve.Graph, t *grammar.Trigger, of string, p data.Place, watched data.Entity) {
	at := func(part string, self data.Entity) data.Place {
		p := p
		p.Of, p.Self = of+": "+part, self
		return p
	}
	checkValue(g, t.Schedule, "tosca.datatypes.TimeInterval", at("schedule", p.Self))
	condition(g, t.Condition, at("condition", watched))
	for key, n := range map[string]*source.Node{"period": t.Period, "evaluations": t.Evaluations, "method": t.Method} {
		checkPeriod(g, key, n, at(key, p.Self))
	}
}

// watched is the node that a trigger watches, as far as it is known.
func watched(g *resolve.Graph, f *grammar.EventFilter) data.Entity {
	if f == nil || f.Capability.Name != "" {
		return data.Anything
	}
	return selfOf(g.ByName[f.Node.Name])
}

// condition checks a condition clause of either family.
func condition(g *resolve.Graph, n *source.Node, p data.Place) {
	switch {
	case n == nil:
	case p.Doc.V2():
		g.Values.Condition(n, p)
	case n.Get("constraint") != nil:
		checkPeriods(g, n, p)
	default:
		g.Values.Clause(n, p)
	}
}

// checkPeriods checks the extended condition of a trigger: a clause with how
// often and for how long it must hold (TOSCA 1.3, 3.6.22.2).
func checkPeriods(g *resolve.Graph, n *source.Node, p data.Place) {
	for k, v := range n.Pairs() {
		p := p
		p.Of += ": " + k.Text
		switch {
		case k.Text == "constraint":
			g.Values.Threshold(v, p)
		case !checkPeriod(g, k.Text, v, p):
			g.Unknown(k.Pos(), code.Trigger, k.Text, []string{"constraint", "evaluations", "method", "period"}, "%s is none of what a condition has", p.Of)
		}
	}
}

var (
	periods   = map[string]string{"period": "scalar-unit.time", "evaluations": "integer", "method": "string"}
	inSeconds = regexp.MustCompile(`^[0-9]+ *sec$`)
)

// checkPeriod checks one of the keywords that say how often and for how long a
// condition must hold, and reports whether it is one.
func checkPeriod(g *resolve.Graph, key string, n *source.Node, p data.Place) bool {
	seconds := key == "period" && n != nil && (n.Kind == source.Int || inSeconds.MatchString(n.Text)) // as the standard's own examples have it
	if periods[key] != "" && !seconds {
		checkValue(g, n, periods[key], p)
	}
	return periods[key] != ""
}

// checkEventFilter checks the node template or type that a trigger watches.
func checkEventFilter(g *resolve.Graph, f *grammar.EventFilter, of string) {
	var t *inherit.NodeType
	if n := g.ByName[f.Node.Name]; n != nil {
		t = n.Typ
	} else if typ := g.Doc.Scope().Lookup(grammar.NodeType, f.Node.Name); typ != nil {
		t = g.WholeNodeType(typ)
	} else if !g.Doc.Scope().Open() {
		g.Unknown(f.Node.Pos, code.Trigger, f.Node.Name, g.TemplateNames(resolve.AnyNode), "%s watches %q, which is neither a node template nor a type", of, f.Node.Name)
	}
	if t == nil {
		return
	}
	if r := f.Requirement; r.Name != "" && t.Requirement(r.Name) == nil {
		g.Unknown(r.Pos, code.Trigger, r.Name, inherit.Candidates(g, t.ByName), "%s watches requirement %q, which %s does not have", of, r.Name, inherit.Quoted(t.Type.Type))
	}
	c := f.Capability
	if c.Name == "" || watchable(g, c.Name, t) {
		return
	}
	if t.Requirement(f.Requirement.Name) != nil && !g.Doc.V2() { // what is watched is where the requirement leads (TOSCA 1.3, 3.6.21)
		to := leadsTo(g.ByName[f.Node.Name], f.Requirement.Name)
		if to == nil || to.Typ == nil || watchable(g, c.Name, to.Typ) {
			return
		}
		t = to.Typ
	}
	g.Unknown(c.Pos, code.Trigger, c.Name, t.CapabilityNames(), "%s watches capability %q, which %s does not have", of, c.Name, inherit.Quoted(t.Type.Type))
}

// watchable reports whether a node type may have a capability, by its name or
// type.
func watchable(g *resolve.Graph, name string, t *inherit.NodeType) bool {
	return t.Caps[name] != nil || t.CapabilityOf(g.Doc.Scope().Lookup(grammar.CapabilityType, name)) != nil || t.Vague()
}

// leadsTo is the node that a requirement of another one leads to; nil where that
// is not known.
func leadsTo(n *resolve.Node, requirement string) *resolve.Node {
	if n == nil {
		return nil
	}
	for _, e := range n.Edges {
		if e.Name == requirement && e.Target != nil {
			return e.Target
		}
	}
	return nil
}
