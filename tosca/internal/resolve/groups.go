package resolve

import (
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/inherit"
	"github.com/toskose/toskose/tosca/internal/source"
)

// Group is a group of the topology.
type Group struct {
	*grammar.Group
	Holder
	Typ *grammar.Type // nil if unknown (already reported)
}

// Describe, Follow, Get and Names make a group a data.Entity.
func (g *Group) Describe() (data.EntityKind, string) {
	return data.OtherEntity, "group " + quote(g.Name)
}

func (g *Group) Follow(data.Step) (data.Entity, data.Answer) { return nil, data.Missing }

func (g *Group) Get(m data.Member, name ...string) (data.Value, data.Answer) {
	if g.Typ == nil {
		return data.Value{}, data.Open
	}
	return g.get(m, name[0])
}

func (g *Group) Names(m data.Member, _ ...string) []string { return g.MemberNames(m) }

func (g *Graph) makeGroups() {
	g.Groups = make(map[string]*Group, len(g.Topo.Groups))
	for _, t := range g.Topo.Groups {
		of := "group " + quote(t.Name)
		group := &Group{Group: t, Typ: g.Known(g.Doc, grammar.GroupType, t.Type, of)}
		group.Holder = Holder{Graph: g, Self: group, Of: of, Doc: g.Doc, At: t.Pos, Assigned: t.Properties, AttrValues: t.Attributes}
		if made := g.Inherit(group.Typ); made != nil {
			group.Props, group.Attrs, group.Complete = made.Props, made.Attrs, made.Complete
		}
		g.Groups[t.Name] = group
	}
}

// perMember is the work of a node in a list.
const perMember = 8

// Members returns the nodes of a group and of the groups in it, each once.
func (g *Graph) Members(group *grammar.Group) []*Node {
	var all []*Node
	in, seen := map[*Node]bool{}, map[string]bool{group.Name: true}
	for queue := []*grammar.Group{group}; len(queue) > 0 && g.Spend(perMember*(1+len(queue[0].Members))); queue = queue[1:] {
		for _, m := range queue[0].Members {
			n, other := g.ByName[m.Name], g.Groups[m.Name]
			switch {
			case n != nil && !in[n]:
				in[n] = true
				all = append(all, n)
			case n == nil && other != nil && !seen[m.Name]:
				seen[m.Name] = true
				queue = append(queue, other.Group)
			}
		}
	}
	return all
}

// Policy is a policy of the topology.
type Policy struct {
	*grammar.Policy
	Holder
	Typ     *grammar.Type // nil if unknown (already reported)
	Nodes   []*Node       // its targets, and the members of target groups
	Invalid bool          // its properties have errors (already reported)
}

// Values returns the values of its properties, by name.
func (p *Policy) Values() map[string]*source.Node {
	all := map[string]*source.Node{}
	for name := range p.Props {
		if v := p.Property(name); v.OK && !v.Node.IsNull() {
			all[name] = v.Node
		}
	}
	return all
}

func (p *Policy) Describe() (data.EntityKind, string) {
	return data.OtherEntity, "policy " + quote(p.Name)
}

func (p *Policy) Follow(data.Step) (data.Entity, data.Answer) { return nil, data.Missing }

func (p *Policy) Get(m data.Member, name ...string) (data.Value, data.Answer) {
	if p.Typ == nil {
		return data.Value{}, data.Open
	}
	return p.get(m, name[0])
}

func (p *Policy) Names(m data.Member, _ ...string) []string { return p.MemberNames(m) }

func (g *Graph) makePolicies() {
	for _, t := range g.Topo.Policies {
		of := "policy " + quote(t.Name)
		p := &Policy{Policy: t, Typ: g.Known(g.Doc, grammar.PolicyType, t.Type, of)}
		p.Holder = Holder{Graph: g, Self: p, Of: of, Doc: g.Doc, At: t.Pos, Assigned: t.Properties}
		if made := g.Inherit(p.Typ); made != nil {
			p.Props, p.Complete = made.Props, made.Complete && !inherit.Bare(p.Typ)
		}
		for _, ref := range t.Targets {
			if n := g.ByName[ref.Name]; n != nil {
				p.Nodes = append(p.Nodes, n)
			} else if group := g.Groups[ref.Name]; group != nil {
				p.Nodes = append(p.Nodes, g.Members(group.Group)...)
			}
		}
		g.Policies = append(g.Policies, p)
	}
}
