package data_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/source"
)

// many makes a list of different integers.
func many(t testing.TB, count int) *source.Node {
	t.Helper()
	at := node(t, `x`)
	items := make([]*source.Node, count)
	for i := range items {
		items[i] = source.Scalar(source.Int, strconv.Itoa(i), at)
	}
	return source.At(source.List, nil, items, at)
}

func call(t testing.TB, name string, args ...*source.Node) *source.Node {
	t.Helper()
	at := node(t, `x`)
	return source.At(source.Map, []*source.Node{source.Scalar(source.String, name, at)}, []*source.Node{source.At(source.List, nil, args, at)}, at)
}

// Each of these would take the product of its sizes: the budget is spent before
// that is done.
func TestWhatCostsAProductEndsWithItsBudget(t *testing.T) {
	t.Parallel()
	const size = 100_000
	list, same := many(t, size), many(t, size)
	for i := range same.Items {
		same.Items[i] = same.Items[0]
	}
	long := source.Scalar(source.String, strings.Repeat("a", 32<<10), node(t, `x`))
	for name, n := range map[string]*source.Node{
		"union":         call(t, "$union", list, list),
		"intersection":  call(t, "$intersection", list, list),
		"contains":      call(t, "$contains", same, source.At(source.List, nil, append(slices.Clone(same.Items[:size/2]), node(t, `1`)), same)),
		"has_all":       call(t, "$has_all_entries", list, list),
		"long pattern":  call(t, "$matches", long, source.Scalar(source.String, strings.Repeat("(a|b)*", 2000)+"c", node(t, `x`))),
		"nested clause": nestedClause(t, 40),
	} {
		e, left := limited()
		e.Eval(n, data.Place{Of: "it", Doc: second})
		if *left > 0 {
			t.Errorf("%s: %d of the budget is left", name, *left)
		}
	}
}

// nestedClause is a clause that names the one below it twice, and so on: what an
// alias makes short to write.
func nestedClause(t testing.TB, depth int) *source.Node {
	t.Helper()
	n := call(t, "$equal", node(t, `1`), node(t, `1`))
	for range depth {
		n = call(t, "$and", n, n)
	}
	return n
}

func TestLongNamesOfManyEntriesEndWithTheirBudget(t *testing.T) {
	t.Parallel()
	d := &data.Definition{Schema: schema("list", "integer"), Doc: first}
	e, left := limited()
	if e.Check(many(t, 100_000), d, data.Place{Of: strings.Repeat("long", 1<<16), Doc: first}) || *left > 0 {
		t.Errorf("checked, and %d of the budget is left", *left)
	}
}

func TestFunctionsWithinFunctionsHaveADepth(t *testing.T) {
	t.Parallel()
	n := node(t, `a`)
	for range 3000 {
		n = call(t, "$concat", n)
	}
	e := evaluator()
	if v := e.Eval(n, data.Place{Of: "it", Doc: second}); v.OK || said(e) != "TOSCA-FUN-001 it: functions are nested more than 2000 deep" {
		t.Errorf("%v: %s", v.OK, said(e))
	}
}

func TestWhatFunctionsMakeHasASize(t *testing.T) {
	t.Parallel()
	text, list := source.Scalar(source.String, strings.Repeat("a", 100<<10), node(t, `x`)), many(t, 150_000)
	for want, n := range map[string]*source.Node{
		"TOSCA-VAL-004 it: $concat makes a string of more than 131072 bytes":       call(t, "$concat", text, text),
		"TOSCA-VAL-004 it: $join makes a string of more than 131072 bytes":         call(t, "$join", source.At(source.List, nil, []*source.Node{text, text}, text)),
		"TOSCA-VAL-004 it: $union makes a list of more than 262144 values":         call(t, "$union", list, list),
		"TOSCA-FUN-001 it: $product makes a number that is too large or too small": call(t, "$product", product(t, 20)...),
	} {
		e := evaluator()
		if v := e.Eval(n, data.Place{Of: "it", Doc: second}); v.OK || said(e) != want {
			t.Errorf("%v: %s, not\n%s", v.OK, said(e), want)
		}
	}
}

func product(t testing.TB, count int) []*source.Node {
	t.Helper()
	factors := make([]*source.Node, count)
	for i := range factors {
		factors[i] = node(t, `1e300`)
	}
	return factors
}

func TestALargeValueIsNotWrittenOutInAMessage(t *testing.T) {
	t.Parallel()
	d := constrained(t, "list", "max_length", "3")
	d.Schema.Constraints = append(d.Schema.Constraints, &grammar.Constraint{Operator: "min_length", Operand: node(t, `1`)})
	e := evaluator()
	e.Check(many(t, 1000), d, data.Place{Of: "it"})
	if got, want := said(e), "TOSCA-VAL-002 it is a list of 1000 values, which breaks the constraint max_length: 3"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
