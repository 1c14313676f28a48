package grammar

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/source"
)

// substitution reads what a topology can stand for (TOSCA 1.3, 3.8.13; 2.0,
// 15.1).
func (r *reader) substitution(n *source.Node) *Substitution {
	const of = "substitution_mappings"
	s := &Substitution{Pos: n.Pos()}
	r.fields(n, of, []field{
		{"node_type", r.setRef(&s.NodeType, of+": node_type"), everyVersion},
		{"substitution_filter", func(n *source.Node) { s.Filter = r.nodeFilter(n, of+": substitution_filter") }, everyVersion},
		{"properties", func(n *source.Node) { s.Properties = r.maps(n, of+": properties", r.definitions, r.valueMapping) }, everyVersion},
		{"attributes", func(n *source.Node) { s.Attributes = r.maps(n, of+": attributes", r.definitions, r.valueMapping) }, everyVersion},
		{"capabilities", func(n *source.Node) { s.Capabilities = r.maps(n, of+": capabilities", r.definitions, r.pathMapping) }, everyVersion},
		{"requirements", func(n *source.Node) { s.Requirements = r.maps(n, of+": requirements", r.entries, r.requirementMapping) }, everyVersion},
		{"interfaces", func(n *source.Node) { s.Interfaces = r.maps(n, of+": interfaces", r.definitions, r.interfaceMapping) }, everyVersion},
	})
	if s.NodeType.Name == "" {
		r.missing(n, s.Pos, "node_type", of)
	}
	return s
}

// maps reads mappings by the names of what is mapped, which stand in a map or a
// list.
func (r *reader) maps(n *source.Node, of string, walk func(*source.Node, string, func(k, v *source.Node)), read func(*Mapping, *source.Node, string)) []*Mapping {
	var all []*Mapping
	walk(n, of, func(k, v *source.Node) {
		m := &Mapping{Name: k.Text, Pos: k.Pos()}
		all = append(all, m)
		read(m, v, fmt.Sprintf("%s: %q", of, m.Name))
	})
	return all
}

// valueMapping reads to which input a property, or from which output an
// attribute: in 1.2 and 1.3 as a list, and a scalar is a value.
func (r *reader) valueMapping(m *Mapping, v *source.Node, of string) {
	switch {
	case r.doc.V2() && v.Kind != source.String:
		r.Errorf(v.Pos(), code.Shape, "%s must be mapped to the name of an input or output, not %s", of, aKind(v.Kind))
	case v.Kind == source.List:
		m.To = r.refs(v, of)
	case v.Kind == source.Map && (v.Get("mapping") != nil || v.Get("value") != nil):
		r.fields(v, of, []field{
			{"mapping", r.setRefs(&m.To, of+": mapping"), everyVersion},
			{"value", setNode(&m.Value), everyVersion},
		})
	case v.Kind == source.String && r.doc.V2():
		m.To = []Ref{r.ref(v, of)}
	default:
		m.Value = v
	}
}

// pathMapping reads the node template and its capability, or since 1.2 the same
// or values in its place (TOSCA 1.3, 3.8.10 and 3.8.11).
func (r *reader) pathMapping(m *Mapping, v *source.Node, of string) {
	if v.Kind == source.Map && !r.doc.V2() {
		r.fields(v, of, []field{
			{"mapping", r.setRefs(&m.To, of+": mapping"), everyVersion},
			{"properties", r.setAssignments(&m.Value, of+": properties"), everyVersion},
			{"attributes", r.setAssignments(&m.Attributes, of+": attributes"), everyVersion},
		})
	} else {
		m.To = r.refs(v, of)
	}
	valued := !r.doc.V2() && len(m.To) == 0 && (v.Get("properties") != nil || v.Get("attributes") != nil)
	if len(m.To) != 2 && !valued {
		r.Errorf(v.Pos(), code.Shape, "%s must be mapped to a node template and what it has: a list of two names", of)
	}
}

// requirementMapping reads to which requirement of which node, to which node
// that is selected, or to several of these. Its name may come with how many.
func (r *reader) requirementMapping(m *Mapping, v *source.Node, of string) {
	r.countedName(m, of)
	part := func(n *source.Node) {
		p := &Mapping{Name: m.Name, Pos: n.Pos(), To: r.refs(n, of)}
		if len(p.To) != 1 && len(p.To) != 2 {
			r.Errorf(n.Pos(), code.Shape, "%s must be mapped to a node template, or to one and its requirement", of)
		}
		m.Parts = append(m.Parts, p)
	}
	switch {
	case v.Kind == source.Map && !r.doc.V2():
		r.pathMapping(m, v, of)
	case v.Kind == source.List && (len(v.Items) > 2 || hasLists(v)):
		r.items(v, of, part)
	case v.IsScalar() && !r.doc.V2():
		r.Errorf(v.Pos(), code.Shape, "%s must be mapped to a node template and its requirement: a list of two names", of)
	default:
		part(v)
		m.To, m.Parts = m.Parts[0].To, nil
		if len(m.To) == 1 && !r.doc.V2() {
			r.Errorf(v.Pos(), code.Shape, "%s must be mapped to a node template and its requirement: a list of two names", of)
		}
	}
}

func hasLists(n *source.Node) bool {
	for _, item := range n.Items {
		if item.Kind == source.List {
			return true
		}
	}
	return false
}

// interfaceMapping reads which workflow stands for each operation.
func (r *reader) interfaceMapping(m *Mapping, v *source.Node, of string) {
	if v.Kind == source.List && !r.doc.V2() { // of 1.2: a node template and its interface
		m.To = r.refs(v, of)
		return
	}
	r.byName(v, of, func(k, v *source.Node) {
		m.Parts = append(m.Parts, &Mapping{Name: k.Text, Pos: k.Pos(), To: r.refs(v, of)})
	})
}

// countedName reads a key that may be a list: [service, 2] maps two requirements
// at once, and [service, UNBOUNDED] all that are left.
func (r *reader) countedName(m *Mapping, of string) {
	m.Count = 1
	list, isList := strings.CutPrefix(m.Name, "[")
	if !isList {
		return
	}
	name, count, counted := strings.Cut(strings.TrimSuffix(list, "]"), ", ")
	m.Name = name
	n, err := strconv.Atoi(count)
	switch {
	case count == "UNBOUNDED":
		m.Count = -1
	case counted && err == nil && n >= 0:
		m.Count = n
	default:
		r.Errorf(m.Pos, code.Shape, "%s: a list must be the name of a requirement, and how many of it: a number, or UNBOUNDED", of)
	}
}
