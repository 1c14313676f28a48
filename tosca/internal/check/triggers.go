package check

import (
	"regexp"

	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/inherit"
	"github.com/toskose/toskose/tosca/internal/resolve"
	"github.com/toskose/toskose/tosca/internal/source"
)

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
