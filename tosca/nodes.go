package tosca

import (
	"slices"
	"strings"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/inherit"
	"github.com/toskose/toskose/tosca/internal/resolve"
	"github.com/toskose/toskose/tosca/internal/source"
)

// TosKer's types in the model.
const (
	typeContainer = "tosker.nodes.Container"
	typeSoftware  = "tosker.nodes.Software"
	typeVolume    = "tosker.nodes.Volume"
)

// kind is the kind of a node template in TosKer.
type kind uint8

const (
	foreign kind = iota // not of TosKer's types (already reported)
	container
	software
	volume
)

func (k kind) String() string {
	return [...]string{"node template", "container", "component", "volume"}[k]
}

func kindOf(t *inherit.NodeType) kind {
	switch {
	case t.Is(typeContainer):
		return container
	case t.Is(typeSoftware):
		return software
	case t.Is(typeVolume):
		return volume
	default:
		return foreign
	}
}

// noun returns the noun for nodes of a type in messages, or "" for types other than
// TosKer's.
func noun(t *inherit.NodeType) string {
	if k := kindOf(t); k != foreign {
		return k.String()
	}
	return ""
}

// attribute returns an attribute of a node before it runs. The address of a container is
// its name.
func attribute(n *resolve.Node, name string) (value string, ok bool) {
	return n.Name, name == "private_address" && kindOf(n.Typ) == container
}

// node is a node template with its meaning for TosKer.
type node struct {
	*resolve.Node
	kind   kind
	edges  []*edge
	host   *node // nil if none or invalid (already reported)
	base   *node // its container; nil if invalid (already reported)
	walked bool
	left   bool // not in the model: foreign, unknown, or without a container
}

// edge is a requirement with a target.
type edge struct {
	*resolve.Edge
	class    string // protocol.Host, …
	target   *node
	location *source.Node // of storage
}

// classify sets the kind of each node.
func (c *compiler) classify() {
	made := make([]node, len(c.Nodes))
	c.nodes = make([]*node, 0, len(made))
	c.byNode = make(map[*resolve.Node]*node, len(made))
	for i, of := range c.Nodes {
		n := &made[i]
		n.Node = of
		c.nodes, c.byNode[of] = append(c.nodes, n), n
		if n.Typ != nil {
			n.kind = kindOf(n.Typ)
		}
	}
	own := slices.ContainsFunc(c.nodes, func(n *node) bool { return n.kind != foreign })
	if own {
		c.demote()
	}
	sound := c.Errors() == 0 // else an import may be wrong, and nothing is packaged
	for _, n := range c.nodes {
		switch {
		case n.Typ == nil && sound:
			c.refuseUnknown(n)
		case n.Typ != nil && n.kind == foreign:
			c.refuse(n, own)
		}
	}
}

// refuse reports that a node of a foreign type cannot be packaged. In a draft it does so
// only if the document also has TosKer's nodes, as others are not meant to be packaged.
func (c *compiler) refuse(n *node, own bool) {
	if c.draft && !own {
		return
	}
	c.Incomplete(n.Type.Pos, code.TypeForeign, "node template %q is of type %q, which is derived from none of %s, %s and %s, so it cannot be packaged",
		n.Name, n.Type.Name, typeContainer, typeSoftware, typeVolume)
}

// refuseUnknown reports that a node cannot be packaged because a missing file may define
// its type.
func (c *compiler) refuseUnknown(n *node) {
	if !c.draft && n.Type.Name != "" && n.Doc.Scope().Open() {
		c.Errorf(n.Type.Pos, code.TypeForeign, "node template %q is of type %q, which is unknown, so it cannot be packaged", n.Name, n.Type.Name)
	}
}

func quote(s string) string { return diag.Quote(s) }

// isName reports whether a name is valid as a host name, a folder, and a part of a
// program's name.
func isName(s string) bool { return isWord(s, "_.-") }

// isWord reports whether a text consists of letters, digits and further characters, and
// begins with a letter or digit. A regular expression is too slow for the many names.
func isWord(s, further string) bool {
	if len(s) > maxName {
		return false
	}
	for i := range len(s) {
		c := s[i]
		letter := 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || '0' <= c && c <= '9'
		if !letter && (i == 0 || strings.IndexByte(further, c) < 0) {
			return false
		}
	}
	return s != ""
}

const maxName = 63

const nameSentence = "a name here is of letters, digits, '_', '.' and '-', begins with a letter or a digit, and has at most 63 characters"

// checkNames reports names that differ by case only. Nodes, components and volumes share
// one namespace without case, as names on a network do.
func (c *compiler) checkNames() {
	folded := make(map[string]*node, len(c.nodes))
	for _, n := range c.nodes {
		if n.kind == foreign {
			continue
		}
		if !isName(n.Name) {
			c.Errorf(n.Pos, code.Name, "%s cannot have this name: %s", n.Of(), nameSentence)
		}
		lower := strings.ToLower(n.Name)
		if other := folded[lower]; other != nil {
			c.Errorf(n.Pos, code.NameTwice, "%s and %s differ by case only, which is one name on the network", n.Of(), other.Of())
		}
		folded[lower] = n
	}
}
