package check

import (
	"slices"

	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/inherit"
	"github.com/toskose/toskose/tosca/internal/resolve"
)

// checkPolicies checks targets and properties of policies.
func checkPolicies(g *resolve.Graph) {
	for _, p := range g.Policies {
		checkPolicyTargets(g, p)
		if p.Typ != nil {
			before := g.Errors()
			checkExtensions(g, p)
			checkValues(&p.Holder, inherit.Quoted(p.Typ))
			p.Invalid = g.Errors() > before
		}
	}
}

// checkExtensions explains that a property needs Toskose's own type of protocol.
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
			if n.Typ != nil && p.Typ != nil && !allowsType(g, p.Typ, n.Typ.Chain) {
				g.Errorf(ref.Pos, code.PolicyType, "%s names %q of type %q, which %s is not for", p.Of, n.Name, n.Type.Name, inherit.Quoted(p.Typ))
			}
		case group != nil:
			if group.Typ != nil && p.Typ != nil && !allowsType(g, p.Typ, inherit.Ancestors(group.Typ)) && !allowsAllTypes(g, p.Typ, g.Members(group.Group)) {
				g.Errorf(ref.Pos, code.PolicyType, "%s names %q of type %q, which %s is not for", p.Of, group.Name, group.Type.Name, inherit.Quoted(p.Typ))
			}
		case g.Relations[ref.Name] != nil && !g.Doc.V2():
		default:
			g.Unknown(ref.Pos, code.PolicyTarget, ref.Name, g.TemplateNames(resolve.AnyNode), "%s names %q, which is not in the topology", p.Of, ref.Name)
		}
	}
}

func allowsAllTypes(g *resolve.Graph, t *grammar.Type, nodes []*resolve.Node) bool {
	return !slices.ContainsFunc(nodes, func(n *resolve.Node) bool { return n.Typ != nil && !allowsType(g, t, n.Typ.Chain) })
}

// checkGroups checks the members and assignments of groups.
func checkGroups(g *resolve.Graph) {
	for _, t := range g.Topo.Groups {
		group := g.Groups[t.Name]
		for _, m := range t.Members {
			n, other := g.ByName[m.Name], g.Groups[m.Name]
			switch {
			case n == nil && other == group: // a node wins, as kinds of templates have separate names (TOSCA 2.0, 6.9.1)
				g.Errorf(m.Pos, code.GroupMember, "%s names itself", group.Of)
			case n == nil && other == nil:
				g.Unknown(m.Pos, code.GroupMember, m.Name, g.TemplateNames(resolve.AnyNode), "%s names %q, which is not in the topology", group.Of, m.Name)
			case n != nil && n.Typ != nil && !allowsType(g, group.Typ, n.Typ.Chain):
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

// allowsType reports whether a group or policy type allows members or targets of a type. The
// nearest list of its ancestors decides. Lists of normative types are recommendations.
func allowsType(g *resolve.Graph, t *grammar.Type, chain []*grammar.Type) bool {
	for _, at := range inherit.Ancestors(t) {
		if len(at.Targets) == 0 {
			continue
		}
		return allows(g, at.Doc, chain[0].Kind, at.Targets, chain) || at.Doc.Embedded
	}
	return true
}
