package data

import (
	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/source"
)

// CheckValue is Check for what a function made. Of a value of run time it compares
// in 2.0 what is known of its type, down to the entries of lists and maps.
func (e *Evaluator) CheckValue(v Value, d *Definition, p Place) bool {
	if !e.Check(v.Node, d, p) {
		return false
	}
	if d == nil || v.Def == nil || v.Node.IsNull() || v.Node.Kind != source.Later || !p.Doc.V2() || !e.differs(v.Def, d, 0) {
		return true
	}
	e.errorf(v.Node.Pos(), code.ValueType, "%s must be %s, and the function makes %s", p.Of, e.described(d, 0), e.described(v.Def, 0))
	return false
}

// Moved returns the value the place of a node, such as the call that made it.
func (v Value) Moved(to *source.Node) Value {
	v.Node = v.Node.Moved(to)
	return v
}

// Differs reports whether no value of one definition can be one of another.
func (e *Evaluator) Differs(is, want *Definition) bool { return e.differs(is, want, 0) }

// Described names a type with its entries.
func (e *Evaluator) Described(d *Definition) string { return e.described(d, 0) }

// differs reports whether no value of one definition can be one of another: scalars
// whose types have no ancestor in common, and lists and maps of other entries.
func (e *Evaluator) differs(is, want *Definition, depth int) bool {
	t, u := e.Type(is), e.Type(want)
	if t == nil || u == nil || depth > maxGiven || !e.spend(1) {
		return false
	}
	if t.plain == tScalar && u.plain == tScalar {
		return len(t.chain) > 0 && len(u.chain) > 0 && t.chain[0] != u.chain[0]
	}
	if t.plain != u.plain || t.plain != tList && t.plain != tMap {
		return false
	}
	entry, wanted := e.entry(is), e.entry(want)
	if entry == nil || wanted == nil {
		return false
	}
	return !becomes(e.Plain(entry), e.Plain(wanted), true) || e.differs(entry, wanted, depth+1)
}

// described names a type with its entries.
func (e *Evaluator) described(d *Definition, depth int) string {
	of := d.TypeName()
	if entry := e.entry(d); entry != nil && depth < 3 && (of == tList || of == tMap) {
		of += " of " + e.described(entry, depth+1)
	}
	return of
}
