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
	s.checkFilter(m.Filter, t, s.Doc, substitution, s.anyNodeOf(typ, false))
	if t == nil {
		return // said so
	}
	s.checkPropertyMappings(m, t)
	for _, p := range m.Attributes {
		def := s.mappedMember(p, t, data.Attribute)
		if len(p.To) == 1 && s.inside(p.To[0], s.outputNames(), "output", p.Name) && second(s.Doc) {
			s.sameType(p.To[0].Pos, p.Name, def, s.output(p.To[0].Name))
		}
	}
	for _, p := range m.Capabilities {
		s.mapped(p, t.capabilities(), "capability")
		s.checkMappedCapability(p, t.Caps[p.Name])
	}
	for _, p := range m.Requirements {
		s.mapped(p, Keys(t.byName), "requirement")
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
				s.Unknown(m.Pos, codeMapped, path[1], Keys(t.byName), "%s: the node type has no requirement %q", substitution, path[1])
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
	names := Keys(props)
	if member == data.Attribute {
		if attrs[name] != nil {
			props = attrs
		}
		names = append(names, Keys(attrs)...)
	}
	if def := props[name]; def != nil {
		if at(path, 2) == "ALL" && isPath {
			return nil // a list of them
		}
		return def
	}
	if isPath || !strings.ContainsAny(m.Name, "[, ") {
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

// output is the definition of an output, if it has a type.
func (s *Service) output(name string) *data.Definition {
	for _, o := range s.Topo.Outputs {
		if o.Name == name && o.Definition != nil && o.Definition.Type.Name != "" {
			return data.From(o.Definition, s.Doc)
		}
	}
	return nil
}

// mapped checks that the substituted node has what is mapped. A path leads on
// to a capability or relationship of the node, and is left alone.
func (s *Service) mapped(m *grammar.Mapping, names []string, what string) {
	if m.Name == "" || strings.ContainsAny(m.Name, "[, ") {
		return
	}
	if !s.Spend(perCandidate*len(names)) || slices.Contains(names, m.Name) { // they were put in order for this
		return
	}
	s.Unknown(m.Pos, codeMapped, m.Name, names, "%s: the node type has no %s %q", substitution, what, m.Name)
}

// inside checks that the topology has what something is mapped to.
func (s *Service) inside(ref grammar.Ref, names []string, what, name string) bool {
	if !s.Spend(perCandidate * len(names)) {
		return false
	}
	for _, known := range names {
		if known == ref.Name {
			return true
		}
	}
	s.Unknown(ref.Pos, codeMappedTo, ref.Name, names, "%s: %q is mapped to %s %q, which is not there", substitution, name, what, ref.Name)
	return false
}

func (s *Service) outputNames() []string {
	var names []string
	for _, o := range s.Topo.Outputs {
		names = append(names, o.Name)
	}
	return names
}

// checkPropertyMappings checks that properties are mapped to inputs, of the
// same type; since 2.0 all inputs that need a value must be among them.
func (s *Service) checkPropertyMappings(m *grammar.Substitution, t *NodeType) {
	given := map[string]bool{}
	for _, p := range m.Properties {
		def := s.mappedMember(p, t, data.Property)
		if p.Value != nil {
			at := data.Place{Of: substitution + ": property " + quote(p.Name), Doc: s.Doc, Self: data.Anything}
			if v := s.eval.Eval(p.Value, at); v.OK {
				s.eval.Check(v.Node, def, at)
			}
		}
		switch len(p.To) {
		case 1:
			given[p.To[0].Name] = true
			if s.inside(p.To[0], s.inputNames(), "input", p.Name) {
				s.sameType(p.To[0].Pos, p.Name, def, s.inputs[p.To[0].Name].def)
			}
		case 2: // of 1.2: a property of a node
			if n := s.mappedNode(p.To[0], p.Name); n != nil && n.Typ != nil {
				s.inside(p.To[1], Keys(n.Typ.Props), "property", p.Name)
			}
		}
	}
	if !second(s.Doc) {
		return
	}
	for _, in := range s.Topo.Inputs {
		if in.Required && in.Default == nil && in.Value == nil && !given[in.Name] {
			s.Errorf(in.Pos, codeMappedInput, "input %q needs a value, and %s maps no property to it", in.Name, substitution)
		}
	}
}

func (s *Service) sameType(at diag.Position, name string, a, b *data.Definition) {
	if a == nil || b == nil {
		return
	}
	if x, y := s.eval.Plain(a), s.eval.Plain(b); x != "" && y != "" && x != y {
		s.Errorf(at, codeMappedType, "%s: %q is of type %s and is mapped to what is of type %s", substitution, name, a.TypeName(), b.TypeName())
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
	if n == nil || n.Typ == nil || !s.inside(m.To[1], n.Typ.capabilities(), "capability", m.Name) {
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
		if second(s.Doc) && !slices.ContainsFunc(n.Directives, func(d grammar.Ref) bool { return d.Name == "select" }) {
			s.Errorf(m.To[0].Pos, codeMappedTo, "%s: %q is mapped to %s, which does not have the directive select", substitution, m.Name, n.Of())
		}
		return
	}
	if s.inside(m.To[1], Keys(n.Typ.byName), "requirement", m.Name) && second(s.Doc) && n.leads(m.To[1].Name) {
		s.Errorf(m.To[1].Pos, codeMappedTo, "%s: %q is mapped to requirement %q of %s, which leads to a node already", substitution, m.Name, m.To[1].Name, n.Of())
	}
}

// leads tells whether all that a node says of a requirement names a node
// template, so that none of it is left to be fulfilled.
func (n *Node) leads(requirement string) bool {
	said, left := false, false
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
	if n == nil || n.Typ == nil {
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
			s.mapped(i, Keys(faces), "interface")
		}
		made := faces[i.Name]
		for _, o := range i.Parts {
			if made != nil && !made.vague {
				s.mapped(o, Keys(made.Operations), "operation")
			}
			if len(o.To) == 1 {
				s.inside(o.To[0], Keys(s.flows), "workflow", i.Name+"."+o.Name)
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
		v := s.eval.Eval(o.Value, p)
		if o.Definition == nil || o.Definition.Type.Name == "" {
			continue
		}
		def := data.From(o.Definition, s.Doc)
		declared := *def
		declared.Default, declared.Value = nil, nil
		if s.eval.Declare(&declared, p) && v.OK {
			s.eval.Check(v.Node.Moved(o.Value), def, p)
		}
	}
}
