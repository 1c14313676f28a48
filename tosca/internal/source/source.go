// Package source reads YAML into a tree that knows where everything stands,
// and that is safe to walk: aliases and merges are resolved, keys are unique
// scalars, and size, depth and what aliases expand to are bounded. It knows
// nothing of TOSCA and starts no goroutine.
package source

import (
	"iter"
	"strings"

	"github.com/toskose/toskose/tosca/diag"
)

// Kind is what a node is, as YAML 1.2's core schema tells it.
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
	// Later is not a kind of YAML's: it stands for a value that only a running
	// application has. Its Text is the built-in type that it will be of, if known.
	Later
)

// String names the kind as TOSCA does.
func (k Kind) String() string {
	return [...]string{"null", "string", "boolean", "integer", "float", "list", "map", "value of run time"}[k]
}

// Node is a value in a file. It is only read once it is made; nodes that an
// alias stands for are shared.
type Node struct {
	file   *string
	line   int32
	column int32
	Kind   Kind
	plain  bool   // of a scalar: written without quotes
	moved  bool   // it stands elsewhere than it was written
	Text   string // of a scalar, as written, without quotes
	*parts        // never nil
}

// parts are what lists and maps have, and all scalars have none of together: of
// the nodes of a large document, most are scalars.
type parts struct {
	Keys  []*Node // of a map, in the order written; scalars with unique texts, but see Options
	Items []*Node // of a list, or the values of a map
	index map[string]int
}

var noParts = &parts{}

// Pos is where the node begins.
func (n *Node) Pos() diag.Position {
	if n == nil {
		return diag.Position{}
	}
	return diag.Position{File: *n.file, Line: int(n.line), Column: int(n.column)}
}

// File is the path of the node's file.
func (n *Node) File() string { return *n.file }

// IsScalar reports whether the node is neither a list nor a map.
func (n *Node) IsScalar() bool { return n.Kind != List && n.Kind != Map }

// IsNull reports whether there is no value: no node, or null.
func (n *Node) IsNull() bool { return n == nil || n.Kind == Null }

// Word reports whether the node is true or false in YAML 1.1, where yes, no, on
// and off without quotes say so, too; ok is false where it is neither.
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

// put adds an entry with a key that is not there yet.
func (n *Node) put(key, value *Node) {
	n.Keys, n.Items = append(n.Keys, key), append(n.Items, value)
	if n.index == nil {
		n.makeIndex()
		return
	}
	n.index[key.Text] = len(n.Keys) - 1
}

// indexed is the size from which on a map is looked up by an index.
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

// inLine writes a list or map in one line, and about as much of it as the limit
// allows.
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

// Pairs walks a map in the order written; of anything else it walks nothing.
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

// Scalar makes a node that stands in no document, at the place of another.
func Scalar(kind Kind, text string, at *Node) *Node {
	return &Node{file: at.file, line: at.line, column: at.column, Kind: kind, Text: text, parts: noParts}
}

// At makes a list or map that stands in no document, at the place of another.
func At(kind Kind, keys, items []*Node, at *Node) *Node {
	n := &Node{file: at.file, line: at.line, column: at.column, Kind: kind, parts: &parts{Keys: keys, Items: items}}
	n.makeIndex()
	return n
}

// IsMoved reports whether a node stands elsewhere than it was written: in the place of
// the call that made it.
func (n *Node) IsMoved() bool { return n.moved }

// WrittenNull tells null that is written from what a function makes of nothing.
func (n *Node) WrittenNull() bool { return n != nil && n.Kind == Null && n.plain }

// Moved returns a value the place of another one, such as the call that it is the
// result of; what is in it stays where it is. What stands in no file does, too.
func (n *Node) Moved(to *Node) *Node {
	if n == nil || to == nil || n == to || n.line == 0 {
		return n
	}
	moved := *n
	moved.file, moved.line, moved.column, moved.moved = to.file, to.line, to.column, true
	return &moved
}

// Outside makes a node for what came from outside of any file, such as an
// input given on the command line; file says from where.
func Outside(file string) *Node { return &Node{file: &file, parts: noParts} }
