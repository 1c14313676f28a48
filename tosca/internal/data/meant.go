package data

import (
	"slices"
	"strconv"

	"github.com/toskose/toskose/tosca/internal/source"
)

// Meant returns a value that fits a definition as the definition means it, within
// lists, maps and complex types, too: yes is true where a boolean is meant, and a
// text everywhere else; 1.10 is a text where a version is meant, which is another
// one than 1.1, and a number everywhere else.
func (e *Evaluator) Meant(n *source.Node, d *Definition) *source.Node {
	if n.IsNull() || d == nil {
		return n
	}
	t := e.Type(d)
	switch {
	case t == nil:
		return n
	case n.Kind == source.String && t.plain == tBoolean:
		if value, ok := n.Word(); ok {
			return source.Scalar(source.Bool, strconv.FormatBool(value), n)
		}
	case (n.Kind == source.Int || n.Kind == source.Float) && t.plain == tVersion:
		return source.Scalar(source.String, n.Text, n)
	case n.Kind == source.List:
		entry := e.Entry(d)
		return withItems(n, func(int) *Definition { return entry }, e.Meant)
	case n.Kind == source.Map && len(t.fields) > 0:
		return withItems(n, func(i int) *Definition { return t.fields[n.Keys[i].Text] }, e.Meant)
	case n.Kind == source.Map:
		entry := e.Entry(d)
		return withItems(n, func(int) *Definition { return entry }, e.Meant)
	}
	return n
}

// withItems returns a list or map with what is made of its values; it is the same
// one where nothing is made of them.
func withItems(n *source.Node, def func(i int) *Definition, made func(*source.Node, *Definition) *source.Node) *source.Node {
	var items []*source.Node
	for i, item := range n.Items {
		now := made(item, def(i))
		if now == item {
			continue
		}
		if items == nil {
			items = slices.Clone(n.Items)
		}
		items[i] = now
	}
	if items == nil {
		return n
	}
	return source.At(n.Kind, n.Keys, items, n)
}
