package resolve

import (
	"slices"
	"strings"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
)

const substitution = "substitution_mappings"

// checkSubstitution checks what the topology says it can stand for: everything
// that is mapped must be there, outside and inside.
func (s *Service) checkSubstitution() {
	m := s.Topo.Substitution
	if m == nil {
		return
	}
	typ := s.known(s.Doc, grammar.NodeType, m.NodeType, substitution)
	t := s.wholeType(typ)
	s.checkFilter(m.Filter, t, s.Doc, substitution+": substitution_filter", s.anyNodeOf(typ, false))
	if t == nil {
		return // said so
	}
	s.checkPropertyMappings(m, t)
	outputs := s.outputs()
	for _, p := range m.Attributes {
		def := s.mappedMember(p, t, data.Attribute)
		if len(p.To) == 1 && inside(s, p.To[0], outputs, "output", p.Name) && second(s.Doc) {
			s.sameType(p.To[0].Pos, p.Name, def, s.output(outputs[p.To[0].Name]))
		}
	}
	for _, p := range m.Capabilities {
		mapped(s, p, t.Caps, "capability")
		s.checkMappedCapability(p, t.Caps[p.Name])
	}
	for _, p := range m.Requirements {
		mapped(s, p, t.byName, "requirement")
		if def := t.Requirement(p.Name); def != nil && def.Relation != nil {
			made := s.inherit(def.Relation)
			s.checkMappedValues(p, "requirement", made.Props, made.Attrs, made.Whole)
		}
		s.checkMappedRequirement(p)
	}
	s.checkMappedCounts(m, t)
	s.checkInterfaceMappings(m, t)
}

// mappedMember checks that the substituted node has the property or attribute
// that is mapped, by its name or a path to it (TOSCA 2.0, 15.2 and 15.3), and
// gives its definition; nil where that is not known.
func (s *Service) mappedMember(m *grammar.Mapping, t *NodeType, member data.Member) *data.Definition {
	props, attrs, what := t.Props, t.Attrs, "property"
	if member == data.Attribute {
		what = "attribute"
	}
	list, isPath := strings.CutPrefix(m.Name, "[")
	path := strings.Split(strings.TrimSuffix(list, "]"), ", ")
	name := path[len(path)-1]
	if isPath && second(s.Doc) {
		switch def := t.byName[at(path, 1)]; {
		case path[0] == "CAPABILITY" && len(path) == 3:
			c := t.Caps[path[1]]
			if c == nil {
				s.Unknown(m.Pos, codeMapped, path[1], t.capabilities(), "%s: the node type has no capability %q", substitution, path[1])
				return nil
			}
			if !c.whole {
				return nil
			}
			props, attrs = c.Props, c.Attrs
		case path[0] == "RELATIONSHIP" && (len(path) == 3 || len(path) == 4):
			if def == nil {
				s.Unknown(m.Pos, codeMapped, path[1], suggestable(s, t.byName), "%s: the node type has no requirement %q", substitution, path[1])
				return nil
			}
			made := s.inherit(def.Relation)
			if made == nil || !made.Whole {
				return nil
			}
			props, attrs = made.Props, made.Attrs
		default:
			s.Errorf(m.Pos, codeMapped, "%s: %s must be a name, or a path that begins with CAPABILITY or RELATIONSHIP", substitution, m.Name)
			return nil
		}
	}
	def := props[name]
	if member == data.Attribute && attrs[name] != nil {
		def = attrs[name]
	}
	if def != nil {
		if at(path, 2) == "ALL" && isPath {
			return nil // a list of them
		}
		return def
	}
	if isPath || !strings.ContainsAny(m.Name, "[, ") {
		names := suggestable(s, props)
		if member == data.Attribute {
			names = append(names, suggestable(s, attrs)...)
		}
		s.Unknown(m.Pos, codeMapped, name, names, "%s: the node type has no %s %q", substitution, what, m.Name)
	}
	return nil
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return ""
}

// output is the definition of an output: its own, or that of the value that it
// gets; nil where none is known.
func (s *Service) output(o *grammar.Output) *data.Definition {
	switch {
	case o.Definition != nil && o.Definition.Type.Name != "":
		return data.From(o.Definition, s.Doc)
	case second(s.Doc): // what is wrong with it is said of the output in the same words
		return s.eval.Eval(o.Value, data.Place{Of: "output " + quote(o.Name), Doc: s.Doc}).Def
	}
	return nil
}

// mapped checks that the substituted node has what is mapped. A path leads on
// to a capability or relationship of the node, and is left alone.
func mapped[V any](s *Service, m *grammar.Mapping, known map[string]V, what string) {
	if m.Name == "" || strings.ContainsAny(m.Name, "[, ") {
		return
	}
	if _, has := known[m.Name]; has {
		return
	}
	s.Unknown(m.Pos, codeMapped, m.Name, suggestable(s, known), "%s: the node type has no %s %q", substitution, what, m.Name)
}

// inside checks that the topology has what something is mapped to.
func inside[V any](s *Service, ref grammar.Ref, known map[string]V, what, name string) bool {
	if _, has := known[ref.Name]; has {
		return true
	}
	s.Unknown(ref.Pos, codeMappedTo, ref.Name, suggestable(s, known), "%s: %q is mapped to %s %q, which is not there", substitution, name, what, ref.Name)
	return false
}

func (s *Service) outputs() map[string]*grammar.Output {
	all := make(map[string]*grammar.Output, len(s.Topo.Outputs))
	for _, o := range s.Topo.Outputs {
		all[o.Name] = o
	}
	return all
}

func (s *Service) sameType(at diag.Position, name string, a, b *data.Definition) {
	if a == nil || b == nil {
		return
	}
	if x, y := s.eval.Plain(a), s.eval.Plain(b); x != "" && y != "" && x != y || second(s.Doc) && s.eval.Differs(a, b) {
		s.Errorf(at, codeMappedType, "%s: %q is of type %s and is mapped to what is of type %s", substitution, name, s.eval.Described(a), s.eval.Described(b))
	}
}

func (s *Service) mappedNode(ref grammar.Ref, name string) *Node {
	if n := s.byName[ref.Name]; n != nil {
		return n
	}
	s.Unknown(ref.Pos, codeMappedTo, ref.Name, s.templateNames(anyNode), "%s: %q is mapped to %q, which is not in the topology", substitution, name, ref.Name)
	return nil
}

// checkMappedValues checks the values that stand in the place of a mapping, or
// beside it (TOSCA 1.3, 3.8.10 and 3.8.11).
func (s *Service) checkMappedValues(m *grammar.Mapping, what string, props, attrs map[string]*data.Definition, whole bool) {
	if m.Value == nil && m.Attributes == nil {
		return
	}
	h := holder{
		s: s, self: data.Anything, of: substitution + ": " + what + " " + quote(m.Name), doc: s.Doc, pos: m.Pos,
		props: props, attrs: attrs, whole: whole, assigned: m.Value, attributes: m.Attributes,
	}
	h.check("")
}

func (s *Service) checkMappedCapability(m *grammar.Mapping, def *CapabilityDef) {
	if def != nil {
		s.checkMappedValues(m, "capability", def.Props, def.Attrs, def.whole)
	}
	if len(m.To) != 2 {
		return
	}
	n := s.mappedNode(m.To[0], m.Name)
	if n == nil || n.Typ == nil || !inside(s, m.To[1], n.Typ.Caps, "capability", m.Name) {
		return
	}
	to := n.Typ.Caps[m.To[1].Name]
	if def != nil && def.Typ != nil && to.Typ != nil && to.whole && !derives(to.Typ, def.Typ) {
		s.Errorf(m.To[1].Pos, codeMappedType, "%s: capability %q is of type %q, and is mapped to one of type %q", substitution, m.Name, def.Typ.Name, to.Typ.Name)
	}
}

// checkMappedRequirement checks one target or several, each a requirement of a
// node or a node to be selected.
func (s *Service) checkMappedRequirement(m *grammar.Mapping) {
	for _, part := range m.Parts {
		s.checkMappedRequirement(part)
	}
	if len(m.To) == 0 {
		return
	}
	n := s.mappedNode(m.To[0], m.Name)
	if n == nil || n.Typ == nil {
		return
	}
	if len(m.To) < 2 {
		if second(s.Doc) && !n.selectable() {
			s.Errorf(m.To[0].Pos, codeMappedTo, "%s: %q is mapped to %s, which does not have the directive select", substitution, m.Name, n.Of())
		}
		return
	}
	if other := s.byName[m.To[1].Name]; second(s.Doc) && other != nil && n.Typ.byName[m.To[1].Name] == nil && n.selectable() && other.selectable() {
		return // a list of two nodes to be selected looks like a node and its requirement (TOSCA 2.0, 15.5)
	}
	if inside(s, m.To[1], n.Typ.byName, "requirement", m.Name) && second(s.Doc) && n.leads(m.To[1].Name) {
		s.Errorf(m.To[1].Pos, codeMappedTo, "%s: %q is mapped to requirement %q of %s, which leads to a node already", substitution, m.Name, m.To[1].Name, n.Of())
	}
}

// selectable tells whether a node may be one that is there already.
func (n *Node) selectable() bool {
	return slices.ContainsFunc(n.Directives, func(d grammar.Ref) bool { return d.Name == "select" })
}

// leads tells whether all that a node says of a requirement names a node
// template, so that none of it is left to be fulfilled.
func (n *Node) leads(requirement string) bool {
	said, left := false, false
	if !n.holder.s.Spend(len(n.Requirements)) {
		return false
	}
	for _, r := range n.Requirements {
		if r.Name == requirement {
			said = true
			left = left || n.holder.s.byName[r.Node.Name] == nil
		}
	}
	return said && !left
}

// checkMappedCounts checks how many requirements of the substituted node are
// mapped (TOSCA 2.0, 15.5.4).
func (s *Service) checkMappedCounts(m *grammar.Substitution, t *NodeType) {
	if !second(s.Doc) {
		return
	}
	all, needed, ended := map[string]int{}, map[string]int{}, map[string]bool{}
	for _, p := range m.Requirements {
		def := t.byName[p.Name]
		if def == nil {
			continue // said so
		}
		if ended[p.Name] {
			s.Errorf(p.Pos, codeMappedCount, "%s: %q is mapped after all that is left of it was", substitution, p.Name)
		}
		ended[p.Name] = ended[p.Name] || p.Count < 0
		count := max(p.Count, 1)
		if p.Count == 0 {
			count = 0
		}
		all[p.Name] += count
		if s.mandatory(p) {
			needed[p.Name] += count
		}
		switch {
		case def.Max >= 0 && all[p.Name] > def.Max:
			s.Errorf(p.Pos, codeMappedCount, "%s: %q is mapped %d times, and a node of %s has it at most %d times", substitution, p.Name, all[p.Name], Quoted(t.Type.Type), def.Max)
		case def.Counted.Line != 0 && needed[p.Name] > def.Min:
			s.Errorf(p.Pos, codeMappedCount, "%s: %q is mapped to %d requirements that must be fulfilled, and a node of %s may have it only %d times", substitution, p.Name, needed[p.Name], Quoted(t.Type.Type), def.Min)
		}
	}
}

// mandatory tells whether what a requirement is mapped to must be fulfilled: by
// its definition, or since the node template says so.
func (s *Service) mandatory(m *grammar.Mapping) bool {
	if slices.ContainsFunc(m.Parts, s.mandatory) {
		return true
	}
	if len(m.To) != 2 {
		return false
	}
	n := s.byName[m.To[0].Name]
	if n == nil || n.Typ == nil || !s.Spend(len(n.Requirements)) {
		return false
	}
	def := n.Typ.Requirement(m.To[1].Name)
	return def != nil && def.Min > 0 || slices.ContainsFunc(n.Requirements, func(r *grammar.Requirement) bool {
		return r.Name == m.To[1].Name && (r.Optional == nil || r.Optional.Text != "true")
	})
}

func (s *Service) checkInterfaceMappings(m *grammar.Substitution, t *NodeType) {
	faces := s.typeInterfaces(t.Type)
	s.indexWorkflows()
	for _, i := range m.Interfaces {
		if second(s.Doc) { // of 1.x it may be one that the substituted node gets by it (TOSCA 1.3, 3.8.12.1)
			mapped(s, i, faces, "interface")
		}
		made := faces[i.Name]
		for _, o := range i.Parts {
			if made != nil && !made.vague {
				mapped(s, o, made.Operations, "operation")
			}
			if len(o.To) == 1 {
				inside(s, o.To[0], s.flows, "workflow", i.Name+"."+o.Name)
			}
		}
	}
}

// checkOutputs evaluates outputs for what is wrong in them. Their values are
// those of a running application, so nothing of them is kept.
func (s *Service) checkOutputs() {
	for _, in := range s.Topo.Inputs {
		if second(s.Doc) {
			s.checkMapping(in.Mapping, data.From(in, s.Doc), data.Place{Of: "input " + quote(in.Name), Doc: s.Doc, Self: data.Anything})
		}
	}
	for _, o := range s.Topo.Outputs {
		p := data.Place{Of: "output " + quote(o.Name), Doc: s.Doc}
		if o.Definition != nil && o.Definition.Type.Name != "" {
			p.Meant = data.From(o.Definition, s.Doc)
		}
		v := s.eval.Eval(o.Value, p)
		if p.Meant == nil {
			continue
		}
		def := p.Meant
		declared := *def
		declared.Default, declared.Value = nil, nil
		if s.eval.Declare(&declared, p) && v.OK {
			s.eval.CheckValue(v.Moved(o.Value), def, p)
		}
	}
}
