package resolve

import (
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
)

// group is a group of the topology.
type group struct {
	*grammar.Group
	holder
	typ *grammar.Type // nil: unknown, and said so
}

// Describe, Lead, Get and Names make a group a data.Entity.
func (g *group) Describe() (data.EntityKind, string) {
	return data.OtherEntity, "group " + quote(g.Name)
}

func (g *group) Lead(data.Step) (data.Entity, data.Answer) { return nil, data.Missing }

func (g *group) Get(m data.Member, name ...string) (data.Value, data.Answer) {
	if g.typ == nil {
		return data.Value{}, data.Open
	}
	return g.get(m, name[0])
}

func (g *group) Names(m data.Member, _ ...string) []string { return g.names(m) }

func (s *Service) makeGroups() {
	s.groups = make(map[string]*group, len(s.Topo.Groups))
	for _, t := range s.Topo.Groups {
		of := "group " + quote(t.Name)
		g := &group{Group: t, typ: s.known(s.Doc, grammar.GroupType, t.Type, of)}
		g.holder = holder{s: s, self: g, of: of, doc: s.Doc, pos: t.Pos, assigned: t.Properties, attributes: t.Attributes}
		if made := s.inherit(g.typ); made != nil {
			g.props, g.attrs, g.whole = made.Props, made.Attrs, made.Whole
		}
		s.groups[t.Name] = g
	}
}

// Group is a group with the nodes that are in it.
type Group struct {
	*grammar.Group
	Typ   *grammar.Type // nil: unknown, and said so
	Nodes []*Node       // of the groups in it, too; each once
}

// Groups gives the groups of the topology, in the order written.
func (s *Service) Groups() []Group {
	all := make([]Group, 0, len(s.Topo.Groups))
	for _, t := range s.Topo.Groups {
		all = append(all, Group{Group: t, Typ: s.groups[t.Name].typ, Nodes: s.members(t)})
	}
	return all
}

// perMember is the work that a node in a list stands for: its place is kept.
const perMember = 8

// members gives the nodes in a group and in the groups in it, each once.
func (s *Service) members(g *grammar.Group) []*Node {
	var all []*Node
	in, seen := map[*Node]bool{}, map[string]bool{g.Name: true}
	for queue := []*grammar.Group{g}; len(queue) > 0 && s.Spend(perMember*(1+len(queue[0].Members))); queue = queue[1:] {
		for _, m := range queue[0].Members {
			n, other := s.byName[m.Name], s.groups[m.Name]
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

// checkGroups checks members and what is assigned to groups.
func (s *Service) checkGroups() {
	for _, t := range s.Topo.Groups {
		g := s.groups[t.Name]
		for _, m := range t.Members {
			n, other := s.byName[m.Name], s.groups[m.Name]
			switch {
			case n == nil && other == g: // nodes come first: each kind of template has names of its own (TOSCA 2.0, 6.9.1)
				s.Errorf(m.Pos, codeGroupMember, "%s names itself", g.of)
			case n == nil && other == nil:
				s.Unknown(m.Pos, codeGroupMember, m.Name, s.templateNames(anyNode), "%s names %q, which is not in the topology", g.of, m.Name)
			case n != nil && n.Typ != nil && !s.isFor(g.typ, n.Typ.Chain):
				s.Errorf(m.Pos, codeGroupType, "%s names %q of type %q, which %s is not for", g.of, m.Name, n.Type.Name, Quoted(g.typ))
			}
		}
		if g.typ == nil {
			continue
		}
		g.check(Quoted(g.typ))
		if len(t.Interfaces) > 0 {
			faces := s.typeInterfaces(s.inherit(g.typ))
			s.checkInterfaces(t.Interfaces, s.assignTo(faces, t.Interfaces, s.Doc, g.of), &g.holder)
		}
	}
}

// isFor tells whether a group's or policy's type is for things of a type: the
// nearest list of its ancestors says so. What the normative types say is
// advice.
func (s *Service) isFor(t *grammar.Type, chain []*grammar.Type) bool {
	for _, at := range Ancestors(t) {
		if len(at.Targets) == 0 {
			continue
		}
		return s.allows(at.Doc, chain[0].Kind, at.Targets, chain) || at.Doc.Embedded
	}
	return true
}
