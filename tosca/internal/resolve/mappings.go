package resolve

import (
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
)

// checkPropertyMappings checks that properties are mapped to inputs, of the
// same type; all inputs that need a value should be among them, and since 2.0 must.
func (s *Service) checkPropertyMappings(m *grammar.Substitution, t *NodeType) {
	given := map[string]bool{}
	for _, p := range m.Properties {
		def := s.mappedMember(p, t, data.Property)
		if p.Value != nil {
			at := data.Place{Of: substitution + ": property " + quote(p.Name), Doc: s.Doc, Self: data.Anything}
			if v := s.eval.Eval(p.Value, at); v.OK {
				s.eval.CheckValue(v, def, at)
			}
		}
		switch len(p.To) {
		case 1:
			given[p.To[0].Name] = true
			if inside(s, p.To[0], s.inputs, "input", p.Name) {
				s.sameType(p.To[0].Pos, p.Name, def, s.inputs[p.To[0].Name].def)
			}
		case 2, 3: // of 1.2: a property of a node, or of one of its capabilities
			if n := s.mappedNode(p.To[0], p.Name); n != nil && n.Typ != nil {
				s.mappedProperty(p, n.Typ)
			}
		}
	}
	report := s.Errorf
	if !second(s.Doc) { // the template may be deployed by itself, and what is called alike need not be mapped (TOSCA 1.3, 2.10.2)
		report = s.Warnf
		for name := range t.Props {
			given[name] = true
		}
	}
	for _, in := range s.Topo.Inputs {
		if in.Required && in.Default == nil && in.Value == nil && !given[in.Name] {
			report(in.Pos, codeMappedInput, "input %q needs a value, and %s maps no property to it", in.Name, substitution)
		}
	}
}

// mappedProperty checks the property that another one is mapped to: of a node, of
// a capability, or of what a requirement leads to, which is not looked at (TOSCA
// 1.2, 3.8.8).
func (s *Service) mappedProperty(p *grammar.Mapping, t *NodeType) {
	if len(p.To) == 2 {
		inside(s, p.To[1], t.Props, "property", p.Name)
		return
	}
	c := t.Caps[p.To[1].Name]
	switch {
	case c != nil && c.whole:
		inside(s, p.To[2], c.Props, "property", p.Name)
	case c == nil && t.Requirement(p.To[1].Name) == nil && !t.vague():
		inside(s, p.To[1], t.Caps, "capability", p.Name)
	}
}
