package resolve

import (
	"slices"
	"strings"

	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/source"
)

// excuses tells whether a requirement that the type does not define is one that
// the text of 1.x has in its own examples, and warns of it: a Compute that calls
// its storage by the capability (TOSCA 1.3, 10.1.4.4) or names the networks which
// ports link it to (8.6.2), and a container that names another one whose template
// says that it has a capability of this name (11.1.18).
func (s *Service) excuses(e *Edge) bool {
	n, t := e.Source, s.byName[e.Node.Name]
	if second(n.Doc) || n.Owned() || t == nil || t == n || t.Typ == nil {
		return false
	}
	if e.Name == "attachment" && ChainHas(n.Typ.Chain, "tosca.nodes.Compute") && ChainHas(t.Typ.Chain, "tosca.nodes.Storage.BlockStorage") {
		s.Warnf(e.Pos, codeReqUnknown, "%s is not one of %s: \"local_storage\" is meant, which leads to capability \"attachment\" of %q", e.of(), Quoted(n.Typ.Type.Type), t.Name)
		return true
	}
	if ChainHas(n.Typ.Chain, "tosca.nodes.Compute") && ChainHas(t.Typ.Chain, typeNetwork) {
		s.Warnf(e.Pos, codeReqUnknown, "%s is not one of %s: only a Port that is bound to %q links it to network %q", e.of(), Quoted(n.Typ.Type.Type), n.Name, t.Name)
		return true
	}
	if !s.Spend(len(t.Capabilities)) || !slices.ContainsFunc(t.Capabilities, func(c *grammar.Capability) bool { return c.Name == e.Name && c.Type.Name != "" }) {
		return false
	}
	s.Warnf(e.Pos, codeReqUnknown, "%s is not one of %s: only a type defines requirements", e.of(), Quoted(n.Typ.Type.Type))
	return true
}

// addsCapability tells whether a template of 1.x names the type of a capability
// that its own type does not have, as an example does (TOSCA 1.3, 11.1.18), and
// warns of it. One of TOSCA's need not be there: that of the example is not.
func (s *Service) addsCapability(n *Node, k *grammar.Capability) bool {
	if k.Type.Name == "" {
		return false
	}
	if !strings.HasPrefix(k.Type.Name, "tosca.capabilities.") && s.known(n.Doc, grammar.CapabilityType, k.Type, n.Of()+": capability "+quote(k.Name)) == nil {
		return true // said so
	}
	s.Warnf(k.Pos, codeCapName, "%s adds capability %q of type %q, which means nothing: only a type defines capabilities", n.Of(), k.Name, k.Type.Name)
	return true
}

// isBareSize tells whether a value is the size of a BlockStorage without a unit,
// as examples have it, and warns of it (TOSCA 1.3, 10.1.4). Nowhere else is a
// number a size (3.3.6.2).
func (h *holder) isBareSize(name string, v *source.Node) bool {
	n, ok := h.self.(*Node)
	if !ok || name != "size" || v.Kind != source.Int || second(h.doc) || n.Owned() || !h.props[name].Doc.Embedded || !ChainHas(n.Typ.Chain, "tosca.nodes.Storage.BlockStorage") {
		return false
	}
	h.s.Warnf(v.Pos(), codeValueType, "%s: property \"size\" is %s without a unit, such as GB", h.of, v.Text)
	return true
}

// overrides tells whether what is assigned may override a value that a type of
// 1.x fixes: that of a relationship, which an example does (TOSCA 1.3, 10.1.4.2).
func (h *holder) overrides() bool {
	kind, _ := h.self.Describe()
	return kind == data.RelationshipEntity && !second(h.doc)
}

// sparesName tells whether a node is a Database without a name that its own
// operations make, as those of two examples are, and warns of it (TOSCA 1.3,
// 5.9.7 and 11.1). It is the operations that know the name then.
func (s *Service) sparesName(n *Node) bool {
	name := n.holder.props["name"]
	if second(n.Doc) || n.Owned() || name == nil || !name.Doc.Embedded || !ChainHas(n.Typ.Chain, "tosca.nodes.Database") || !n.Properties.Get("name").IsNull() {
		return false
	}
	makes := slices.ContainsFunc(n.Interfaces, func(i *grammar.Interface) bool {
		return i.Name == "Standard" && slices.ContainsFunc(i.Operations, func(o *grammar.Operation) bool {
			return (o.Name == "create" || o.Name == "configure") && implemented(o)
		})
	})
	if makes {
		s.Warnf(n.Pos, codePropMissing, "%s lacks property \"name\", which %s requires: nothing but its operations knows how the database is called", n.Of(), Quoted(n.Typ.Type.Type))
	}
	return makes
}
