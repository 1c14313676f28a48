package grammar

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/source"
)

// requirementDefs reads the requirements of a node type (TOSCA 1.3, 3.7.3; 2.0,
// 8.4).
func (r *reader) requirementDefs(n *source.Node, of string) []*RequirementDef {
	var all []*RequirementDef
	names := map[string]bool{}
	r.sequenced(n, of)
	r.entries(n, of+": requirements", func(k, v *source.Node) {
		d := &RequirementDef{Name: k.Text, Pos: k.Pos(), Min: 1, Max: 1}
		if r.doc.V2() {
			d.Min, d.Max = 0, -1
		}
		all = append(all, d)
		of := fmt.Sprintf("%s: requirement %q", of, d.Name)
		if names[d.Name] {
			r.Errorf(d.Pos, code.Together, "%s is defined twice", of)
		}
		names[d.Name] = true
		if v.Kind == source.String {
			d.Capability, d.Short = r.ref(v, of), true
			if r.doc.V2() {
				r.Warnf(v.Pos(), code.Shape, "%s is in the short form of TOSCA 1.x: 2.0 has a map with capability and relationship", of)
			}
			return
		}
		counted := func(n *source.Node) {
			d.Counted = n.Pos()
			d.Min, d.Max = r.occurrences(n, of)
		}
		r.fields(v, of, []field{
			{"capability", r.setRef(&d.Capability, of, ": capability"), everyVersion},
			{"node", r.setRef(&d.Node, of, ": node"), everyVersion},
			{"relationship", func(n *source.Node) { r.relationshipDef(d, n, of+": relationship") }, everyVersion},
			{"occurrences", counted, first},
			{"count_range", counted, second},
			{"node_filter", func(n *source.Node) { d.Filter = r.nodeFilter(n, of+": node_filter") }, everyVersion},
		})
	})
	return all
}

// relationshipDef reads a relationship's type, with what is refined of it.
func (r *reader) relationshipDef(d *RequirementDef, n *source.Node, of string) {
	if n.Kind != source.Map {
		d.Relationship = r.ref(n, of)
		return
	}
	d.Related = n.Pos()
	r.fields(n, of, []field{
		{"type", r.setRef(&d.Relationship, of, ": type"), everyVersion},
		{"properties", func(n *source.Node) { d.RelationProperties = r.properties(n, of+": properties", r.isFixed) }, everyVersion},
		{"attributes", func(n *source.Node) { d.RelationAttributes = r.attributes(n, of+": attributes") }, everyVersion},
		{"interfaces", func(n *source.Node) { d.Interfaces = r.interfaces(n, of) }, everyVersion},
	})
}

// occurrences reads a range; high is -1 where it has no end.
func (r *reader) occurrences(n *source.Node, of string) (low, high int) {
	if n.Kind == source.List && len(n.Items) == 2 && (!r.doc.V2() || n.Items[0].Kind == source.Int && (n.Items[1].Kind == source.Int || n.Items[1].Text == "UNBOUNDED")) {
		low, errLow := strconv.Atoi(n.Items[0].Text)
		if n.Items[1].Text == "UNBOUNDED" && errLow == nil && low >= 0 {
			return low, -1
		}
		high, errHigh := strconv.Atoi(n.Items[1].Text)
		if errLow == nil && errHigh == nil && 0 <= low && low <= high {
			return low, high
		}
	}
	key := "occurrences"
	if r.doc.V2() {
		key = "count_range"
	}
	r.Errorf(n.Pos(), code.Shape, "%s: %s must be two numbers, least and most, or UNBOUNDED as most", of, key)
	return 0, -1
}

// capabilityDefs reads the capabilities of a node type (TOSCA 1.3, 3.7.2; 2.0,
// 8.2). An example of 1.x lists their types alone, which name them, too (TOSCA
// 1.3, 3.10.3.15.3).
func (r *reader) capabilityDefs(n *source.Node, of string) []*CapabilityDef {
	var all []*CapabilityDef
	alone := func(n *source.Node) {
		typ := r.ref(n, of+": capabilities")
		all = append(all, &CapabilityDef{Name: typ.Name, Pos: typ.Pos, Type: typ, Max: -1})
	}
	if n.Kind == source.List && !r.doc.V2() {
		r.items(n, of+": capabilities", alone)
		return all
	}
	r.byName(n, of+": capabilities", func(k, v *source.Node) {
		d := &CapabilityDef{Name: k.Text, Pos: k.Pos(), Max: -1}
		all = append(all, d)
		of := fmt.Sprintf("%s: capability %q", of, d.Name)
		if v.Kind == source.String {
			d.Type = r.ref(v, of)
			return
		}
		r.fields(v, of, []field{
			{"type", r.setRef(&d.Type, of, ": type"), everyVersion},
			{"properties", r.refining(func(n *source.Node) { d.Properties = r.properties(n, of+": properties", r.isFixed) }), everyVersion},
			{"attributes", r.refining(func(n *source.Node) { d.Attributes = r.attributes(n, of+": attributes") }), everyVersion},
			{"valid_source_types", r.setRefs(&d.Sources, of, ": valid_source_types"), first},
			{"valid_source_node_types", r.setRefs(&d.Sources, of, ": valid_source_node_types"), second},
			{"valid_relationship_types", r.setRefs(&d.Relations, of, ": valid_relationship_types"), second},
			{"occurrences", func(n *source.Node) { d.Min, d.Max = r.occurrences(n, of) }, first},
		})
	})
	return all
}

// capabilities reads what a node template assigns to its capabilities.
func (r *reader) capabilities(n *source.Node, of string) []*Capability {
	var all []*Capability
	r.definitions(n, of+": capabilities", func(k, v *source.Node) {
		c := &Capability{Name: k.Text, Pos: k.Pos()}
		all = append(all, c)
		of := fmt.Sprintf("%s: capability %q", of, c.Name)
		if v.Kind == source.String && !r.doc.V2() {
			c.Type = r.ref(v, of)
			return
		}
		r.fields(v, of, []field{
			{"properties", r.setAssignments(&c.Properties, of, ": properties"), everyVersion},
			{"attributes", r.setAssignments(&c.Attributes, of, ": attributes"), everyVersion},
			{"occurrences", func(n *source.Node) {
				r.occurrences(n, of)
				c.Counted = n
			}, first},
			{"directives", r.setRefs(&c.Directives, of, ": directives"), second},
		})
	})
	return all
}

// sequenced warns of requirements of 1.x that are a map, as many documents write
// them: a list says in which order they are fulfilled (TOSCA 1.0, 3.6.8.3 and
// 3.7.3.1; 1.3, 3.7.9.3).
func (r *reader) sequenced(n *source.Node, of string) {
	if !n.IsNull() && n.Kind == source.Map && !r.doc.V2() {
		r.Warnf(n.Pos(), code.Shape, "%s: requirements are a list in TOSCA, not a map: put a dash before each", of)
	}
}

// requirements reads what a node template requires.
func (r *reader) requirements(n *source.Node, of string) []*Requirement {
	var all []*Requirement
	if !n.IsNull() && n.Kind == source.Map && !r.doc.V2() {
		r.sequenced(n, of)
		r.byName(n, of+": requirements", func(k, v *source.Node) { all = append(all, r.requirement(k, v, of)) })
		return all
	}
	if !n.IsNull() {
		all = slices.Grow(all, len(n.Items))
	}
	r.items(n, of+": requirements", func(item *source.Node) {
		if !r.doc.V2() && !item.IsNull() && item.IsScalar() { // a requirement that the type fills
			all = append(all, &Requirement{Name: item.Text, Pos: item.Pos(), details: noDetails})
			return
		}
		if item.Kind != source.Map || len(item.Keys) != 1 {
			r.Errorf(item.Pos(), code.Shape, "%s: each requirement must be one name and its value", of)
			return
		}
		all = append(all, r.requirement(item.Keys[0], item.Items[0], of))
	})
	return all
}

// requirement reads the short form, the name of a node template, and the long
// one (TOSCA 1.3, 3.8.2; 2.0, 8.5).
func (r *reader) requirement(k, v *source.Node, of string) *Requirement {
	q := &Requirement{Name: k.Text, Pos: k.Pos(), details: noDetails}
	if v.Kind != source.Map {
		r.target(q, v, of)
		return q
	}
	q.details = &details{}
	of = fmt.Sprintf("%s: requirement %q", of, q.Name)
	r.fields(v, of, []field{
		{"node", func(n *source.Node) { r.target(q, n, of+": node") }, everyVersion},
		{"capability", r.setRef(&q.Capability, of, ": capability"), everyVersion},
		{"relationship", func(n *source.Node) { r.relationship(q, n, of+": relationship") }, everyVersion},
		{"node_filter", func(n *source.Node) {
			q.Filter = n.Pos()
			q.NodeFilter = r.nodeFilter(n, of+": node_filter")
		}, everyVersion},
		{"occurrences", func(n *source.Node) {
			r.occurrences(n, of)
			if !r.doc.V2() {
				q.Count = n
			}
		}, first},
		{"count", setNode(&q.Count), second},
		{"directives", r.setRefs(&q.Directives, of, ": directives"), second},
		{"optional", setNode(&q.Optional), second},
		{"allocation", r.setAssignments(&q.Allocation, of, ": allocation"), second},
	})
	return q
}

// target reads the node that a requirement names; since 2.0 it may be one of
// those that a template makes.
func (r *reader) target(q *Requirement, n *source.Node, of string) {
	switch {
	case n.Kind != source.List || !r.doc.V2():
		q.Node = r.ref(n, of)
	case len(n.Items) == 2 && !n.Items[0].IsNull() && !n.Items[1].IsNull():
		if q.details == noDetails {
			q.details = &details{}
		}
		q.Node, q.Index = r.ref(n.Items[0], of), n.Items[1]
	default:
		r.Errorf(n.Pos(), code.Shape, "%s must be a name, or a list of the name of a node template and an index", of)
	}
}

// relationship reads a relationship's name, or one that is written in place:
// its type with properties, or in 1.0 a whole template.
func (r *reader) relationship(q *Requirement, n *source.Node, of string) {
	if n.IsScalar() {
		q.Relationship = r.ref(n, of)
		return
	}
	q.Inline = &RelationshipTemplate{Pos: n.Pos()}
	r.fields(n, of, []field{
		{"type", r.setRef(&q.Inline.Type, of, ": type"), everyVersion},
		{"properties", r.setAssignments(&q.Inline.Properties, of, ": properties"), everyVersion},
		{"attributes", r.setAssignments(&q.Inline.Attributes, of, ": attributes"), everyVersion},
		{"interfaces", func(n *source.Node) { q.Inline.Interfaces = r.interfaces(n, of) }, everyVersion},
	})
	q.Relationship, q.Properties = q.Inline.Type, q.Inline.Properties
}
