package data

import (
	"slices"
	"strconv"
	"strings"

	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/source"
)

func (c *call) truth(b bool) Value {
	v := Known(source.Scalar(source.Bool, strconv.FormatBool(b), c.fn))
	v.Def = Of(tBoolean, c.p.Doc)
	return v
}

func isTrue(v Value) bool {
	return v.Node != nil && v.Node.Kind == source.Bool && strings.EqualFold(v.Node.Text, "true")
}

func isFalse(v Value) bool {
	return v.Node != nil && v.Node.Kind == source.Bool && strings.EqualFold(v.Node.Text, "false")
}

func isList(v Value) bool { return v.Node != nil && v.Node.Kind == source.List }

func and(c *call) Value { return c.truth(!slices.ContainsFunc(c.vals, isFalse)) }

func or(c *call) Value { return c.truth(slices.ContainsFunc(c.vals, isTrue)) }

func not(c *call) Value { return c.truth(!isTrue(c.vals[0])) }

func xor(c *call) Value { return c.truth(isTrue(c.vals[0]) != isTrue(c.vals[1])) }

// anyFalse decides a conjunction before all arguments are known.
func anyFalse(c *call) (v Value, known bool) {
	return c.truth(false), slices.ContainsFunc(c.vals, isFalse)
}

func anyTrue(c *call) (v Value, known bool) {
	return c.truth(true), slices.ContainsFunc(c.vals, isTrue)
}

// comparable reports whether two values can be compared, and adds a diagnostic if not:
// their types differ, or a literal does not fit the other's type.
func (c *call) comparable(a, b Value) bool {
	if x, y := c.e.plainOf(a), c.e.plainOf(b); !comparableTypes(x, y) && !comparableTypes(y, x) {
		c.wrong("takes two values of one type: %s is %s, and %s is %s", Show(a.Node), article(x), Show(b.Node), article(y))
		return false
	}
	for _, pair := range [][2]Value{{a, b}, {b, a}} {
		literal, typed := pair[0].Node, c.e.Type(pair[1].Def)
		if typed == nil || pair[0].Def != nil || literal.IsNull() || hasLater(literal) || literal.Kind != source.String || !ordersOf(typed.plain) {
			continue
		}
		if why := c.e.fits(literal, typed); why != "" {
			c.wrong("compares %s with a value that is %s", Show(literal), why)
			return false
		}
	}
	return true
}

// comparableTypes reports whether values of two types can be compared. A plain number
// counts as a scalar in its canonical unit.
func comparableTypes(is, want string) bool {
	number := is == tInteger || is == tFloat
	return assignable(is, want, true) || number && (want == tScalar || want == tFloat || isUnit(want))
}

func comparable(c *call) (v Value, known bool) { return Value{}, !c.comparable(c.vals[0], c.vals[1]) }

// comparableOne rejects values that the first argument cannot equal.
func comparableOne(c *call) (v Value, known bool) {
	return Value{}, isList(c.vals[1]) && !c.comparableAll(c.vals[1].Node.Items)
}

// comparableWithin rejects bounds that are not two, or that cannot be compared with the
// first argument.
func comparableWithin(c *call) (v Value, known bool) {
	if !isList(c.vals[1]) {
		return Value{}, false
	}
	bounds := c.vals[1].Node.Items
	if len(bounds) != 2 {
		return c.misuse(), true
	}
	return Value{}, !c.comparableAll(slices.DeleteFunc(slices.Clone(bounds), func(n *source.Node) bool { return n.Text == unbounded }))
}

func (c *call) comparableAll(items []*source.Node) bool {
	for _, item := range items {
		if !c.comparable(c.vals[0], Value{Node: item}) {
			return false
		}
	}
	return true
}

func equals(c *call) Value {
	if !c.comparable(c.vals[0], c.vals[1]) {
		return Value{}
	}
	return c.truth(c.e.Equal(c.vals[0].Node, c.vals[1].Node, c.def()))
}

func order(c *call) Value {
	if !c.comparable(c.vals[0], c.vals[1]) {
		return Value{}
	}
	order, ok := c.e.Type(c.def()).Compare(c.vals[0].Node, c.vals[1].Node)
	if !ok {
		return c.wrong("cannot compare %s with %s", Show(c.vals[0].Node), Show(c.vals[1].Node))
	}
	return c.truth(compares(order, c.f.name))
}

func within(c *call) Value {
	t := c.e.Type(c.vals[0].Def)
	kept, sensible := inRange(c.vals[0].Node, c.vals[1].Node, t)
	if !sensible {
		return c.wrong("cannot tell whether %s is between %s", Show(c.vals[0].Node), Show(c.vals[1].Node))
	}
	return c.truth(kept)
}

func isValid(c *call) Value {
	if !c.comparableAll(c.vals[1].Node.Items) {
		return Value{}
	}
	return c.truth(slices.ContainsFunc(c.vals[1].Node.Items, func(item *source.Node) bool {
		return c.e.Equal(c.vals[0].Node, item, c.vals[0].Def)
	}))
}

// validate reports whether a value passes a validation clause. A clause with a run-time
// result passes. Clauses that are invalid for any value are reported at the definition;
// errors that only occur for this value are reported once.
func (e *Evaluator) validate(n *source.Node, d *Definition, clause *source.Node, doc *grammar.Document, p Place) bool {
	if clause == nil || hasLater(n) {
		return true
	}
	at := p
	at.Doc, at.Value = doc, &Value{Node: n, Def: d, OK: true}
	if at.Self == nil {
		at.Self = Anything
	}
	failed := e.failed
	e.quiet++
	v := e.Eval(clause, at)
	e.quiet--
	e.failed = failed
	if !v.OK && !e.refused[clause] && e.quiet == 0 {
		e.refuse(clause)
		at.Of += ": validation"
		return e.Eval(clause, at).OK
	}
	if v.OK && isFalse(v) {
		e.errorf(n.Pos(), code.ValueConstraint, "%s is %s, which breaks the validation %s", p.Of, Show(n), Show(clause))
		return false
	}
	return true
}

// declareValidation checks a clause for any value of the definition.
func (e *Evaluator) declareValidation(clause *source.Node, d *Definition, p Place) {
	if clause == nil {
		return
	}
	p.Of += ": validation"
	p.Value = &Value{Node: source.Scalar(source.Later, e.Plain(d), clause), Def: d, OK: true}
	if v := e.Condition(clause, p); !v.OK {
		e.refuse(clause)
	}
}

// refuse marks a clause as reported.
func (e *Evaluator) refuse(clause *source.Node) {
	if e.refused == nil {
		e.refused = map[*source.Node]bool{}
	}
	e.refused[clause] = true
}

// Condition evaluates a boolean expression, such as a validation clause, and reports any
// other value.
func (e *Evaluator) Condition(n *source.Node, p Place) Value {
	v := e.Eval(n, p)
	if !v.OK {
		return v
	}
	if plain := e.plainOf(v); v.Node.IsNull() || plain != "" && plain != tBoolean {
		e.errorf(n.Pos(), code.ConstraintWrong, "%s must be a boolean expression, not %s", p.Of, Show(n))
		return Value{}
	}
	return v
}
