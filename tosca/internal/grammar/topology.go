package grammar

import (
	"fmt"
	"slices"

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

// assigning reads what stands in a template: inputs are values there, never
// definitions.
func (r *reader) assigning(n *source.Node, of string, known []field) {
	r.assigns = true
	r.fields(n, of, known)
	r.assigns = false
}

// abstract are the directives that leave a node to be found elsewhere.
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
			r.filtered(node)
		}
		if node.Type.Name == "" && node.Copy.Name == "" {
			r.missing(v, k.Pos(), "type", "node template "+diag.Quote(node.Name))
		}
	})
}

// filtered reports a filter of a node that is not to be selected, which has
// nothing to choose (TOSCA 1.0, 3.7.3.1; 1.3, 3.8.3.1). Where another template is
// copied, that one may say so.
func (r *reader) filtered(node *NodeTemplate) {
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
		{"occurrences", func(n *source.Node) { r.occurrences(n, of) }, first}, // with instance_count an experiment (TOSCA 1.3, 2.20)
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

// outputs reads the outputs of a topology, since 1.3 also by their value alone
// (TOSCA 1.3, 3.6.14.2). A map is a definition there, unless it calls a function;
// in 2.0, if it has a value or a type, whatever else is in it.
func (r *reader) outputs(t *Topology, n *source.Node) {
	r.byName(n, "outputs", func(k, v *source.Node) {
		p := &Property{Name: k.Text, Pos: k.Pos(), Required: true}
		defined := r.doc.V2() && v.Kind == source.Map && (v.Get("value") != nil || v.Get("type") != nil)
		if r.isFixed(v) && !defined || r.doc.Version == version13 && v.Kind == source.String {
			p.Value = v
		} else {
			of := fmt.Sprintf("output %q", p.Name)
			r.property(p, v, of)
			r.never(v, of, "an output of the whole", "mapping")
			if p.Value == nil && !r.doc.V2() {
				r.Warnf(p.Pos, code.Untyped, "%s has no value, so it never has one", of)
			}
		}
		t.Outputs = append(t.Outputs, &Output{Name: p.Name, Pos: p.Pos, Definition: p, Value: p.Value})
	})
}
