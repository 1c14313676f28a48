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
