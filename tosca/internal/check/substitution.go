package check

import (
	"slices"
	"strings"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/inherit"
	"github.com/toskose/toskose/tosca/internal/resolve"
)

const substitution = "substitution_mappings"

// checkSubstitution checks what the topology says it can stand for: everything
// that is mapped must be there, outside and inside.
func checkSubstitution(g *resolve.Graph) {
	m := g.Topo.Substitution
	if m == nil {
		return
	}
	typ := g.Known(g.Doc, grammar.NodeType, m.NodeType, substitution)
	t := g.WholeNodeType(typ)
	checkFilter(g, m.Filter, t, g.Doc, substitution+": substitution_filter", g.AnyNodeOf(typ, false))
	if t == nil {
		return // said so
	}
	checkPropertyMappings(g, m, t)
	outputs := outputs(g)
	for _, p := range m.Attributes {
		def := mappedMember(g, p, t, data.Attribute)
		if len(p.To) == 1 && inside(g, p.To[0], outputs, "output", p.Name) && g.Doc.V2() {
			sameType(g, p.To[0].Pos, p.Name, def, output(g, outputs[p.To[0].Name]))
		}
	}
	for _, p := range m.Capabilities {
		mapped(g, p, t.Caps, "capability")
		checkMappedCapability(g, p, t.Caps[p.Name])
	}
	for _, p := range m.Requirements {
		mapped(g, p, t.ByName, "requirement")
		if def := t.Requirement(p.Name); def != nil && def.Relation != nil {
			made := g.Inherit(def.Relation)
			checkMappedValues(g, p, "requirement", made.Props, made.Attrs, made.Whole)
		}
		checkMappedRequirement(g, p)
	}
	if g.Doc.V2() {
		checkMappedCounts(g, m, t)
	}
	checkInterfaceMappings(g, m, t)
}

// checkMappedCounts checks how many requirements of the substituted node are
// mapped, and to how many that must be fulfilled (TOSCA 2.0, 15.5.4).
func checkMappedCounts(g *resolve.Graph, m *grammar.Substitution, t *inherit.NodeType) {
	all, needed, ended := map[string]int{}, map[string]int{}, map[string]bool{}
	for _, p := range m.Requirements {
		def, count := t.ByName[p.Name], p.Count
		if def == nil {
			continue // said so
		}
		if count < 0 {
			count = 1
		}
		all[p.Name] += count
		if isMandatory(g, p) {
			needed[p.Name] += count
		}
		switch {
		case ended[p.Name]:
			g.Errorf(p.Pos, code.MappedCount, "%s: %q is mapped after all that is left of it was", substitution, p.Name)
		case def.Max >= 0 && all[p.Name] > def.Max:
			g.Errorf(p.Pos, code.MappedCount, "%s: %q is mapped %d times, and a node of %s has it at most %d times", substitution, p.Name, all[p.Name], inherit.Quoted(t.Type.Type), def.Max)
		case def.Counted.Line != 0 && needed[p.Name] > def.Min:
			g.Errorf(p.Pos, code.MappedCount, "%s: %q is mapped to %d requirements that must be fulfilled, and a node of %s may have it only %d times", substitution, p.Name, needed[p.Name], inherit.Quoted(t.Type.Type), def.Min)
		}
		ended[p.Name] = p.Count < 0
	}
}

// isMandatory reports whether what a requirement is mapped to must be fulfilled.
func isMandatory(g *resolve.Graph, m *grammar.Mapping) bool {
	if len(m.To) != 2 {
		return slices.ContainsFunc(m.Parts, func(p *grammar.Mapping) bool { return isMandatory(g, p) })
	}
	n := g.ByName[m.To[0].Name]
	if n == nil || n.Typ == nil || !g.Spend(len(n.Requirements)) {
		return false
	}
	def := n.Typ.Requirement(m.To[1].Name)
	return def != nil && def.Min > 0 || slices.ContainsFunc(n.Requirements, func(r *grammar.Requirement) bool {
		return r.Name == m.To[1].Name && (r.Optional == nil || r.Optional.Text != "true")
	})
}

// mappedMember checks that the substituted node has the property or attribute
// that is mapped, by its name or a path to it (TOSCA 2.0, 15.2 and 15.3), and
// returns its definition; nil where that is not known.
func mappedMember(g *resolve.Graph, m *grammar.Mapping, t *inherit.NodeType, member data.Member) *data.Definition {
	props, attrs, what := t.Props, t.Attrs, "property"
	if member == data.Attribute {
		what = "attribute"
	}
	list, isPath := strings.CutPrefix(m.Name, "[")
	path := strings.Split(strings.TrimSuffix(list, "]"), ", ")
	name := path[len(path)-1]
	if isPath && g.Doc.V2() {
		switch def := t.ByName[at(path, 1)]; {
		case path[0] == "CAPABILITY" && len(path) == 3:
			c := t.Caps[path[1]]
			if c == nil {
				g.Unknown(m.Pos, code.Mapped, path[1], t.CapabilityNames(), "%s: the node type has no capability %q", substitution, path[1])
				return nil
			}
			if !c.Whole {
				return nil
			}
			props, attrs = c.Props, c.Attrs
		case path[0] == "RELATIONSHIP" && (len(path) == 3 || len(path) == 4):
			if def == nil {
				g.Unknown(m.Pos, code.Mapped, path[1], inherit.Candidates(g, t.ByName), "%s: the node type has no requirement %q", substitution, path[1])
				return nil
			}
			made := g.Inherit(def.Relation)
			if made == nil || !made.Whole {
				return nil
			}
			props, attrs = made.Props, made.Attrs
		default:
			g.Errorf(m.Pos, code.Mapped, "%s: %s must be a name, or a path that begins with CAPABILITY or RELATIONSHIP", substitution, m.Name)
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
		names := inherit.Candidates(g, props)
		if member == data.Attribute {
			names = append(names, inherit.Candidates(g, attrs)...)
		}
		g.Unknown(m.Pos, code.Mapped, name, names, "%s: the node type has no %s %q", substitution, what, m.Name)
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
func output(g *resolve.Graph, o *grammar.Output) *data.Definition {
	switch {
	case o.Definition != nil && o.Definition.Type.Name != "":
		return data.From(o.Definition, g.Doc)
	case g.Doc.V2(): // what is wrong with it is said of the output in the same words
		return g.Values.Eval(o.Value, data.Place{Of: "output " + quote(o.Name), Doc: g.Doc}).Def
	}
	return nil
}

// mapped checks that the substituted node has what is mapped. A path leads on
// to a capability or relationship of the node, and is left alone.
func mapped[V any](s *resolve.Graph, m *grammar.Mapping, known map[string]V, what string) {
	if m.Name == "" || strings.ContainsAny(m.Name, "[, ") {
		return
	}
	if _, has := known[m.Name]; has {
		return
	}
	s.Unknown(m.Pos, code.Mapped, m.Name, inherit.Candidates(s, known), "%s: the node type has no %s %q", substitution, what, m.Name)
}

// inside checks that the topology has what something is mapped to.
func inside[V any](s *resolve.Graph, ref grammar.Ref, known map[string]V, what, name string) bool {
	if _, has := known[ref.Name]; has {
		return true
	}
	s.Unknown(ref.Pos, code.MappedTo, ref.Name, inherit.Candidates(s, known), "%s: %q is mapped to %s %q, which is not there", substitution, name, what, ref.Name)
	return false
}

func outputs(g *resolve.Graph) map[string]*grammar.Output {
	all := make(map[string]*grammar.Output, len(g.Topo.Outputs))
	for _, o := range g.Topo.Outputs {
		all[o.Name] = o
	}
	return all
}

func sameType(g *resolve.Graph, at diag.Position, name string, a, b *data.Definition) {
	if a == nil || b == nil {
		return
	}
	if x, y := g.Values.Plain(a), g.Values.Plain(b); x != "" && y != "" && x != y || g.Doc.V2() && g.Values.Differs(a, b) {
		g.Errorf(at, code.MappedType, "%s: %q is of type %s and is mapped to what is of type %s", substitution, name, g.Values.Described(a), g.Values.Described(b))
	}
}

func mappedNode(g *resolve.Graph, ref grammar.Ref, name string) *resolve.Node {
	if n := g.ByName[ref.Name]; n != nil {
		return n
	}
	g.Unknown(ref.Pos, code.MappedTo, ref.Name, g.TemplateNames(resolve.AnyNode), "%s: %q is mapped to %q, which is not in the topology", substitution, name, ref.Name)
	return nil
}

// checkMappedValues checks the values that stand in the place of a mapping, or
// beside it (TOSCA 1.3, 3.8.10 and 3.8.11).
func checkMappedValues(g *resolve.Graph, m *grammar.Mapping, what string, props, attrs map[string]*data.Definition, whole bool) {
	if m.Value == nil && m.Attributes == nil {
		return
	}
	h := resolve.Holder{
		Graph: g, Self: data.Anything, Of: substitution + ": " + what + " " + quote(m.Name), Doc: g.Doc, At: m.Pos,
		Props: props, Attrs: attrs, Whole: whole, Assigned: m.Value, AttrValues: m.Attributes,
	}
	checkValues(&h, "")
}

func checkMappedCapability(g *resolve.Graph, m *grammar.Mapping, def *inherit.CapabilityDef) {
	if def != nil {
		checkMappedValues(g, m, "capability", def.Props, def.Attrs, def.Whole)
	}
	if len(m.To) != 2 {
		return
	}
	n := mappedNode(g, m.To[0], m.Name)
	if n == nil || n.Typ == nil || !inside(g, m.To[1], n.Typ.Caps, "capability", m.Name) {
		return
	}
	to := n.Typ.Caps[m.To[1].Name]
	if def != nil && def.Typ != nil && to.Typ != nil && to.Whole && !inherit.Derives(to.Typ, def.Typ) {
		g.Errorf(m.To[1].Pos, code.MappedType, "%s: capability %q is of type %q, and is mapped to one of type %q", substitution, m.Name, def.Typ.Name, to.Typ.Name)
	}
}

// checkMappedRequirement checks one target or several, each a requirement of a
// node or a node to be selected.
func checkMappedRequirement(g *resolve.Graph, m *grammar.Mapping) {
	for _, part := range m.Parts {
		checkMappedRequirement(g, part)
	}
	if len(m.To) == 0 {
		return
	}
	n := mappedNode(g, m.To[0], m.Name)
	if n == nil || n.Typ == nil {
		return
	}
	if len(m.To) < 2 {
		if g.Doc.V2() && !selectable(n) {
			g.Errorf(m.To[0].Pos, code.MappedTo, "%s: %q is mapped to %s, which does not have the directive select", substitution, m.Name, n.Of())
		}
		return
	}
	if other := g.ByName[m.To[1].Name]; g.Doc.V2() && other != nil && n.Typ.ByName[m.To[1].Name] == nil && selectable(n) && selectable(other) {
		return // a list of two nodes to be selected looks like a node and its requirement (TOSCA 2.0, 15.5)
	}
	if inside(g, m.To[1], n.Typ.ByName, "requirement", m.Name) && g.Doc.V2() && leadsBy(n, m.To[1].Name) {
		g.Errorf(m.To[1].Pos, code.MappedTo, "%s: %q is mapped to requirement %q of %s, which leads to a node already", substitution, m.Name, m.To[1].Name, n.Of())
	}
}

// selectable reports whether a node may be one that is there already.
func selectable(n *resolve.Node) bool {
	return slices.ContainsFunc(n.Directives, func(d grammar.Ref) bool { return d.Name == "select" })
}

// leadsBy reports whether all that a node says of a requirement names a node
// template, so that none of it is left to be fulfilled.
func leadsBy(n *resolve.Node, requirement string) bool {
	said, left := false, false
	if !n.Holder.Graph.Spend(len(n.Requirements)) {
		return false
	}
	for _, r := range n.Requirements {
		if r.Name == requirement {
			said = true
			left = left || n.Holder.Graph.ByName[r.Node.Name] == nil
		}
	}
	return said && !left
}

func checkInterfaceMappings(g *resolve.Graph, m *grammar.Substitution, t *inherit.NodeType) {
	faces := g.TypeInterfaces(t.Type)
	for _, i := range m.Interfaces {
		if g.Doc.V2() { // of 1.x it may be one that the substituted node gets by it (TOSCA 1.3, 3.8.12.1)
			mapped(g, i, faces, "interface")
		}
		made := faces[i.Name]
		for _, o := range i.Parts {
			if made != nil && !made.Vague {
				mapped(g, o, made.Operations, "operation")
			}
			if len(o.To) == 1 {
				inside(g, o.To[0], g.Workflows, "workflow", i.Name+"."+o.Name)
			}
		}
	}
}

// checkPropertyMappings checks that properties are mapped to inputs, of the
// same type; all inputs that need a value should be among them, and since 2.0 must.
func checkPropertyMappings(g *resolve.Graph, m *grammar.Substitution, t *inherit.NodeType) {
	given := map[string]bool{}
	for _, p := range m.Properties {
		def := mappedMember(g, p, t, data.Property)
		if p.Value != nil {
			at := data.Place{Of: substitution + ": property " + quote(p.Name), Doc: g.Doc, Self: data.Anything}
			if v := g.Values.Eval(p.Value, at); v.OK {
				g.Values.CheckValue(v, def, at)
			}
		}
		switch len(p.To) {
		case 1:
			given[p.To[0].Name] = true
			if inside(g, p.To[0], g.InputByName, "input", p.Name) {
				sameType(g, p.To[0].Pos, p.Name, def, g.InputByName[p.To[0].Name].Def)
			}
		case 2, 3: // of 1.2: a property of a node, or of one of its capabilities
			if n := mappedNode(g, p.To[0], p.Name); n != nil && n.Typ != nil {
				mappedProperty(g, p, n.Typ)
			}
		}
	}
	report := g.Errorf
	if !g.Doc.V2() { // the template may be deployed by itself, and what is called alike need not be mapped (TOSCA 1.3, 2.10.2)
		report = g.Warnf
		for name := range t.Props {
			given[name] = true
		}
	}
	for _, in := range g.Topo.Inputs {
		if in.Required && in.Default == nil && in.Value == nil && !given[in.Name] {
			report(in.Pos, code.MappedInput, "input %q needs a value, and %s maps no property to it", in.Name, substitution)
		}
	}
}

// mappedProperty checks the property that another one is mapped to: of a node, of
// a capability, or of what a requirement leads to, which is not looked at (TOSCA
// 1.2, 3.8.8).
func mappedProperty(g *resolve.Graph, p *grammar.Mapping, t *inherit.NodeType) {
	if len(p.To) == 2 {
		inside(g, p.To[1], t.Props, "property", p.Name)
		return
	}
	c := t.Caps[p.To[1].Name]
	switch {
	case c != nil && c.Whole:
		inside(g, p.To[2], c.Props, "property", p.Name)
	case c == nil && t.Requirement(p.To[1].Name) == nil && !t.Vague():
		inside(g, p.To[1], t.Caps, "capability", p.Name)
	}
}
