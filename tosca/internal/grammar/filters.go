package grammar

import (
	"fmt"
	"slices"

	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/source"
)

// nodeFilter reads the filter of 1.x, properties and capabilities, and the
// condition that takes its place in 2.0.
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

// capabilityFilters reads which capabilities a node must have, by their names or
// types, and what their properties must fulfil.
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

// propertyFilters reads what properties must fulfil: a constraint or several, or
// the value itself.
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

// Software and Entries are the constraints by which a filter of TosKer's documents
// asks for what a map of a container has: software by its versions, and all else as
// it is written.
const (
	Software = "supported_sw"
	Entries  = "entries"
)

// listed are the maps of TosKer's containers, of which a filter may list entries.
var listed = []string{Software, "ports", "env_variable", "share_data"}

// mapsOf are the maps of a list of them, or the map alone.
func mapsOf(v *source.Node) []*source.Node {
	if v.Kind == source.List {
		return v.Items
	}
	return []*source.Node{v}
}

// namesEntries reports whether a filter on a map lists entries, and no constraints.
func namesEntries(v *source.Node) bool {
	maps := mapsOf(v)
	return len(maps) > 0 && !slices.ContainsFunc(maps, func(m *source.Node) bool {
		return m.IsNull() || m.Kind != source.Map || isCall(m) ||
			slices.ContainsFunc(m.Keys, func(k *source.Node) bool { return slices.Contains(operators, k.Text) })
	})
}

// entries makes one map of them all.
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

// isCall reports whether a value of 1.x is made by a function.
func isCall(n *source.Node) bool {
	return n.Kind == source.Map && len(n.Keys) == 1 && slices.Contains([]string{
		"get_input", "get_property", "get_attribute", "get_operation_output", "get_nodes_of_type", "get_artifact", "concat", "join", "token",
	}, n.Keys[0].Text)
}
