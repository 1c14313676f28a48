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

// The types of TosKer that the model is made of.
const (
	typeContainer = "tosker.nodes.Container"
	typeSoftware  = "tosker.nodes.Software"
	typeVolume    = "tosker.nodes.Volume"
)

// kind is what a node template is in TosKer's terms.
type kind uint8

const (
	foreign kind = iota // none of TosKer's, and said so
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

// noun is what a node of a type is called in messages, if it is one of TosKer's.
func noun(t *inherit.NodeType) string {
	if k := kindOf(t); k != foreign {
		return k.String()
	}
	return ""
}

// attribute is what an attribute of a node is before it runs: a container is reached
// by its name.
func attribute(n *resolve.Node, name string) (value string, ok bool) {
	return n.Name, name == "private_address" && kindOf(n.Typ) == container
}

// node is a node template with what it is to TosKer.
type node struct {
	*resolve.Node
	kind   kind
	edges  []*edge
	host   *node // what it is hosted on; nil: nothing, or said so
	base   *node // the container at the end of its hosts, or itself; nil: said so
	walked bool
	left   bool // not in the model: foreign, unknown, or not hosted on a container yet
}

// edge is a requirement that leads to another node.
type edge struct {
	*resolve.Edge
	class    string // protocol.Host, …
	target   *node
	location *source.Node // of storage
}

// classify finds what each node is to TosKer.
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

// refuse says that a node of a foreign type cannot be packaged. Someone who
// only looks at a document hears of it where the document has nodes of TosKer's
// types beside it: otherwise it is not meant to be packaged at all.
func (c *compiler) refuse(n *node, own bool) {
	if c.draft && !own {
		return
	}
	c.Incomplete(n.Type.Pos, code.TypeForeign, "node template %q is of type %q, which is derived from none of %s, %s and %s, so it cannot be packaged",
		n.Name, n.Type.Name, typeContainer, typeSoftware, typeVolume)
}

// refuseUnknown says that a node cannot be packaged whose type may be in a file that
// is not at hand, where all else that was said of it is a warning.
func (c *compiler) refuseUnknown(n *node) {
	if !c.draft && n.Type.Name != "" && n.Doc.Scope().Open() {
		c.Errorf(n.Type.Pos, code.TypeForeign, "node template %q is of type %q, of which nothing is known, so it cannot be packaged", n.Name, n.Type.Name)
	}
}

func quote(s string) string { return diag.Quote(s) }

// isName reports whether a name is what it must be to serve as a host name, a
// folder, and a part of a program's name.
func isName(s string) bool { return isWord(s, "_.-") }

// isWord reports whether a text is of letters, digits and further characters, and
// begins with a letter or a digit. Each node has many such names, for which a
// regular expression takes its time.
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

// checkNames: nodes, components and volumes share one namespace, in which case
// does not count, for that is how names resolve on a network.
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
