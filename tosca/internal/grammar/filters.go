package grammar

import (
	"fmt"
	"slices"

	"github.com/toskose/toskose/tosca/internal/source"
)

// nodeFilter reads the filter of 1.x, properties and capabilities, and the
// condition that takes its place in 2.0.
func (r *reader) nodeFilter(n *source.Node, of string) *NodeFilter {
	f := &NodeFilter{Pos: n.Pos()}
	if r.second() && n.Get("properties") == nil && n.Get("capabilities") == nil {
		f.Validation = n
		return f
	}
	r.fields(n, of, []field{
		{"properties", func(n *source.Node) { f.Properties = r.propertyFilters(n, of) }, first},
		{"capabilities", func(n *source.Node) { f.Capabilities = r.capabilityFilters(n, of) }, first},
	})
	return f
}

// capabilityFilters reads which capabilities a node must have, by their names or
// types, and what their properties must fulfil.
func (r *reader) capabilityFilters(n *source.Node, of string) []*CapabilityFilter {
	var all []*CapabilityFilter
	alone := func(n *source.Node) { all = append(all, &CapabilityFilter{Name: n.Text, Pos: n.Pos()}) }
	named := func(k, v *source.Node) {
		c := &CapabilityFilter{Name: k.Text, Pos: k.Pos()}
		all = append(all, c)
		of := fmt.Sprintf("%s: capability %q", of, c.Name)
		r.fields(v, of, []field{
			{"properties", func(n *source.Node) { c.Properties = r.propertyFilters(n, of) }, everyVersion},
		})
	}
	r.namedOrAlone(n, of+": capabilities", named, alone)
	return all
}

// propertyFilters reads what properties must fulfil: a constraint or several, or
// the value itself.
func (r *reader) propertyFilters(n *source.Node, of string) []*PropertyFilter {
	var all []*PropertyFilter
	r.entries(n, of+": properties", func(k, v *source.Node) {
		p := &PropertyFilter{Name: k.Text, Pos: k.Pos()}
		all = append(all, p)
		of := fmt.Sprintf("%s: property %q", of, p.Name)
		switch {
		case p.Name == Software && namesSoftware(v):
			p.add(software(v))
		case v.Kind == source.List:
			r.listed(v, of, func(item *source.Node) {
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

// Software is the property of TosKer's containers that lists the software in them,
// by its versions, and the constraint by which a filter asks for some.
const Software = "supported_sw"

// namesSoftware tells whether a filter on supported_sw lists software, as
// TosKer's documents do, and no constraints.
func namesSoftware(v *source.Node) bool {
	maps := []*source.Node{v}
	if v.Kind == source.List {
		maps = v.Items
	}
	for _, m := range maps {
		if m.Kind != source.Map || isCall(m) || slices.ContainsFunc(m.Keys, func(k *source.Node) bool { return slices.Contains(operators, k.Text) }) {
			return false
		}
	}
	return len(maps) > 0
}

// software makes one map of software and versions.
func software(v *source.Node) *Constraint {
	maps := []*source.Node{v}
	if v.Kind == source.List {
		maps = v.Items
	}
	var keys, versions []*source.Node
	for _, m := range maps {
		keys, versions = append(keys, m.Keys...), append(versions, m.Items...)
	}
	return &Constraint{Pos: v.Pos(), Operator: Software, Operand: source.At(source.Map, keys, versions, v)}
}

func (p *PropertyFilter) add(c *Constraint) {
	if c != nil {
		p.Constraints = append(p.Constraints, c)
	}
}

func (r *reader) clause(n *source.Node, of string) *source.Node {
	if n.Kind != source.Map {
		r.Errorf(n.Pos(), codeShape, "%s: a constraint must be an operator and its operand, not %s", of, aKind(n.Kind))
	}
	return n
}

// isCall tells whether a value of 1.x is made by a function.
func isCall(n *source.Node) bool {
	return n.Kind == source.Map && len(n.Keys) == 1 && slices.Contains([]string{
		"get_input", "get_property", "get_attribute", "get_operation_output", "get_nodes_of_type", "get_artifact", "concat", "join", "token",
	}, n.Keys[0].Text)
}
