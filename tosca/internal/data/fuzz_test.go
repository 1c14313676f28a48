package data_test

import (
	"testing"

	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/source"
)

// budget is the work that a fuzzed value may make.
const budget = 1 << 20

// limited is an evaluator with a budget, and tells what is left of it.
func limited() (e *data.Evaluator, left *int) {
	e, left = evaluator(), new(int)
	*left = budget
	e.Spend = func(n int) bool {
		*left -= n
		return *left > 0
	}
	return e, left
}

// FuzzFunctions: whatever is written, a value or a diagnostic comes of it,
// within bounds.
func FuzzFunctions(f *testing.F) {
	for _, c := range calls1 {
		f.Add(c.yaml, false)
	}
	for _, c := range calls2 {
		f.Add(c.yaml, true)
	}
	for _, c := range []string{
		`[&a {concat: [x, x]}, &b {concat: [*a, *a]}, {concat: [*b, *b]}]`,
		`{$product: [1e400, 1e400, 1e400]}`, `{$quotient: [1, 1e-400]}`, `{$sum: [.inf, .nan]}`,
		`{$union: [[[[[[]]]]]]}`, `{$token: [a, b, 99999999999999999999]}`, `{$round: [1e300]}`, `{$remainder: [1, 0]}`,
	} {
		f.Add(c, true)
		f.Add(c, false)
	}
	f.Fuzz(func(t *testing.T, yaml string, isSecond bool) {
		n, bad := source.Parse("value", []byte(yaml))
		if len(bad) > 0 {
			return
		}
		doc := first
		if isSecond {
			doc = second
		}
		e, left := limited()
		w := newWorld(t, doc)
		e.World = w
		subject := typed(t, `5`, "integer", doc)
		v := e.Eval(n, data.Place{Of: "it", Doc: doc, Self: w.byName["api"], Value: &subject})
		if v.OK == e.List().HasErrors() && *left > 0 {
			t.Fatalf("%s: a value (%v) and\n%s", yaml, v.OK, said(e))
		}
		if v.OK && len(data.Text(v.Node)) > budget {
			t.Fatalf("%s: %d bytes were made", yaml, len(data.Text(v.Node)))
		}
	})
}

// FuzzValues: a value either fits and equals itself, or a diagnostic says why it
// does not.
func FuzzValues(f *testing.F) {
	for _, c := range checkEntryType {
		for _, yaml := range append(c.fits, c.fails...) {
			f.Add(c.typ, yaml, "equal", yaml)
		}
	}
	for typ, ranks := range ordered {
		for _, rank := range ranks {
			f.Add(typ, rank[0], "greater_than", ranks[0][0])
		}
	}
	f.Add("string", "a", "pattern", "(a*)*b")
	f.Add("scalar-unit.size", "1e999999999 B", "in_range", "[1e-999999999 B, 2 B]")
	f.Fuzz(func(t *testing.T, typ, yaml, operator, operand string) {
		n, bad := source.Parse("value", []byte(yaml))
		k, bad2 := source.Parse("operand", []byte(operand))
		if len(bad)+len(bad2) > 0 {
			return
		}
		for _, doc := range []*grammar.Document{first, second} {
			d := data.Of(typ, doc)
			d.Schema.Constraints = []*grammar.Constraint{{Operator: operator, Operand: k}}
			e, left := limited()
			ok := e.Check(n, d, data.Place{Of: "it", Doc: doc})
			if ok == e.List().HasErrors() && *left > 0 {
				t.Fatalf("%s as %s: %v, and\n%s", yaml, typ, ok, said(e))
			}
			e, _ = limited()
			e.Declare(d, data.Place{Of: "it"})
			if plain := data.Of(typ, doc); evaluator().Check(n, plain, data.Place{Of: "it", Doc: doc}) && !evaluator().Equal(n, n, plain) {
				t.Fatalf("%s as %s does not equal itself", yaml, typ)
			}
		}
	})
}
