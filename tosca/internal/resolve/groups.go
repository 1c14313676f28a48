package resolve

import (
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
)

// Group is a group of the topology.
type Group struct {
	*grammar.Group
	Holder
	Typ *grammar.Type // nil: unknown, and said so
}

// Describe, Lead, Get and Names make a group a data.Entity.
func (g *Group) Describe() (data.EntityKind, string) {
	return data.OtherEntity, "group " + quote(g.Name)
}

func (g *Group) Lead(data.Step) (data.Entity, data.Answer) { return nil, data.Missing }

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
			group.Props, group.Attrs, group.Whole = made.Props, made.Attrs, made.Whole
		}
		g.Groups[t.Name] = group
	}
}

// perMember is the work that a node in a list stands for: its place is kept.
const perMember = 8

// Members returns the nodes in a group and in the groups in it, each once.
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
