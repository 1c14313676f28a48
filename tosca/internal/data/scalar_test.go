package data_test

import (
	"testing"

	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
)

// types20 makes a document of 2.0 with data types.
func types20(t testing.TB, types map[string]string) *grammar.Document {
	t.Helper()
	yaml := "tosca_definitions_version: tosca_2_0\ndata_types:\n"
	for name, said := range types {
		yaml += "  " + name + ": " + said + "\n"
	}
	return document(t, yaml+"service_template:\n  node_templates: {}\n")
}

func typeOf(t testing.TB, doc *grammar.Document, name string) *grammar.Type {
	t.Helper()
	for _, typ := range doc.Types[grammar.DataType] {
		if typ.Name == name {
			return typ
		}
	}
	t.Fatalf("there is no type %s", name)
	return nil
}

var scalars = map[string]string{
	"Positive": `{derived_from: integer, validation: {$greater_or_equal: [$value, 1]}}`,
	"Bitrate":  `{derived_from: scalar, data_type: Positive, units: {bits/s: 1, bps: 1, kbits/s: 1000, Kibits/s: 1024}, canonical_unit: bits/s}`,
	"Length":   `{derived_from: scalar, units: {m: 1.0}, prefixes: {m: 0.001, c: 0.01, "": 1.0, k: 1000}, validation: {$greater_or_equal: [$value, 0.0]}}`,
	"Small":    `{derived_from: Length, validation: {$less_than: [$value, 15 cm]}}`,
	"More":     `{derived_from: Length, units: {inch: 0.0254}}`,
	"Size":     `{derived_from: scalar, data_type: integer, units: {B: 1}, prefixes: {k: 1000, Ki: 1024, M: 1000000}}`,
	"Range":    `{properties: {low: {type: float}, high: {type: float}}, validation: {$greater_or_equal: [{$value: [high]}, {$value: [low]}]}}`,
	"Lengths":  `{derived_from: list, entry_schema: Length}`,
	"Short":    `{derived_from: string, validation: {$less_or_equal: [{$length: [$value]}, 3]}}`,
	"ByShort":  `{derived_from: map, entry_schema: integer, key_schema: Short}`,
}

func TestTypesOfTheSecondFamilyTakeWhatTheirUnitsAndClausesAllow(t *testing.T) {
	t.Parallel()
	doc := types20(t, scalars)
	e := evaluator()
	for name := range scalars {
		e.DeclareType(typeOf(t, doc, name), data.Place{Of: name})
	}
	if got := said(e); got != "" {
		t.Fatalf("the types are refused:\n%s", got)
	}
	for _, c := range []struct{ typ, yaml, want string }{
		{"Bitrate", `10 Kibits/s`, ``},
		{"Bitrate", `0x10 bps`, ``},
		{"Bitrate", `0 bps`, `TOSCA-VAL-002 it: the number of "0 bps" is 0, which breaks the validation {"$greater_or_equal":["$value",1]}`},
		{"Bitrate", `1.5 bps`, `TOSCA-VAL-001 it: the number of "1.5 bps" must be an integer, not "1.5"`},
		{"Bitrate", `10 BPS`, `TOSCA-VAL-001 it must be a Bitrate, such as "10 bits/s", not "10 BPS"`},
		{"Bitrate", `10bps`, `TOSCA-VAL-001 it must be a Bitrate, such as "10 bits/s", not "10bps"`},
		{"Bitrate", `10`, `TOSCA-VAL-001 it must be a Bitrate, such as "10 bits/s", not "10"`},
		{"Bitrate", `bps`, `TOSCA-VAL-001 it must be a Bitrate, such as "10 bits/s", not "bps"`},
		{"Length", `125.3 mm`, ``},
		{"Length", `1e-3 km`, ``},
		{"Length", `-1 m`, `TOSCA-VAL-002 it is "-1 m", which breaks the validation {"$greater_or_equal":["$value",0.0]}`},
		{"Length", `1 Mm`, `TOSCA-VAL-001 it must be a Length, such as "10 m", not "1 Mm"`},
		{"Small", `0.1499 m`, ``},
		{"Small", `150 mm`, `TOSCA-VAL-002 it is "150 mm", which breaks the validation {"$less_than":["$value","15 cm"]}`},
		{"More", `3 inch`, ``},
		{"More", `-3 inch`, `TOSCA-VAL-002 it is "-3 inch", which breaks the validation {"$greater_or_equal":["$value",0.0]}`},
		{"More", `3 cm`, ``},
		{"Size", `1 KiB`, ``},
		{"Range", `{low: 1, high: 2.5}`, ``},
		{"Range", `{low: 3, high: 2.5}`, `TOSCA-VAL-002 it is {"high":2.5,"low":3}, which breaks the validation {"$greater_or_equal":[{"$value":["high"]},{"$value":["low"]}]}`},
		{"Range", `{low: 3}`, `TOSCA-PROP-002 it lacks property "high", which is required`},
		{"Lengths", `[1 m, 2 km]`, ``},
		{"Lengths", `[1 m, 2 s]`, `TOSCA-VAL-001 it[1] must be a Length, such as "10 m", not "2 s"`},
		{"Lengths", `[1 m, null]`, `TOSCA-VAL-001 it[1] must be a scalar, not null`},
		{"Short", `abcd`, `TOSCA-VAL-002 it is "abcd", which breaks the validation {"$less_or_equal":[{"$length":["$value"]},3]}`},
		{"ByShort", `{abc: 1}`, ``},
		{"ByShort", `{abcd: 1}`, `TOSCA-VAL-002 it: key "abcd" is "abcd", which breaks the validation {"$less_or_equal":[{"$length":["$value"]},3]}`},
		{"ByShort", `{abc: a}`, `TOSCA-VAL-001 it[abc] must be an integer, not "a"`},
	} {
		e := evaluator()
		ok := e.Check(node(t, c.yaml), data.Of(c.typ, doc), data.Place{Of: "it", Doc: doc})
		if got := said(e); got != c.want || ok != (c.want == "") {
			t.Errorf("%s as %s: %v, and\n got %s\nwant %s", c.yaml, c.typ, ok, got, c.want)
		}
	}
}

func TestADataTypeIsCheckedWhereItIsWritten(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ said, want string }{
		{`{derived_from: scalar}`, `TOSCA-VAL-008 it must have units`},
		{`{derived_from: scalar, units: {}}`, `TOSCA-VAL-008 it: units must be a map of names and multipliers`},
		{`{derived_from: scalar, units: {m: 10}}`, `TOSCA-VAL-008 it must have a unit with the multiplier 1`},
		{`{derived_from: scalar, units: {m: 1, n: 1}}`, `TOSCA-VAL-008 it has more than one unit with the multiplier 1, so it must say which is the canonical_unit`},
		{`{derived_from: scalar, units: {m: 1, n: a}}`, `TOSCA-VAL-008 it: units: "n" must multiply by a number above 0, not "a"`},
		{`{derived_from: scalar, units: {m: 1, n: 0}}`, `TOSCA-VAL-008 it: units: "n" must multiply by a number above 0, not 0`},
		{`{derived_from: scalar, units: {meter: 1}, canonical_unit: metre}`, `TOSCA-VAL-008 it: canonical_unit "metre" is not one of its units (meter?)`},
		{`{derived_from: scalar, data_type: integer, units: {m: 1, n: 1.5}}`, `TOSCA-VAL-008 it: units: "n" must multiply by an integer, as the data_type is one, not 1.5`},
		{`{derived_from: scalar, data_type: string, units: {m: 1}}`, `TOSCA-VAL-008 it: data_type must be integer or float, or derived from one of them, not "string"`},
		{`{derived_from: scalar, data_type: strng, units: {m: 1}}`, `TOSCA-TYPE-001 it: unknown data type "strng" (string?)`},
		{`{derived_from: scalar, units: {"a b": 1}}`, `TOSCA-VAL-008 it: units: "a b" has white space in it`},
		{`{derived_from: Meters, units: {inch: 0.0254}}`, ``},
		{`{derived_from: Meters, data_type: integer}`, `TOSCA-VAL-008 it cannot change the data_type that it inherits`},
		{`{derived_from: Meters, canonical_unit: m}`, `TOSCA-VAL-008 it cannot change the canonical_unit that it inherits`},
		{`{derived_from: string, units: {m: 1}}`, `TOSCA-VAL-008 it has units, and is not derived from scalar`},
		{`{derived_from: list}`, `TOSCA-VAL-006 it is a list without an entry_schema, which must say what its entries are`},
		{`{derived_from: list, entry_schema: strng}`, `TOSCA-TYPE-001 it: entry_schema: unknown data type "strng" (string?)`},
		{`{derived_from: string, entry_schema: string}`, `TOSCA-VAL-006 it is derived from "string", which has no entries, so it cannot have an entry_schema`},
		{`{derived_from: map, entry_schema: string, key_schema: integer}`, `TOSCA-VAL-006 it: key_schema must be a string or derived from it, not an integer`},
		{`{derived_from: integer, properties: {a: {type: string}}}`, `TOSCA-VAL-001 it is derived from "integer", so it cannot have properties`},
		{`{}`, `TOSCA-VAL-001 it must be derived from another type, or have properties`},
		{`{properties: {a: {type: strng}}}`, `TOSCA-TYPE-001 it: property "a": unknown data type "strng" (string?)`},
		{`{derived_from: strng}`, `TOSCA-TYPE-001 it: unknown data type "strng" (string?)`},
		{`{derived_from: integer, validation: {$length: [$value]}}`, `TOSCA-FUN-001 it: validation: $length takes a string, a list or a map, and a value of run time is an integer`},
		{`{properties: {a: {type: string}}, validation: {$equal: [{$value: [b]}, c]}}`, `TOSCA-FUN-004 it: validation: $value finds no "b" in the value`},
		{`{properties: {a: {type: string}}, validation: {$equal: [{$value: [a]}, 1]}}`, `TOSCA-FUN-001 it: validation: $equal takes two values of one type: a value of run time is a string, and 1 is an integer`},
	} {
		doc := types20(t, map[string]string{"T": c.said, "Meters": `{derived_from: scalar, units: {m: 1}}`})
		e := evaluator()
		e.DeclareType(typeOf(t, doc, "T"), data.Place{Of: "it"})
		if got := said(e); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.said, got, c.want)
		}
	}
}

func TestNamesOfBuiltInTypesAreReservedUnlessTheVersionDroppedThem(t *testing.T) {
	t.Parallel()
	doc := types20(t, map[string]string{
		"string": `{derived_from: integer}`, "scalar-unit.size": `{derived_from: scalar, units: {B: 1}, prefixes: {k: 1000}}`, "Disk": `{derived_from: scalar-unit.size}`,
	})
	e := evaluator()
	for _, name := range []string{"string", "scalar-unit.size"} {
		e.DeclareType(typeOf(t, doc, name), data.Place{Of: name})
	}
	if got, want := said(e), `TOSCA-VAL-001 string has the name of a built-in type`; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	for yaml, want := range map[string]bool{`1 kB`: true, `1 MB`: false} {
		for _, name := range []string{"scalar-unit.size", "Disk"} {
			if got := evaluator().Check(node(t, yaml), data.Of(name, doc), data.Place{Of: "it", Doc: doc}); got != want {
				t.Errorf("%s is of the type %s as the author defines it: %v", yaml, name, got)
			}
		}
	}
}

func TestScalarsAreReckonedWithInTheirCanonicalUnit(t *testing.T) {
	t.Parallel()
	doc := types20(t, scalars)
	for yaml, want := range map[string]string{
		`{$sum: [$value, 50 cm]}`:                 `?scalar`,
		`{$difference: [$value, 1 m]}`:            `?scalar`,
		`{$product: [$value, 2]}`:                 `?scalar`,
		`{$quotient: [$value, 4]}`:                `?scalar`,
		`{$remainder: [$value, 1]}`:               `?scalar`,
		`{$greater_than: [$value, 1499 mm]}`:      `true`,
		`{$equal: [$value, 0.0015 km]}`:           `true`,
		`{$valid_values: [$value, [1 m, 1.5 m]]}`: `true`,
		`{$in_range: [$value, [1 m, 2 m]]}`:       `true`,
		`{$less_than: [$value, 2 s]}`:             `TOSCA-FUN-001 it: $less_than compares "2 s" with a value that is a Length, such as "10 m", not "2 s"`,
		`{$product: [2, $value]}`:                 `TOSCA-FUN-001 it: $product takes numbers, or a scalar and a number, and "1.5 m" is a scalar`,
	} {
		e := evaluator()
		subject := typed(t, `1.5 m`, "Length", doc)
		if got := outcome(e, e.Eval(node(t, yaml), data.Place{Of: "it", Doc: doc, Value: &subject})); got != want {
			t.Errorf("%s\n got %s\nwant %s", yaml, got, want)
		}
	}
}
