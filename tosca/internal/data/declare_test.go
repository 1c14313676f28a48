package data_test

import (
	"testing"

	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
)

// schema makes a schema of types, one within the other: "list", "map",
// "string".
func schema(types ...string) *grammar.Schema {
	s := &grammar.Schema{Type: grammar.Ref{Name: types[0]}}
	if len(types) > 1 {
		s.Entry = schema(types[1:]...)
	}
	return s
}

func TestEntriesAreCheckedAtAnyDepth(t *testing.T) {
	t.Parallel()
	d := &data.Definition{Schema: schema("map", "list", "map", "integer"), Doc: first}
	d.Schema.Key = schema("string")
	d.Schema.Key.Constraints = []*grammar.Constraint{{Operator: "min_length", Operand: node(t, "2")}}
	e := evaluator()
	if !e.Declare(d, data.Place{Of: "it"}) {
		t.Fatal(said(e))
	}
	for yaml, want := range map[string]string{
		`{}`:                       ``,
		`{aa: []}`:                 ``,
		`{aa: [{b: 1}, {c: 2}]}`:   ``,
		`{aa: [{b: 1}, {c: "2"}]}`: `TOSCA-VAL-001 it[aa][1][c] must be an integer, not "2"`,
		`{aa: {b: 1}}`:             `TOSCA-VAL-001 it[aa] must be a list, not a map`,
		`{a: []}`:                  `TOSCA-VAL-002 it: key "a" is "a", which breaks the constraint min_length: 2`,
		`{aa: [~]}`:                ``,
	} {
		e := evaluator()
		e.Check(node(t, yaml), d, data.Place{Of: "it"})
		if got := said(e); got != want {
			t.Errorf("%s\n got %s\nwant %s", yaml, got, want)
		}
	}
}

func TestASchemaSaysWhatOnlyCollectionsHave(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		doc  *grammar.Document
		s    *grammar.Schema
		want string
	}{
		{first, schema("list"), ``},
		{second, schema("list"), `TOSCA-VAL-006 it is a list without an entry_schema, which must say what its entries are`},
		{second, schema("map", "list"), `TOSCA-VAL-006 it: entry_schema is a list without an entry_schema, which must say what its entries are`},
		{second, schema("map", "list", "string"), ``},
		{first, schema("string", "string"), `TOSCA-VAL-006 it is of type "string", which has no entries, so it cannot have an entry_schema`},
		{first, &grammar.Schema{Type: grammar.Ref{Name: "list"}, Key: schema("string")}, `TOSCA-VAL-006 it is of type "list", which has no keys, so it cannot have a key_schema`},
		{first, &grammar.Schema{Type: grammar.Ref{Name: "map"}, Key: schema("integer")}, ``},
		{second, &grammar.Schema{Type: grammar.Ref{Name: "map"}, Entry: schema("string"), Key: schema("integer")}, `TOSCA-VAL-006 it: key_schema must be a string or derived from it, not an integer`},
		{second, schema("scalar"), `TOSCA-VAL-001 it cannot be of type "scalar", which is abstract: derive a type with units from it`},
	} {
		e := evaluator()
		e.Declare(&data.Definition{Schema: c.s, Doc: c.doc}, data.Place{Of: "it"})
		if got := said(e); got != c.want {
			t.Errorf("%s %+v\n got %s\nwant %s", c.doc.Version, c.s, got, c.want)
		}
	}
}

func TestADefaultMustFitItsOwnDefinition(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ typ, yaml, want string }{
		{"integer", `1`, ``},
		{"integer", `a`, `TOSCA-VAL-001 it: the default must be an integer, not "a"`},
		{"integer", `11`, `TOSCA-VAL-002 it: the default is 11, which breaks the constraint less_than: 10`},
		{"integer", `~`, ``},
		{"integer", `{get_input: any}`, ``},
		{"integer", `{get_property: [SELF, any]}`, ``},
		{"integer", `{concat: [a]}`, `TOSCA-VAL-001 it: the default must be an integer, not "a"`},
		{"integer", `{get_inpt: any}`, `TOSCA-VAL-001 it: the default must be an integer, not a map (get_input?)`},
	} {
		d := constrained(t, c.typ, "less_than", "10")
		d.Default = node(t, c.yaml)
		e := evaluator()
		e.Declare(d, data.Place{Of: "it"})
		if got := said(e); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.yaml, got, c.want)
		}
	}
}

func TestAValueKeepsWhatTheParentsDefinitionDemandsToo(t *testing.T) {
	t.Parallel()
	d := data.Of("", first)
	d.Schema.Constraints = []*grammar.Constraint{{Operator: "less_than", Operand: node(t, "100")}}
	d.Refines = constrained(t, "integer", "greater_than", "10")
	d.Refines.Default = node(t, "50")
	if d.TypeName() != "integer" || d.Fallback() == nil {
		t.Errorf("the type is %q, and the default %v", d.TypeName(), d.Fallback())
	}
	for yaml, want := range map[string]bool{`50`: true, `5`: false, `500`: false, `a`: false} {
		if got := evaluator().Check(node(t, yaml), d, data.Place{Of: "it"}); got != want {
			t.Errorf("%s fits: %v", yaml, got)
		}
	}
}

func TestAValidationClauseIsCheckedForAnyValueAndEvaluatedForEach(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ typ, clause, wrong, value, broken string }{
		{"integer", `{$greater_or_equal: [$value, 0]}`, ``, `0`, `-1`},
		{"integer", `{$and: [{$greater_or_equal: [$value, 0]}, {$less_than: [{$value: []}, 10]}]}`, ``, `9`, `10`},
		{"integer", `{$in_range: [$value, [0, 0xFFFF]]}`, ``, `65535`, `65536`},
		{"integer", `{$valid_values: [$value, [1, 2, 4, 8]]}`, ``, `4`, `3`},
		{"string", `{$less_or_equal: [{$length: [$value]}, 3]}`, ``, `abc`, `abcd`},
		{"string", `{$matches: [$value, "^[a-z]+$"]}`, ``, `abc`, `aBc`},
		{"string", `{$or: [{$has_prefix: [$value, a]}, {$has_suffix: [$value, z]}]}`, ``, `az`, `ba`},
		{"version", `{$greater_than: [$value, "1.9"]}`, ``, `"1.10"`, `"1.8"`},
		{"timestamp", `{$less_than: [$value, "2024-01-01T00:00:00+01:00"]}`, ``, `2023-12-31T22:59:59Z`, `2023-12-31T23:00:00Z`},
		{"scalar-unit.size", `{$greater_or_equal: [$value, 0]}`, ``, `1 GB`, `-1 GB`},
		{"scalar-unit.size", `{$less_than: [$value, 1 GB]}`, ``, `999 MB`, `1000 MB`},
		{"boolean", `$value`, ``, `true`, `false`},
		{"integer", `{$greater_or_equal: [$value, {$get_property: [SELF, least]}]}`, ``, `1`, ``},
		{"integer", `$value`, `TOSCA-VAL-003 it: validation must be a boolean expression, not "$value"`, ``, ``},
		{"integer", `{$sum: [$value, 1]}`, `TOSCA-VAL-003 it: validation must be a boolean expression, not {"$sum":["$value",1]}`, ``, ``},
		{"integer", `{$length: [$value]}`, `TOSCA-FUN-001 it: validation: $length takes a string, a list or a map, and a value of run time is an integer`, ``, ``},
		{"integer", `{$greater_than: [$value, a]}`, `TOSCA-FUN-001 it: validation: $greater_than takes two values of one type: a value of run time is an integer, and "a" is a string`, ``, ``},
		{"integer", `{$value: [low]}`, `TOSCA-FUN-004 it: validation: $value finds no "low" in the value`, ``, ``},
		{"version", `{$less_than: [$value, "1.x"]}`, `TOSCA-FUN-001 it: validation: $less_than compares "1.x" with a value that is a version, such as "1.2" or "1.2.3.beta-4", not "1.x"`, ``, ``},
		{"string", `{$matches: [$value, "[a"]}`, `TOSCA-VAL-003 it: validation: $matches has "[a", which is not a regular expression`, ``, ``},
		{"string", `{$has_prefix: [$value, [a]]}`, `TOSCA-FUN-001 it: validation: $has_prefix takes two strings or two lists: a value of run time is a string, and ["a"] is a list`, ``, ``},
		{"string", `{$equl: [$value, a]}`, `TOSCA-FUN-008 it: validation: unknown function "$equl" ($equal?)`, ``, ``},
		{"string", `a`, `TOSCA-VAL-003 it: validation must be a boolean expression, not "a"`, ``, ``},
	} {
		d := data.Of(c.typ, second)
		d.Schema.Validation = node(t, c.clause)
		e := evaluator()
		e.Declare(d, data.Place{Of: "it"})
		if got := said(e); got != c.wrong {
			t.Errorf("%s\n got %s\nwant %s", c.clause, got, c.wrong)
		}
		for yaml, want := range map[string]bool{c.value: true, c.broken: false} {
			if yaml == "" {
				continue
			}
			e := evaluator()
			if got := e.Check(node(t, yaml), d, data.Place{Of: "it", Doc: second}); got != want {
				t.Errorf("%s keeps %s: %v: %s", yaml, c.clause, got, said(e))
			}
		}
	}
}

func TestACustomFunctionIsCalledByItsSignatures(t *testing.T) {
	t.Parallel()
	doc := document(t, `tosca_definitions_version: tosca_2_0
functions:
  sqrt:
    signatures:
    - arguments: [{type: integer, validation: {$greater_or_equal: [$value, 0]}}]
      result: float
    - {arguments: [string], result: string}
  pick:
    signatures:
    - arguments: [{type: list, entry_schema: string}]
      optional_arguments: [integer, string]
  all:
    signatures: [{arguments: [string, integer], variadic: true}]
  any:
    signatures: [{variadic: true}]
  now:
    signatures: [{result: timestamp}]
service_template:
  node_templates: {}
`)
	const none = "is called with arguments that no signature of it has"
	for _, c := range []struct{ yaml, want string }{
		{`{$sqrt: [4]}`, `?float`},
		{`{$sqrt: [-4]}`, `TOSCA-FUN-001 it: $sqrt ` + none},
		{`{$sqrt: [four]}`, `?string`},
		{`{$sqrt: [true]}`, `TOSCA-FUN-001 it: $sqrt ` + none},
		{`{$sqrt: []}`, `TOSCA-FUN-001 it: $sqrt ` + none},
		{`{$sqrt: [$node_index]}`, `?float`},
		{`{$sqrt: [{$get_attribute: [SELF, address]}]}`, `?string`},
		{`{$pick: [[a]]}`, `?`},
		{`{$pick: [[a], 1]}`, `?`},
		{`{$pick: [[a], 1, b]}`, `?`},
		{`{$pick: [[a], b]}`, `TOSCA-FUN-001 it: $pick ` + none},
		{`{$pick: [[a], 1, b, c]}`, `TOSCA-FUN-001 it: $pick ` + none},
		{`{$all: [a, 1]}`, `?`},
		{`{$all: [a, 1, 2, 3]}`, `?`},
		{`{$all: [a]}`, `TOSCA-FUN-001 it: $all ` + none},
		{`{$all: [a, 1, b]}`, `TOSCA-FUN-001 it: $all ` + none},
		{`{$any: [1, a, [b]]}`, `?`},
		{`$any`, `?`},
		{`$now`, `?timestamp`},
		{`{$now: [1]}`, `TOSCA-FUN-001 it: $now ` + none},
		{`{$nowx: []}`, `TOSCA-FUN-008 it: unknown function "$nowx" ($now?)`},
	} {
		e := evaluator()
		w := newWorld(t, doc)
		e.World = w
		v := e.Eval(node(t, c.yaml), data.Place{Of: "it", Doc: doc, Self: w.byName["api"]})
		if got := outcome(e, v); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.yaml, got, c.want)
		}
	}
}

func TestADefaultThatIsNeverUsedIsWarnedOf(t *testing.T) {
	t.Parallel()
	for doc, want := range map[*grammar.Document]string{
		first: ``, second: `warning TOSCA-VAL-009 it is not required, so its default is never used`,
	} {
		d := data.Of("integer", doc)
		d.Default = node(t, `1`)
		e := evaluator()
		if ok := e.Declare(d, data.Place{Of: "it"}); said(e) != want || !ok {
			t.Errorf("%s: got %s\nwant %s", doc.Version, said(e), want)
		}
	}
}

func TestWhatIsWrongWithAClauseIsSaidOnce(t *testing.T) {
	t.Parallel()
	for clause, want := range map[string]string{
		`{$greater_than: [$value, {$get_property: [SELF, port]}]}`: ``,
		`{$greater_than: [$value, {$get_property: [SELF, prt]}]}`:  `TOSCA-FUN-004 it: validation: $get_property asks node "api" for "prt", which it does not have (port?)`,
		`{$greater_than: [$value, {$quotient: [1, 0]}]}`:           `TOSCA-FUN-001 it: validation: $quotient divides 1 by zero`,
	} {
		d := data.Of("integer", second)
		d.Schema.Validation = node(t, clause)
		e := evaluator()
		w := newWorld(t, second)
		e.World = w
		e.Declare(d, data.Place{Of: "it"})
		for range 3 {
			e.Check(node(t, `9000`), d, data.Place{Of: "it", Doc: second, Self: w.byName["api"]})
		}
		if got := said(e); got != want {
			t.Errorf("%s\n got %s\nwant %s", clause, got, want)
		}
	}
}
