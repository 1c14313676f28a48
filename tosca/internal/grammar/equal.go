package grammar

import "github.com/toskose/toskose/tosca/internal/source"

// maxCompared bounds how many values of two definitions are compared: aliases
// make a document of few lines a tree of many values.
const maxCompared = 10000

// Same reports whether two types are one: also where two files of 1.x define it in
// the same words, for what is imported with one namespace, name and version has
// to be equivalent (TOSCA 1.0, 3.1.3.1). That their parents are the same is not
// looked at, for these have to be so, too.
func (t *Type) Same(other *Type) bool {
	if t == other {
		return true
	}
	if t.Kind != other.Kind || t.Name != other.Name || t.Doc.Namespace.Name != other.Doc.Namespace.Name || t.Doc.Version == version20 || other.Doc.Version == version20 {
		return false
	}
	left := maxCompared
	return t.written != nil && other.written != nil && same(t.written, other.written, &left)
}

// same reports whether two values are written alike; the order of keys says
// nothing.
func same(a, b *source.Node, left *int) bool {
	*left--
	switch {
	case *left < 0:
		return false
	case a.IsNull() || b.IsNull():
		return a.IsNull() && b.IsNull()
	case a.Kind != b.Kind || a.Text != b.Text || len(a.Items) != len(b.Items):
		return false
	}
	for i, item := range a.Items {
		other := b.Items[i]
		if a.Kind == source.Map {
			other = b.Get(a.Keys[i].Text)
		}
		if (other == nil) || !same(item, other, left) {
			return false
		}
	}
	return true
}
