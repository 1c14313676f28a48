package grammar

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/source"
)

// topology reads a topology template, or a service template of 2.0 (TOSCA 1.3,
// 3.9; 2.0, 6.9).
func (r *reader) topology(of string) func(*source.Node) {
	return func(n *source.Node) {
		t := &Topology{Pos: n.Pos(), keywords: n.Keys, Relationships: map[string]*RelationshipTemplate{}}
		r.doc.Topology = t
		r.fields(n, of, []field{
			{"description", r.setText(&t.Description, of+": description"), everyVersion},
			{"inputs", func(n *source.Node) { t.Inputs = r.inputs(n, of+": inputs") }, everyVersion},
			{"node_templates", func(n *source.Node) { r.nodeTemplates(t, n) }, everyVersion},
			{"relationship_templates", func(n *source.Node) { r.relationshipTemplates(t, n) }, everyVersion},
			{"groups", func(n *source.Node) { r.groups(t, n) }, everyVersion},
			{"policies", func(n *source.Node) { r.policies(t, n) }, everyVersion},
			{"outputs", func(n *source.Node) { r.outputs(t, n) }, everyVersion},
			{"substitution_mappings", func(n *source.Node) { t.Substitution = r.substitution(n) }, everyVersion},
			{"workflows", func(n *source.Node) { r.workflows(t, n) }, everyVersion},
			{"functions", r.functions(true), second},
		})
		if r.doc.V2() && n.Kind == source.Map && n.Get("node_templates") == nil && t.Nodes == nil {
			r.Errorf(t.Pos, code.Untyped, "%s has no node_templates", of)
		}
	}
}

// assigning reads the keywords of a template, in which inputs are values.
func (r *reader) assigning(n *source.Node, of string, known []field) {
	r.assigns = true
	r.fields(n, of, known)
	r.assigns = false
}

// abstract are the directives of nodes that are made elsewhere.
var abstract = []string{"select", "selectable", "substitute", "substitutable"}

func (r *reader) nodeTemplates(t *Topology, n *source.Node) {
	r.byName(n, "node_templates", func(k, v *source.Node) {
		if t.Nodes == nil {
			t.Nodes = make([]*NodeTemplate, 0, len(n.Keys))
		}
		node := r.nodeTemplate(k, v)
		t.Nodes = append(t.Nodes, node)
		for _, d := range node.Directives {
			if slices.Contains(abstract, d.Name) {
				node.Abstract = d.Pos
			}
		}
		if node.Filter != nil {
			node.Abstract = node.Filter.Pos
			r.checkFilterAllowed(node)
		}
		if node.Type.Name == "" && node.Copy.Name == "" {
			r.missing(v, k.Pos(), "type", "node template "+diag.Quote(node.Name))
		}
	})
}

// checkFilterAllowed reports a node_filter without the directive "select" (TOSCA 1.0,
// 3.7.3.1; 1.3, 3.8.3.1). A template that copies another may inherit the directive.
func (r *reader) checkFilterAllowed(node *NodeTemplate) {
	if r.doc.V2() || node.Copy.Name != "" || slices.ContainsFunc(node.Directives, func(d Ref) bool { return d.Name == "select" || d.Name == "selectable" }) {
		return
	}
	r.Errorf(node.Filter.Pos, code.Untyped, "node template %s has a node_filter, which is only valid with the directive \"select\", or \"selectable\" up to 1.2", diag.Quote(node.Name))
}

// nodeTemplate reads the keywords of a node template (TOSCA 1.3, 3.8.3; 2.0,
// 7.2).
func (r *reader) nodeTemplate(k, v *source.Node) *NodeTemplate {
	node := &NodeTemplate{Name: k.Text, Pos: k.Pos(), Doc: r.doc}
	of := "node template " + diag.Quote(node.Name)
	r.assigning(v, of, []field{
		{"type", r.setRef(&node.Type, of, ": type"), everyVersion},
		{"copy", r.setRef(&node.Copy, of, ": copy"), everyVersion},
		{"directives", r.setRefs(&node.Directives, of, ": directives"), everyVersion},
		{"node_filter", func(n *source.Node) { node.Filter = r.nodeFilter(n, of+": node_filter") }, everyVersion},
		{"count", setNode(&node.Count), second},
		{"occurrences", func(n *source.Node) { r.occurrences(n, of) }, first}, // an experiment with instance_count (TOSCA 1.3, 2.20)
		{"instance_count", setNode(&node.Count), first},
		{"properties", r.setAssignments(&node.Properties, of, ": properties"), everyVersion},
		{"attributes", r.setAssignments(&node.Attributes, of, ": attributes"), everyVersion},
		{"requirements", func(n *source.Node) { node.Requirements = r.requirements(n, of) }, everyVersion},
		{"capabilities", func(n *source.Node) { node.Capabilities = r.capabilities(n, of) }, everyVersion},
		{"interfaces", func(n *source.Node) { node.Interfaces = r.interfaces(n, of) }, everyVersion},
		{"artifacts", func(n *source.Node) { node.Artifacts = r.artifacts(n, of) }, everyVersion},
	})
	return node
}

func (r *reader) relationshipTemplates(t *Topology, n *source.Node) {
	r.byName(n, "relationship_templates", func(k, v *source.Node) {
		rel := &RelationshipTemplate{Name: k.Text, Pos: k.Pos()}
		t.Relationships[rel.Name] = rel
		of := fmt.Sprintf("relationship template %q", rel.Name)
		r.assigning(v, of, []field{
			{"type", r.setRef(&rel.Type, of, ": type"), everyVersion},
			{"copy", r.setRef(&rel.Copy, of, ": copy"), everyVersion},
			{"properties", r.setAssignments(&rel.Properties, of, ": properties"), everyVersion},
			{"attributes", r.setAssignments(&rel.Attributes, of, ": attributes"), everyVersion},
			{"interfaces", func(n *source.Node) { rel.Interfaces = r.interfaces(n, of) }, everyVersion},
		})
		if rel.Type.Name == "" && rel.Copy.Name == "" {
			r.missing(v, k.Pos(), "type", of)
		}
	})
}

// outputs reads the outputs of a topology. Since 1.3 an output may be its value alone
// (TOSCA 1.3, 3.6.14.2). A map is a definition, unless it calls a function. In 2.0 it is
// a definition if it has a value or a type.
func (r *reader) outputs(t *Topology, n *source.Node) {
	r.byName(n, "outputs", func(k, v *source.Node) {
		p := &Property{Name: k.Text, Pos: k.Pos(), Required: true}
		defined := r.doc.V2() && v.Kind == source.Map && (v.Get("value") != nil || v.Get("type") != nil)
		if r.isFixed(v) && !defined || r.doc.Version == version13 && v.Kind == source.String {
			p.Value = v
		} else {
			of := fmt.Sprintf("output %q", p.Name)
			r.property(p, v, of)
			r.reportMisplaced(v, of, "an output of a topology", "mapping")
			if p.Value == nil && !r.doc.V2() {
				r.Warnf(p.Pos, code.Untyped, "%s has no value", of)
			}
		}
		t.Outputs = append(t.Outputs, &Output{Name: p.Name, Pos: p.Pos, Definition: p, Value: p.Value})
	})
}

// substitution reads the substitution mappings (TOSCA 1.3, 3.8.13; 2.0, 15.1).
func (r *reader) substitution(n *source.Node) *Substitution {
	const of = "substitution_mappings"
	s := &Substitution{Pos: n.Pos()}
	r.fields(n, of, []field{
		{"node_type", r.setRef(&s.NodeType, of+": node_type"), everyVersion},
		{"substitution_filter", func(n *source.Node) { r.nodeFilter(n, of+": substitution_filter") }, everyVersion},
		{"properties", func(n *source.Node) { s.Properties = r.maps(n, of+": properties", r.definitions, r.valueMapping) }, everyVersion},
		{"attributes", func(n *source.Node) { s.Attributes = r.maps(n, of+": attributes", r.definitions, r.valueMapping) }, everyVersion},
		{"capabilities", func(n *source.Node) { s.Capabilities = r.maps(n, of+": capabilities", r.definitions, r.pathMapping) }, everyVersion},
		{"requirements", func(n *source.Node) { s.Requirements = r.maps(n, of+": requirements", r.entries, r.requirementMapping) }, everyVersion},
		{"interfaces", func(n *source.Node) {
			r.definitions(n, of+": interfaces", func(k, v *source.Node) {
				s.Operations = append(s.Operations, r.interfaceMapping(k, v, of+": interfaces")...)
			})
		}, everyVersion},
	})
	if s.NodeType.Name == "" {
		r.missing(n, s.Pos, "node_type", of)
	}
	return s
}

// maps reads a map or list of mappings by name.
func (r *reader) maps(n *source.Node, of string, walk func(*source.Node, string, func(k, v *source.Node)), read func(*Mapping, *source.Node, string)) []*Mapping {
	var all []*Mapping
	walk(n, of, func(k, v *source.Node) {
		m := &Mapping{Name: k.Text, Pos: k.Pos()}
		all = append(all, m)
		read(m, v, fmt.Sprintf("%s: %q", of, m.Name))
	})
	return all
}

// valueMapping reads the input that a property, or the output that an attribute, is
// mapped to: a list in 1.2 and 1.3, where a scalar is a value.
func (r *reader) valueMapping(m *Mapping, v *source.Node, of string) {
	switch {
	case r.doc.V2() && v.Kind != source.String:
		r.Errorf(v.Pos(), code.Shape, "%s must be mapped to the name of an input or output, not %s", of, aKind(v.Kind))
	case v.Kind == source.List:
		m.To = r.refs(v, of)
	case v.Kind == source.Map && (v.Get("mapping") != nil || v.Get("value") != nil):
		r.fields(v, of, []field{
			{"mapping", r.setRefs(&m.To, of+": mapping"), everyVersion},
			{"value", ignored, everyVersion},
		})
	case v.Kind == source.String && r.doc.V2():
		m.To = []Ref{r.ref(v, of)}
	}
}

// pathMapping reads the path of a node template and its capability. Since 1.2 a map with
// the path or with values is valid (TOSCA 1.3, 3.8.10 and 3.8.11).
func (r *reader) pathMapping(m *Mapping, v *source.Node, of string) {
	if v.Kind == source.Map && !r.doc.V2() {
		r.fields(v, of, []field{
			{"mapping", r.setRefs(&m.To, of+": mapping"), everyVersion},
			{"properties", func(n *source.Node) { r.assignments(n, of+": properties") }, everyVersion},
			{"attributes", func(n *source.Node) { r.assignments(n, of+": attributes") }, everyVersion},
		})
	} else {
		m.To = r.refs(v, of)
	}
	valued := !r.doc.V2() && len(m.To) == 0 && (v.Get("properties") != nil || v.Get("attributes") != nil)
	if len(m.To) != 2 && !valued {
		r.Errorf(v.Pos(), code.Shape, "%s must be mapped to a node template and its capability or requirement: a list of two names", of)
	}
}

// requirementMapping reads the requirement or the selected node, or several of them,
// that a requirement is mapped to. Its name may have a count.
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

// interfaceMapping reads the workflow that replaces each operation of an interface.
func (r *reader) interfaceMapping(name, v *source.Node, of string) []*Mapping {
	of = fmt.Sprintf("%s: %q", of, name.Text)
	if v.Kind == source.List && !r.doc.V2() { // of 1.2: a node template and its interface
		r.refs(v, of)
		return nil
	}
	var all []*Mapping
	r.byName(v, of, func(k, v *source.Node) {
		m := &Mapping{Name: name.Text + "." + k.Text, Pos: k.Pos(), To: r.refs(v, of)}
		if len(m.To) == 1 {
			all = append(all, m)
		}
	})
	return all
}

// countedName reads a key that may be a list: [service, 2] maps two requirements
// at once, and [service, UNBOUNDED] all that remain.
func (r *reader) countedName(m *Mapping, of string) {
	list, isList := strings.CutPrefix(m.Name, "[")
	if !isList {
		return
	}
	name, count, _ := strings.Cut(strings.TrimSuffix(list, "]"), ", ")
	m.Name = name
	if n, err := strconv.Atoi(count); count != "UNBOUNDED" && (err != nil || n < 0) {
		r.Errorf(m.Pos, code.Shape, "%s: a list must be the name of a requirement, and how many of it: a number, or UNBOUNDED", of)
	}
}
