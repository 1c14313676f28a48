package data_test

import (
	"strings"
	"testing"

	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/source"
)

// calls2 are functions of 2.0 at the node `api`, or in a validation clause of
// the value 5, and what they make.
var calls2 = []struct{ yaml, want string }{
	{`$$literal`, `$literal`},
	{`$$$item`, `$$item`},
	{`{$$key: $$value, other: 1}`, `{"$key":"$value","other":1}`},
	{`{$$key: 1}`, `{"$key":1}`},
	{`a$b`, `a$b`},
	{`{get_input: size}`, `{"get_input":"size"}`},
	{`{$get_input: size, a: 1}`, `TOSCA-FUN-001 it: "$get_input" would be a function, and must be the only key of its map then; a key that begins with "$" is written with "$$"`},
	{`$get_inputs`, `TOSCA-FUN-008 it: unknown function "$get_inputs" ($get_input?)`},
	{`{$: [1]}`, `TOSCA-FUN-008 it: unknown function "$"`},
	{`{$security_context: [{env: staging}]}`, `?`},
	{`{$security_context: [{$get_input: sise}]}`, `warning TOSCA-FUN-008 it: function "$security_context" is not defined here: only an orchestrator that has it can use it
TOSCA-FUN-002 it: $get_input names "sise", which is not an input of the topology (size?)`},
	{`{$get_input: size}`, `3`},
	{`{$get_input$1: size}`, `3`},
	{`{$get_input: [ports, 0]}`, `80`},
	{`$get_input`, `TOSCA-FUN-001 it: $get_input takes the name of an input`},
	{`{$get_property: [SELF, port]}`, `8080`},
	{`{$get_property: [SELF, RELATIONSHIP, database, 0, CAPABILITY, port]}`, `5432`},
	{`{$get_property: [SELF, RELATIONSHIP, database, TARGET, name]}`, `shop`},
	{`{$get_property: [SELF, RELATIONSHIP, database, user]}`, `me`},
	{`{$get_property: [SELF, RELATIONSHIP, database, SOURCE, port]}`, `8080`},
	{`{$get_property: [SELF, RELATIONSHIP, database, CAPABILITY, RELATIONSHIP, SOURCE, port]}`, `8080`},
	{`{$get_property: [SELF, RELATIONSHIP, databse, TARGET, name]}`, `TOSCA-FUN-004 it: $get_property asks node "api" for requirement "databse", which it does not have`},
	{`{$get_property: [SELF, RELATIONSHIP, cache, TARGET, name]}`, `?`},
	{`{$get_property: [SELF, RELATIONSHIP, database, ALL, TARGET, name]}`, `?list`},
	{`{$get_property: [db, CAPABILITY, endpoint, port]}`, `5432`},
	{`{$get_property: [db, 0, CAPABILITY, endpoint, port]}`, `5432`},
	{`{$get_property: [db, ALL, port]}`, `?list`},
	{`{$get_property: [db, CAPABILITY, endpont, port]}`, `TOSCA-FUN-004 it: $get_property asks node "db" for capability "endpont", which it does not have`},
	{`{$get_property: [db, CAPABILITY, endpoint, prt]}`, `TOSCA-FUN-004 it: $get_property asks capability "endpoint" for "prt", which it does not have (port?)`},
	{`{$get_attribute: [SELF, address]}`, `?string`},
	{`{$get_artifact: [SELF, code]}`, `?string`},
	{`$node_index`, `?integer`},
	{`{$node_index: []}`, `?integer`},
	{`{$node_index: [1]}`, `TOSCA-FUN-001 it: $node_index takes nothing`},
	{`$relationship_index`, `TOSCA-FUN-007 it: $relationship_index is only valid in a relationship`},
	{`{$get_property: [db, tags, $node_index]}`, `?`},
	{`{$available_allocation: [db, CAPABILITY, endpoint, port]}`, `?integer`},
	{`{$available_allocation: [db, port]}`, `TOSCA-FUN-001 it: $available_allocation takes a path to a capability, and the name of a property of it`},
	{`$value`, `5`},
	{`{$value: []}`, `5`},
	{`{$value: [a]}`, `TOSCA-FUN-004 it: $value finds no "a" in the value`},

	{`{$and: [true, true]}`, `true`},
	{`{$and: [true, false, true]}`, `false`},
	{`{$and: [true]}`, `TOSCA-FUN-001 it: $and takes two or more booleans`},
	{`{$and: [true, 1]}`, `TOSCA-FUN-001 it: $and takes two or more booleans, and 1 is an integer`},
	{`{$and: [{$greater_than: [$node_index, 1]}, false]}`, `false`},
	{`{$and: [{$greater_than: [$node_index, 1]}, true]}`, `?boolean`},
	{`{$or: [false, true]}`, `true`},
	{`{$or: [{$greater_than: [$node_index, 1]}, true]}`, `true`},
	{`{$or: [false, false]}`, `false`},
	{`{$not: [true]}`, `false`},
	{`{$not: {$equal: [1, 2]}}`, `true`},
	{`{$not: [true, false]}`, `TOSCA-FUN-001 it: $not takes a boolean`},
	{`{$xor: [true, false]}`, `true`},
	{`{$xor: [true, true]}`, `false`},
	{`{$equal: [1, 1]}`, `true`},
	{`{$equal: [1, 1.0]}`, `true`},
	{`{$equal: [1, "1"]}`, `TOSCA-FUN-001 it: $equal takes two values of one type: 1 is an integer, and "1" is a string`},
	{`{$equal: [[1, {a: b}], [1, {a: b}]]}`, `true`},
	{`{$equal: [{a: 1, b: 2}, {b: 2, a: 1}]}`, `true`},
	{`{$equal: [{$get_property: [db, version]}, "9.6.10"]}`, `true`},
	{`{$equal: [{$get_property: [db, version]}, "9.x"]}`, `TOSCA-FUN-001 it: $equal compares "9.x" with a value that is a version, such as "1.2" or "1.2.3.beta-4", not "9.x"`},
	{`{$greater_than: [{$get_property: [db, version]}, "9.6.9"]}`, `true`},
	{`{$greater_than: [2, 1]}`, `true`},
	{`{$greater_than: [b, a]}`, `true`},
	{`{$greater_than: [true, false]}`, `TOSCA-FUN-001 it: $greater_than takes two values of one type that has an order, and true is a boolean
TOSCA-FUN-001 it: $greater_than takes two values of one type that has an order, and false is a boolean`},
	{`{$greater_or_equal: [$value, 5]}`, `true`},
	{`{$greater_or_equal: [$value, five]}`, `TOSCA-FUN-001 it: $greater_or_equal takes two values of one type: 5 is an integer, and "five" is a string`},
	{`{$less_than: [$value, 5]}`, `false`},
	{`{$less_or_equal: [$value, 5]}`, `true`},
	{`{$less_than: [$value]}`, `TOSCA-FUN-001 it: $less_than takes two values of one type that has an order`},
	{`{$in_range: [$value, [1, 5]]}`, `true`},
	{`{$in_range: [$value, [6, UNBOUNDED]]}`, `false`},
	{`{$in_range: [$value, 6]}`, `TOSCA-FUN-001 it: $in_range takes a value and a list of two bounds, and 6 is an integer`},
	{`{$in_range: [$value, [6]]}`, `TOSCA-FUN-001 it: $in_range cannot tell whether 5 is between [6]`},
	{`{$valid_values: [$value, [1, 5]]}`, `true`},
	{`{$valid_values: [$value, []]}`, `false`},
	{`{$valid_values: [$value, [a]]}`, `TOSCA-FUN-001 it: $valid_values takes two values of one type: 5 is an integer, and "a" is a string`},
	{`{$matches: [abc, b]}`, `true`},
	{`{$matches: [abc, "^b"]}`, `false`},
	{`{$matches: [abc, "("]}`, `TOSCA-VAL-003 it: $matches has "(", which is not a regular expression`},
	{`{$matches: [$value, a]}`, `TOSCA-FUN-001 it: $matches takes a string and a regular expression, and 5 is an integer`},
	{`{$matches: [abc, "(?=b)"]}`, `?boolean`},

	{`{$has_prefix: [abc, ab]}`, `true`},
	{`{$has_prefix: [[a, b, c], [a, b]]}`, `true`},
	{`{$has_prefix: [[a, b, c], [b]]}`, `false`},
	{`{$has_prefix: [[a], [a, b]]}`, `false`},
	{`{$has_prefix: [[a], a]}`, `TOSCA-FUN-001 it: $has_prefix takes two strings or two lists: ["a"] is a list, and "a" is a string`},
	{`{$has_suffix: [abc, bc]}`, `true`},
	{`{$has_suffix: [[a, b, c], [b, c]]}`, `true`},
	{`{$has_suffix: [[a, b, c], [b]]}`, `false`},
	{`{$contains: [abc, b]}`, `true`},
	{`{$contains: [[a, b, c, d], [b, c]]}`, `true`},
	{`{$contains: [[a, b, c, d], [b, d]]}`, `false`},
	{`{$contains: [[a], []]}`, `true`},
	{`{$has_entry: [[a, b], b]}`, `true`},
	{`{$has_entry: [{x: a}, a]}`, `true`},
	{`{$has_entry: [a, a]}`, `TOSCA-FUN-001 it: $has_entry takes a list or map, and a value, and "a" is a string`},
	{`{$has_key: [{x: a}, x]}`, `true`},
	{`{$has_key: [{x: a}, a]}`, `false`},
	{`{$has_all_entries: [[a, b], [b, a]]}`, `true`},
	{`{$has_all_entries: [[a, b], [b, c]]}`, `false`},
	{`{$has_any_entry: [[a, b], [b, c]]}`, `true`},
	{`{$has_any_entry: [[a, b], []]}`, `false`},
	{`{$has_all_keys: [{a: 1, b: 2}, [a, b]]}`, `true`},
	{`{$has_any_key: [{a: 1}, [x]]}`, `false`},

	{`{$length: [häh]}`, `3`},
	{`{$length: abc}`, `3`},
	{`{$length: [[a, b]]}`, `2`},
	{`{$length: [{a: b}]}`, `1`},
	{`{$length: [$value]}`, `TOSCA-FUN-001 it: $length takes a string, a list or a map, and 5 is an integer`},
	{`{$concat: [a, b]}`, `ab`},
	{`{$concat: [[a], [b, c]]}`, `["a","b","c"]`},
	{`{$concat: [a, [b]]}`, `TOSCA-FUN-001 it: $concat takes strings or lists, and not both: ["b"] is a list`},
	{`{$concat: [[a], b]}`, `TOSCA-FUN-001 it: $concat takes strings or lists, and not both: "b" is not a list`},
	{`{$concat: ["http://", {$get_attribute: [SELF, address]}, ":", "80"]}`, `?string`},
	{`{$concat: ["http://", {$get_attribute: [SELF, address]}, ":", 80]}`, `TOSCA-FUN-001 it: $concat joins strings: put 80 in quotes`},
	{`{$join: [[a, b], "-"]}`, `a-b`},
	{`{$token: ["a:b", ":", 1]}`, `b`},
	{`{$union: [[1, 7], [7, 9], [1]]}`, `[1,7,9]`},
	{`{$union: [[1, 1]]}`, `[1]`},
	{`{$union: [1]}`, `TOSCA-FUN-001 it: $union takes lists, and 1 is an integer`},
	{`{$intersection: [[1, 2, 3, 3], [3, 2]]}`, `[2,3]`},

	{`{$sum: [1, 2, 3]}`, `6`},
	{`{$sum: [1, 0.5]}`, `1.5`},
	{`{$sum: [0.1, 0.2]}`, `0.3`},
	{`{$sum: [9223372036854775807, 1]}`, `TOSCA-FUN-001 it: $sum makes 9223372036854775808, which is not a 64-bit integer`},
	{`{$sum: [a]}`, `TOSCA-FUN-001 it: $sum takes numbers, or scalars of one type, and "a" is none that can be reckoned with`},
	{`{$sum: [{$get_property: [server, size]}, 1 GB]}`, `?scalar`},
	{`{$sum: [{$get_property: [server, size]}, 1]}`, `?scalar`},
	{`{$difference: [1, 3]}`, `-2`},
	{`{$difference: [1, 3, 4]}`, `TOSCA-FUN-001 it: $difference takes two numbers, or two scalars of one type`},
	{`{$product: [2, 3, 4]}`, `24`},
	{`{$product: [2, 1.5]}`, `3.0`},
	{`{$product: [{$get_property: [server, size]}, 2]}`, `?scalar`},
	{`{$quotient: [1, 4]}`, `0.25`},
	{`{$quotient: [1, 0]}`, `TOSCA-FUN-001 it: $quotient divides 1 by zero`},
	{`{$remainder: [7, 4]}`, `3`},
	{`{$remainder: [-7, 4]}`, `-3`},
	{`{$remainder: [7.5, 4]}`, `TOSCA-FUN-001 it: $remainder takes an integer or scalar, and an integer, and 7.5 is a float`},
	{`{$round: [3.5]}`, `3`},
	{`{$round: [3.53]}`, `4`},
	{`{$round: [-3.5]}`, `-4`},
	{`{$round: 2.4}`, `2`},
	{`{$floor: [3.9]}`, `3`},
	{`{$floor: [-3.1]}`, `-4`},
	{`{$ceil: [3.1]}`, `4`},
	{`{$ceil: [-3.9]}`, `-3`},
	{`{$ceil: [a]}`, `TOSCA-FUN-001 it: $ceil takes a float, and "a" is a string`},
	{`{$sum: [$node_index, 1]}`, `?integer`},
	{`{$min_length: [abc, 2]}`, `true`},
	{`{$max_length: [abc, 2]}`, `false`},
	{`{$pattern: [abc, "b"]}`, `true`},
}

func TestFunctionsOfTheSecondFamily(t *testing.T) {
	t.Parallel()
	for _, c := range calls2 {
		e := evaluator()
		w := newWorld(t, second)
		e.World = w
		subject := typed(t, `5`, "integer", second)
		v := e.Eval(node(t, c.yaml), data.Place{Of: "it", Doc: second, Self: w.byName["api"], Value: &subject})
		if got := outcome(e, v); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.yaml, got, c.want)
		}
	}
}

func TestEveryFunctionTakesWhatHasNoValue(t *testing.T) {
	t.Parallel()
	types := []string{"string", "list", "map", "integer", "boolean"}
	for _, name := range data.FunctionNames(second) {
		for _, args := range [][]string{{"%"}, {"%", "%"}, {"%", "%", "%"}, {"%", "a"}, {"%", "[a]"}, {"[a]", "%"}, {"{a: b}", "%"}, {"5", "%"}} {
			for _, typ := range types {
				e := evaluator()
				w := newWorld(t, second)
				w.inputs["absent"] = data.Value{Def: data.Of(typ, second), Size: 1, OK: true}
				e.World = w
				call := "{" + name + ": [" + strings.ReplaceAll(strings.Join(args, ", "), "%", "{$get_input: absent}") + "]}"
				v := e.Eval(node(t, call), data.Place{Of: "it", Doc: second, Self: w.byName["api"]})
				if v.OK == (said(e) != "") {
					t.Errorf("%s of %s: want a value or an error, got %v and %q", call, typ, v.OK, said(e))
				}
			}
		}
	}
}

func TestEveryFunctionIsTriedInATable(t *testing.T) {
	t.Parallel()
	for _, name := range data.FunctionNames(second) {
		tried := false
		for _, c := range calls2 {
			tried = tried || strings.Contains(c.yaml, name)
		}
		for _, c := range calls1 {
			tried = tried || strings.Contains(c.yaml, name[1:])
		}
		if !tried {
			t.Errorf("no case calls %s", name)
		}
	}
}

func TestAKeyThatAFunctionMakesIsOneOfRunTimeOrAString(t *testing.T) {
	t.Parallel()
	key := func(yaml string) *source.Node {
		n := node(t, yaml)
		n.Text = yaml // as it is in one line
		return n
	}
	keys := []*source.Node{key(`{$concat: [a, b]}`), key(`{$keygen: [UUID]}`), key(`{$keygen$1: [UUID]}`), node(t, `$$plain`)}
	m := source.At(source.Map, keys, []*source.Node{node(t, `1`), node(t, `2`), node(t, `3`), node(t, `4`)}, node(t, `x`))
	e := evaluator()
	p := data.Place{Of: "it", Doc: second}
	v := e.Eval(m, p)
	if got, want := data.Text(v.Node), `{"$plain":4,"ab":1,"{$keygen$1: [UUID]}":3,"{$keygen: [UUID]}":2}`; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	d := &data.Definition{Schema: schema("map", "integer"), Doc: second}
	d.Schema.Key = schema("string")
	if !e.Check(v.Node, d, p) {
		t.Error(said(e))
	}
}
