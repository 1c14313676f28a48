package data

import (
	"math/big"
	"strings"

	"github.com/toskose/toskose/tosca/internal/source"
)

// Compare orders two values of a type; ok is false where they have no order.
// Nil stands for a type that is not known: then what YAML says of the values
// decides. Of the values of one type the order is total.
func (t *Type) Compare(a, b *source.Node) (order int, ok bool) {
	plain := ""
	if t != nil {
		plain = t.plain
	}
	switch {
	case plain == tScalar || isUnit(plain):
		return t.compareScalars(a, b)
	case plain == tVersion:
		return compareVersions(a.Text, b.Text)
	case plain == tTimestamp:
		x, okX := instant(a.Text, false)
		y, okY := instant(b.Text, false)
		return x.Compare(y), okX && okY
	}
	if order, ok := compareNumbers(a, b); ok {
		return order, true
	}
	if a.Kind == source.String && b.Kind == source.String {
		return strings.Compare(a.Text, b.Text), true
	}
	return 0, false
}

// compareScalars compares by worth. A plain number is one of the canonical
// unit's (as in TOSCA 2.0, 9.1.2.2.2).
func (t *Type) compareScalars(a, b *source.Node) (order int, ok bool) {
	x, okX := t.worth(a)
	y, okY := t.worth(b)
	if !okX || !okY {
		return 0, false
	}
	return x.Cmp(y), true
}

func (t *Type) worth(n *source.Node) (*big.Rat, bool) {
	if n.Kind != source.Int && n.Kind != source.Float {
		_, worth, ok := t.amount(n)
		return worth, ok
	}
	worth, ok := rational(n.Text)
	if ok && t.scalar != nil && t.scalar.units[t.scalar.canonical] != nil {
		worth.Mul(worth, t.scalar.units[t.scalar.canonical])
	}
	return worth, ok
}

// Equal reports whether two values of a type are equal: those that have an order
// by it, whatever they look like; lists and maps by what is in them.
func (e *Evaluator) Equal(a, b *source.Node, d *Definition) bool {
	return e.equal(a, b, d, 0)
}

func (e *Evaluator) equal(a, b *source.Node, d *Definition, depth int) bool {
	if a.IsNull() || b.IsNull() {
		return a.IsNull() && b.IsNull()
	}
	if !e.spend(1) || depth > 2*maxGiven+2 {
		return false
	}
	if e.Plain(d) == tBoolean {
		x, okX := a.Word()
		y, okY := b.Word()
		return okX && okY && x == y
	}
	if order, ok := e.Type(d).Compare(a, b); ok {
		return order == 0
	}
	if a.Kind != b.Kind || len(a.Items) != len(b.Items) {
		return false
	}
	switch a.Kind {
	case source.List:
		for i, item := range a.Items {
			part, _ := e.Within(d, "0")
			if !e.equal(item, b.Items[i], part, depth+1) {
				return false
			}
		}
		return true
	case source.Map:
		for k, v := range a.Pairs() {
			part, _ := e.Within(d, k.Text)
			other := b.Get(k.Text)
			if other == nil || !e.equal(v, other, part, depth+1) {
				return false
			}
		}
		return true
	case source.Bool:
		return strings.EqualFold(a.Text, b.Text)
	default:
		return a.Text == b.Text
	}
}
