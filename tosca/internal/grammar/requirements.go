package grammar

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/source"
)

// requirementDefs reads the requirements of a node type (TOSCA 1.3, 3.7.3; 2.0,
// 8.4).
func (r *reader) requirementDefs(n *source.Node, of string) []*RequirementDef {
	var all []*RequirementDef
	seen := map[string]diag.Position{}
	r.warnAboutMap(n, of)
	r.entries(n, of+": requirements", func(k, v *source.Node) {
		d := &RequirementDef{Name: k.Text, Pos: k.Pos(), Min: 1, Max: 1}
		if r.doc.V2() {
			d.Min, d.Max = 0, -1
		}
		all = append(all, d)
		of := fmt.Sprintf("%s: requirement %q", of, d.Name)
		r.once(seen, d.Name, d.Pos, of)
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

// relationshipDef reads the type and refinements of a relationship.
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

// occurrences reads a range; high is -1 if it is unbounded.
func (r *reader) occurrences(n *source.Node, of string) (low, high int) {
	if n.Kind == source.List && len(n.Items) == 2 && (!r.doc.V2() || n.Items[0].Kind == source.Int && (n.Items[1].Kind == source.Int || n.Items[1].Text == "UNBOUNDED")) {
		low, errLow := strconv.Atoi(n.Items[0].Text)
		if n.Items[1].Text == "UNBOUNDED" && errLow == nil && low >= 0 {
			return low, -1
		}
		if high, errHigh := strconv.Atoi(n.Items[1].Text); errLow == nil && errHigh == nil && 0 <= low && low <= high {
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

// capabilityDefs reads the capabilities of a node type (TOSCA 1.3, 3.7.2; 2.0, 8.2). An
// example of 1.x has a list of types, which are also the names (TOSCA 1.3, 3.10.3.15.3).
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

// capabilities reads the assignments of a node template to its capabilities.
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

// warnAboutMap warns of requirements that are a map in 1.x, as in many documents. A list
// defines the order of requirements (TOSCA 1.0, 3.6.8.3 and 3.7.3.1; 1.3, 3.7.9.3).
func (r *reader) warnAboutMap(n *source.Node, of string) {
	if !n.IsNull() && n.Kind == source.Map && !r.doc.V2() {
		r.Warnf(n.Pos(), code.Shape, "%s: requirements are a list in TOSCA, not a map: put a dash before each", of)
	}
}

// requirements reads the requirements of a node template.
func (r *reader) requirements(n *source.Node, of string) []*Requirement {
	var all []*Requirement
	if !n.IsNull() && n.Kind == source.Map && !r.doc.V2() {
		r.warnAboutMap(n, of)
		r.byName(n, of+": requirements", func(k, v *source.Node) { all = append(all, r.requirement(k, v, of)) })
		return all
	}
	if !n.IsNull() {
		all = slices.Grow(all, len(n.Items))
	}
	r.items(n, of+": requirements", func(item *source.Node) {
		if !r.doc.V2() && !item.IsNull() && item.IsScalar() { // a requirement that the type completes
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

// requirement reads the short form, a node template's name, or the long form (TOSCA 1.3,
// 3.8.2; 2.0, 8.5).
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

// target reads the node that a requirement names. Since 2.0 it may be one of the nodes
// made from a template.
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

// relationship reads the name of a relationship, or an inline one: its type with
// properties, or in 1.0 a whole template.
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

// nodeFilter reads a filter: properties and capabilities in 1.x, a condition in 2.0.
func (r *reader) nodeFilter(n *source.Node, of string) *NodeFilter {
	f := &NodeFilter{Pos: n.Pos()}
	if r.doc.V2() && n.Get("properties") == nil && n.Get("capabilities") == nil {
		f.Validation = n
		return f
	}
	r.fields(n, of, []field{
		{"properties", func(n *source.Node) { f.Properties = r.propertyFilters(n, of) }, first},
		{"capabilities", func(n *source.Node) { f.Capabilities = r.capabilityFilters(n, of) }, first},
	})
	return f
}

// capabilityFilters reads the capabilities that a node must have, by name or type, with
// conditions on their properties.
func (r *reader) capabilityFilters(n *source.Node, of string) []*CapabilityFilter {
	var all []*CapabilityFilter
	alone := func(n *source.Node) { all = append(all, &CapabilityFilter{Name: n.Text, Pos: n.Pos()}) }
	each := func(k, v *source.Node) {
		c := &CapabilityFilter{Name: k.Text, Pos: k.Pos()}
		all = append(all, c)
		of := fmt.Sprintf("%s: capability %q", of, c.Name)
		r.fields(v, of, []field{
			{"properties", func(n *source.Node) { c.Properties = r.propertyFilters(n, of) }, everyVersion},
		})
	}
	r.entriesOrAlone(n, of+": capabilities", each, alone)
	return all
}

// propertyFilters reads conditions on properties: a constraint, several constraints, or
// a value.
func (r *reader) propertyFilters(n *source.Node, of string) []*PropertyFilter {
	var all []*PropertyFilter
	r.entries(n, of+": properties", func(k, v *source.Node) {
		p := &PropertyFilter{Name: k.Text, Pos: k.Pos()}
		all = append(all, p)
		of := fmt.Sprintf("%s: property %q", of, p.Name)
		switch {
		case slices.Contains(listed, p.Name) && namesEntries(v):
			p.add(entries(p.Name, v))
		case v.Kind == source.List:
			r.items(v, of, func(item *source.Node) {
				if !item.IsNull() && item.IsScalar() {
					p.add(equal(item))
					return
				}
				for k, operand := range r.clause(item, of).Pairs() {
					p.add(r.constraint(k, operand, of))
				}
			})
		case v.Kind == source.Map && !isCall(v):
			for k, operand := range v.Pairs() {
				p.add(r.constraint(k, operand, of))
			}
		default:
			p.add(equal(v))
		}
	})
	return all
}

// Software and Entries are constraints for filters of TosKer's documents on maps of a
// container: software by its versions, and other entries as they are written.
const (
	Software = "supported_sw"
	Entries  = "entries"
)

// listed are the maps of TosKer's containers whose entries a filter may list.
var listed = []string{Software, "ports", "env_variable", "share_data"}

// mapsOf returns the maps of a list, or the one map.
func mapsOf(v *source.Node) []*source.Node {
	if v.Kind == source.List {
		return v.Items
	}
	return []*source.Node{v}
}

// namesEntries reports whether a filter on a map lists entries, not constraints.
func namesEntries(v *source.Node) bool {
	maps := mapsOf(v)
	return len(maps) > 0 && !slices.ContainsFunc(maps, func(m *source.Node) bool {
		return m.IsNull() || m.Kind != source.Map || isCall(m) ||
			slices.ContainsFunc(m.Keys, func(k *source.Node) bool { return slices.Contains(operators, k.Text) })
	})
}

// entries merges all of them into one map.
func entries(property string, v *source.Node) *Constraint {
	var keys, items []*source.Node
	for _, m := range mapsOf(v) {
		keys, items = append(keys, m.Keys...), append(items, m.Items...)
	}
	c := &Constraint{Pos: v.Pos(), Operator: Entries, Operand: source.At(source.Map, keys, items, v)}
	if property == Software {
		c.Operator = Software
	}
	return c
}

func (p *PropertyFilter) add(c *Constraint) {
	if c != nil {
		p.Constraints = append(p.Constraints, c)
	}
}

func (r *reader) clause(n *source.Node, of string) *source.Node {
	if n.Kind != source.Map {
		r.Errorf(n.Pos(), code.Shape, "%s: a constraint must be an operator and its operand, not %s", of, aKind(n.Kind))
	}
	return n
}

// isCall reports whether a value is a function call of 1.x.
func isCall(n *source.Node) bool {
	return n.Kind == source.Map && len(n.Keys) == 1 && slices.Contains([]string{
		"get_input", "get_property", "get_attribute", "get_operation_output", "get_nodes_of_type", "get_artifact", "concat", "join", "token",
	}, n.Keys[0].Text)
}
