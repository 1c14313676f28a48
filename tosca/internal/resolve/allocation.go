package resolve

import (
	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/source"
)

// allocated is a property of a capability that requirements take parts of.
type allocated struct {
	node                 *Node
	capability, property string
}

// checkAllocations checks that requirements do not take more of a capability
// together than it has (TOSCA 2.0, 8.5.5): as far as numbers are known, and
// where one node is made of each template.
func (s *Service) checkAllocations() {
	if !second(s.Doc) {
		return
	}
	taken := map[allocated][]*source.Node{}
	for _, n := range s.Nodes {
		for _, e := range n.Edges {
			if e.capability == nil || n.Count != nil || e.Count != nil || e.Target.Count != nil || e.Target.selected() || e.Optional != nil {
				continue
			}
			for k, v := range e.Allocation.Pairs() {
				at := allocated{e.Target, e.capability.Name, k.Text}
				taken[at] = append(taken[at], v)
				if !s.Spend(len(taken[at])) {
					return
				}
				if s.exceeds(at, taken[at], e) {
					s.Errorf(v.Pos(), codeAllocation, "%s: allocation of %q: more is taken of it than capability %q of %q has", e.of(), k.Text, at.capability, e.Target.Name)
				}
			}
		}
	}
}

// exceeds tells whether a sum is known to be above what a property has.
func (s *Service) exceeds(of allocated, parts []*source.Node, e *Edge) bool {
	c := of.node.capability(of.capability)
	if c == nil || c.props[of.property] == nil {
		return false // said so
	}
	has := c.property(of.property)
	if !has.OK || has.Later != nil || has.Node.IsNull() {
		return false
	}
	call := func(name string, args ...*source.Node) *source.Node {
		list := source.At(source.List, nil, args, has.Node)
		return source.At(source.Map, []*source.Node{source.Scalar(source.String, name, has.Node)}, []*source.Node{list}, has.Node)
	}
	quiet := &data.Evaluator{Collector: &diag.Collector{}, World: s, Spend: s.Spend}
	v := quiet.Eval(call("$greater_than", call("$sum", parts...), has.Node), e.Source.Place(e.of()))
	return v.OK && v.Later == nil && v.Node != nil && v.Node.Text == "true"
}
