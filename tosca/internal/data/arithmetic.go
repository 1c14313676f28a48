package data

import (
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/source"
)

func (c *call) integer(text string) Value {
	v := Known(source.Scalar(source.Int, text, c.fn))
	v.Def = Of(tInteger, c.p.Doc)
	return v
}

// operands reads all arguments as numbers: of a scalar, what it is worth. The
// definition is that of the scalars, if there is one among them; where there are
// only texts, that of what the value is to be.
func (c *call) operands() (numbers []*big.Rat, whole bool, def *Definition, ok bool) {
	whole = true
	for _, v := range c.vals {
		if v.Node.Kind == source.String && c.e.isScalar(v.Def) {
			def = v.Def
		}
		whole = whole && v.Node.Kind == source.Int
	}
	if def == nil && c.e.isScalar(c.p.Meant) && slices.ContainsFunc(c.vals, isText) {
		def = c.p.Meant
	}
	if def == nil {
		def = c.writtenScalar()
	}
	for _, v := range c.vals {
		number, can := rational(Text(v.Node))
		if v.Node.Kind == source.String {
			number, can = nil, false
			if t := c.e.Type(def); t != nil {
				number, can = t.worth(v.Node)
			}
		}
		if !can {
			c.wrong("takes %s, and %s is none that can be reckoned with", c.f.takes, Show(v.Node))
			return nil, false, nil, false
		}
		numbers = append(numbers, number)
	}
	return numbers, whole, def, true
}

func isText(v Value) bool { return v.Node.Kind == source.String }

// isScalar tells whether a definition is of values with units.
func (e *Evaluator) isScalar(d *Definition) bool {
	plain := e.Plain(d)
	return plain == tScalar || isUnit(plain)
}

// unmeasured tells whether there are texts with units among the arguments, and
// nothing that says of which type: no number can be made of them then.
func (c *call) unmeasured() bool {
	typed := func(v Value) bool { return c.e.isScalar(v.Def) }
	text := func(v Value) bool { return isText(v) && scalarValue.MatchString(v.Node.Text) }
	return c.f.reckons && !c.e.isScalar(c.p.Meant) && !slices.ContainsFunc(c.vals, typed) && slices.ContainsFunc(c.vals, text) && c.writtenScalar() == nil
}

// writtenScalar is the type of scalars that are written among the arguments: the
// first by name that the document knows and that takes them all; nil where there
// are none.
func (c *call) writtenScalar() *Definition {
	var texts []*source.Node
	for _, v := range c.vals {
		if v.Node.Kind == source.String {
			texts = append(texts, v.Node)
		}
	}
	doc := c.p.Doc
	if len(texts) == 0 || doc == nil || doc.Scope() == nil {
		return nil
	}
	names := doc.Scope().Names(grammar.DataType)
	if !c.e.spend(len(names) * len(texts)) {
		return nil
	}
	for _, name := range names {
		t := c.e.named(name, doc)
		if t == nil || t.plain != tScalar || t.scalar == nil {
			continue
		}
		if !slices.ContainsFunc(texts, func(n *source.Node) bool {
			_, _, ok := t.amount(n)
			return !ok
		}) {
			return t.definition()
		}
	}
	return nil
}

// number makes the value of a result: a scalar in the canonical unit, an
// integer, or a float.
func (c *call) number(r *big.Rat, whole bool, def *Definition) Value {
	switch {
	case def != nil:
		v := Known(source.Scalar(source.String, c.e.Type(def).written(r), c.fn))
		v.Def = def
		return v
	case whole && r.IsInt():
		if !r.Num().IsInt64() {
			return c.wrong("makes %s, which is no integer of 64 bits", r.Num().String())
		}
		return c.integer(r.Num().String())
	}
	f, _ := r.Float64()
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(text, ".eI") {
		text += ".0"
	}
	v := Known(source.Scalar(source.Float, text, c.fn))
	v.Def = Of(tFloat, c.p.Doc)
	return v
}

// ofOneKind refuses numbers beside scalars, and scalars that have nothing in
// common.
func ofOneKind(c *call) (v Value, told bool) {
	var scalar *Definition
	number := false
	for _, v := range c.vals {
		switch plain := c.e.plainOf(v); {
		case plain == tInteger || plain == tFloat:
			number = true
		case !c.e.isScalar(v.Def):
		case scalar == nil:
			scalar = v.Def
		case c.e.differs(scalar, v.Def, 0):
			return c.wrong("takes %s, and there are %s and %s", c.f.takes, scalar.TypeName(), v.Def.TypeName()), true
		}
	}
	if number && scalar != nil {
		return c.wrong("takes %s, and not both", c.f.takes), true
	}
	return Value{}, false
}

// reckoned is the type of a number that is made of others: of scalars theirs, an
// integer of integers alone, and else a float (TOSCA 2.0, 10.2.5); nil where it
// is not known.
func (c *call) reckoned() *Definition {
	made := Of(tInteger, c.p.Doc)
	if c.f.name == "quotient" {
		made = Of(tFloat, c.p.Doc)
	}
	for _, v := range c.vals {
		switch plain := c.e.plainOf(v); {
		case c.e.isScalar(v.Def):
			return v.Def
		case plain == tFloat:
			made = Of(tFloat, c.p.Doc)
		case plain != tInteger:
			return nil
		}
	}
	return made
}

// sum is sum and difference.
func sum(c *call) Value {
	numbers, whole, def, ok := c.operands()
	if !ok {
		return Value{}
	}
	total := numbers[0]
	for i, n := range numbers[1:] {
		if def != nil && (c.vals[0].Node.Kind == source.String) != (c.vals[i+1].Node.Kind == source.String) {
			return c.wrong("takes %s, and not both", c.f.takes)
		}
		if c.f.name == "difference" {
			n = new(big.Rat).Neg(n)
		}
		total = new(big.Rat).Add(total, n)
	}
	return c.bounded(total, whole, def)
}

func product(c *call) Value {
	numbers, whole, def, ok := c.operands()
	if !ok {
		return Value{}
	}
	if def != nil && len(numbers) > 2 {
		return c.misuse()
	}
	made := numbers[0]
	for _, n := range numbers[1:] {
		if made = new(big.Rat).Mul(made, n); made.Num().BitLen() > 8*maxDigits || made.Denom().BitLen() > 8*maxDigits {
			return c.wrong("makes a number that is too large or too small")
		}
	}
	return c.bounded(made, whole, def)
}

// bounded refuses a number that nothing can hold.
func (c *call) bounded(r *big.Rat, whole bool, def *Definition) Value {
	if r.Num().BitLen() > 8*maxDigits {
		return c.wrong("makes a number that is too large or too small")
	}
	return c.number(r, whole, def)
}

// quotient is quotient and remainder.
func quotient(c *call) Value {
	numbers, whole, def, ok := c.operands()
	if !ok {
		return Value{}
	}
	if numbers[1].Sign() == 0 {
		return c.wrong("divides %s by zero", Show(c.vals[0].Node))
	}
	made := new(big.Rat).Quo(numbers[0], numbers[1])
	if c.f.name == "quotient" {
		return c.bounded(made, false, def)
	}
	times := new(big.Int).Quo(made.Num(), made.Denom())
	made.Sub(numbers[0], new(big.Rat).Mul(new(big.Rat).SetInt(times), numbers[1]))
	return c.bounded(made, whole, def)
}

// round is round, floor and ceil; round takes a half down (TOSCA 2.0,
// 10.2.5.6).
func round(c *call) Value {
	numbers, _, _, ok := c.operands()
	if !ok {
		return Value{}
	}
	r := numbers[0]
	floor := func(r *big.Rat) *big.Int {
		q, m := new(big.Int).DivMod(r.Num(), r.Denom(), new(big.Int))
		_ = m
		return q
	}
	made := floor(r)
	switch c.f.name {
	case "ceil":
		made = new(big.Int).Neg(floor(new(big.Rat).Neg(r)))
	case "round": // the ceiling of what is half a unit less
		made = new(big.Int).Neg(floor(new(big.Rat).Sub(big.NewRat(1, 2), r)))
	}
	return c.number(new(big.Rat).SetInt(made), true, nil)
}
