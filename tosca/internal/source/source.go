// Package source reads YAML into a tree whose nodes have positions. The tree is safe to
// walk: aliases and merges are resolved, keys are unique scalars, and size, depth and
// the expansion of aliases are bounded. The package knows nothing of TOSCA and starts no
// goroutine.
package source

import (
	"iter"
	"strings"

	"github.com/toskose/toskose/tosca/diag"
)

// Kind is the kind of a node, by the core schema of YAML 1.2.
type Kind uint8

// The kinds of nodes. Timestamps are strings here: TOSCA has a type for them.
const (
	Null Kind = iota
	String
	Bool
	Int
	Float
	List
	Map
	// Later is not a kind of YAML. It marks a value that is known only at run time; its
	// Text is the built-in type of the value, if known.
	Later
)

// String returns TOSCA's name of the kind.
func (k Kind) String() string {
	return [...]string{"null", "string", "boolean", "integer", "float", "list", "map", "value of run time"}[k]
}

// Node is a value in a file. It is immutable once made, and shared by all aliases of an
// anchor.
type Node struct {
	file   *string
	line   int32
	column int32
	Kind   Kind
	plain  bool   // of a scalar: without quotes
	moved  bool   // its position is not where it was written
	Text   string // of a scalar, as written but without quotes
	*parts        // never nil
}

// parts are the fields of lists and maps. They are apart because most nodes of a large
// document are scalars, which all share noParts.
type parts struct {
	Keys  []*Node // of a map, as written; unique scalars, unless Options allow more
	Items []*Node // of a list, or the values of a map
	index map[string]int
}

var noParts = &parts{}

// Pos returns the position at which the node begins.
func (n *Node) Pos() diag.Position {
	if n == nil {
		return diag.Position{}
	}
	return diag.Position{File: *n.file, Line: int(n.line), Column: int(n.column)}
}

// File returns the path of the node's file.
func (n *Node) File() string { return *n.file }

// IsScalar reports whether the node is neither a list nor a map.
func (n *Node) IsScalar() bool { return n.Kind != List && n.Kind != Map }

// IsNull reports whether the node is nil or null.
func (n *Node) IsNull() bool { return n == nil || n.Kind == Null }

// Word returns the boolean that the node is in YAML 1.1, which also has yes, no, on and
// off without quotes. ok is false if it is none.
func (n *Node) Word() (value, ok bool) {
	if n == nil || n.Kind != Bool && (n.Kind != String || !n.plain) {
		return false, false
	}
	switch n.Text {
	case "true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON":
		return true, true
	case "false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF":
		return false, true
	}
	return false, false
}

// Get returns the value of a map's key, or nil.
func (n *Node) Get(key string) *Node {
	if n == nil || n.Kind != Map {
		return nil
	}
	if i := n.find(key); i >= 0 {
		return n.Items[i]
	}
	return nil
}

// find returns the index of a key, or -1.
func (n *Node) find(key string) int {
	if n.index != nil {
		if i, ok := n.index[key]; ok {
			return i
		}
		return -1
	}
	for i, k := range n.Keys {
		if k.Text == key {
			return i
		}
	}
	return -1
}

// put adds an entry with a new key.
func (n *Node) put(key, value *Node) {
	n.Keys, n.Items = append(n.Keys, key), append(n.Items, value)
	if n.index == nil {
		n.makeIndex()
		return
	}
	n.index[key.Text] = len(n.Keys) - 1
}

// indexed is the number of keys above which a map has an index.
const indexed = 16

func (n *Node) makeIndex() {
	if len(n.Keys) <= indexed {
		return
	}
	n.index = make(map[string]int, cap(n.Keys))
	for i, k := range n.Keys {
		n.index[k.Text] = i
	}
}

// inLine returns a list or map in one line, cut off at about limit bytes.
func (n *Node) inLine(limit int) string {
	if n.IsScalar() {
		return n.Text
	}
	var b strings.Builder
	for i, item := range n.Items {
		if b.Len() > limit {
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		if n.Kind == Map {
			b.WriteString(n.Keys[i].Text + ": ")
		}
		b.WriteString(item.inLine(limit))
	}
	if n.Kind == Map {
		return "{" + b.String() + "}"
	}
	return "[" + b.String() + "]"
}

// Pairs walks a map in the order written. It walks nothing if the node is not a map.
func (n *Node) Pairs() iter.Seq2[*Node, *Node] {
	return func(yield func(*Node, *Node) bool) {
		if n == nil || n.Kind != Map {
			return
		}
		for i, k := range n.Keys {
			if !yield(k, n.Items[i]) {
				return
			}
		}
	}
}

// Scalar returns a new scalar with the position of another node.
func Scalar(kind Kind, text string, at *Node) *Node {
	return &Node{file: at.file, line: at.line, column: at.column, Kind: kind, Text: text, parts: noParts}
}

// At returns a new list or map with the position of another node.
func At(kind Kind, keys, items []*Node, at *Node) *Node {
	n := &Node{file: at.file, line: at.line, column: at.column, Kind: kind, parts: &parts{Keys: keys, Items: items}}
	n.makeIndex()
	return n
}

// IsMoved reports whether the position of the node is the one of the function call that
// returned it, not the one at which it was written.
func (n *Node) IsMoved() bool { return n.moved }

// WrittenNull reports whether the node is a null in a document, not the result of a
// function.
func (n *Node) WrittenNull() bool { return n != nil && n.Kind == Null && n.plain }

// Moved returns a copy of a value with the position of another node, such as the call
// that returned it. The positions of the values in it do not change. A value from
// outside of any file keeps its position.
func (n *Node) Moved(to *Node) *Node {
	if n == nil || to == nil || n == to || n.line == 0 {
		return n
	}
	moved := *n
	moved.file, moved.line, moved.column, moved.moved = to.file, to.line, to.column, true
	return &moved
}

// Outside returns a node for a value from outside of any file, such as an input of the
// command line; file names its origin.
func Outside(file string) *Node { return &Node{file: &file, parts: noParts} }
