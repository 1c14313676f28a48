package data

import (
	"math/big"
	"strconv"
	"strings"

	"github.com/toskose/toskose/tosca/internal/source"
)

func (c *call) integer(text string) Value {
	v := Known(source.Scalar(source.Int, text, c.fn))
	v.Def = Of(tInteger, c.p.Doc)
	return v
}

// isScalar reports whether a definition is of values with units.
func (e *Evaluator) isScalar(d *Definition) bool {
	plain := e.Plain(d)
	return plain == tScalar || isUnit(plain)
}

// reckon makes a number of numbers. What texts with units come to is left to an
// orchestrator.
func reckon(c *call) Value {
	numbers, whole := make([]*big.Rat, len(c.vals)), true
	for i, v := range c.vals {
		n, ok := rational(Text(v.Node))
		switch {
		case v.Node.Kind == source.String && (c.e.isScalar(v.Def) || scalarValue.MatchString(v.Node.Text)):
			return c.e.runTime(c.fn, Of(tScalar, c.p.Doc))
		case v.Node.Kind == source.String || !ok:
			return c.wrong("takes %s, and %s is none that can be reckoned with", c.f.takes, Show(v.Node))
		}
		numbers[i], whole = n, whole && v.Node.Kind == source.Int
	}
	made, last := new(big.Rat).Set(numbers[0]), numbers[len(numbers)-1]
	switch c.f.name {
	case "difference":
		made.Sub(made, last)
	case "quotient", "remainder":
		if last.Sign() == 0 {
			return c.wrong("divides %s by zero", Show(c.vals[0].Node))
		}
		made.Quo(made, last)
		if whole = c.f.name == "remainder"; whole {
			times := new(big.Int).Quo(made.Num(), made.Denom())
			made.Sub(numbers[0], new(big.Rat).Mul(new(big.Rat).SetInt(times), last))
		}
	case "floor", "ceil", "round": // round takes a half down (TOSCA 2.0, 10.2.5.6)
		made, whole = rounded(made, c.f.name), true
	default:
		for _, n := range numbers[1:] {
			if c.f.name == "sum" {
				made.Add(made, n)
			} else if made.Mul(made, n); made.Denom().BitLen() > 8*maxDigits {
				break
			}
		}
	}
	return c.number(made, whole)
}

func rounded(r *big.Rat, how string) *big.Rat {
	half, down := big.NewRat(1, 2), how == "floor"
	if how == "round" {
		r = new(big.Rat).Sub(r, half)
	}
	if !down {
		r = new(big.Rat).Neg(r)
	}
	whole, _ := new(big.Int).DivMod(r.Num(), r.Denom(), new(big.Int))
	if !down {
		whole.Neg(whole)
	}
	return new(big.Rat).SetInt(whole)
}

// number makes the value of a result, unless nothing can hold it.
func (c *call) number(r *big.Rat, whole bool) Value {
	switch {
	case r.Num().BitLen() > 8*maxDigits || r.Denom().BitLen() > 8*maxDigits:
		return c.wrong("makes a number that is too large or too small")
	case whole && r.IsInt() && !r.Num().IsInt64():
		return c.wrong("makes %s, which is not a 64-bit integer", r.Num().String())
	case whole && r.IsInt():
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
