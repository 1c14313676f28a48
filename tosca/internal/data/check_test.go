package data_test

import (
	"testing"

	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
)

// checkEntryType has values, as YAML, that each built-in type takes and refuses; in
// which family they do is before the colon, and both where nothing is.
var checkEntryType = []struct {
	typ         string
	only        *grammar.Document
	fits, fails []string
}{
	{"string", nil, []string{`a`, `"1"`, `""`, `2001-12-14`, `~`}, []string{`1`, `1.5`, `true`, `[a]`, `{a: b}`}},
	{
		"integer", nil,
		[]string{`0`, `-7`, `+7`, `0x1F`, `0o17`, `9223372036854775807`, `-9223372036854775808`},
		[]string{`1.0`, `"1"`, `9223372036854775808`, `1e3`, `true`, `[1]`},
	},
	{"float", nil, []string{`1`, `1.5`, `-1e-3`, `.inf`, `-.inf`, `.nan`}, []string{`"1.5"`, `a`, `true`, `[1.5]`, `{a: 1}`}},
	{"boolean", first, []string{`True`, `FALSE`}, nil},
	{"boolean", nil, []string{`true`, `false`}, []string{`"true"`, `1`, `0`, `maybe`, `[true]`}},
	{"boolean", second, nil, []string{`True`, `FALSE`}},
	{"bytes", second, []string{`""`, `aGVsbG8=`, `"aGVs\nbG8="`}, []string{`a`, `"%%%%"`, `1`, `[aGVsbG8=]`}},
	{"nil", second, []string{`null`, `~`}, []string{`""`, `0`, `[]`}},
	{
		"timestamp", first,
		[]string{`2001-12-14`, `2001-1-4 9:59:43`, `2001-12-14t21:59:43.10-05:00`, `2001-12-14 21:59:43.10 -5`, `2001-12-15T02:59:43.1Z`, `2024-02-29`},
		[]string{`2001-13-01`, `2023-02-29`, `2001-02-30T10:00:00Z`, `2001-12-14T25:00:00Z`, `2001-12-14T10:60:00Z`, `2001-12-14T10:00:00+25:00`, `2001-12`, `20011214`, `soon`, `2001`},
	},
	{
		"timestamp", second,
		[]string{`2001-12-14T21:59:43Z`, `"2001-12-14t21:59:43.10-05:00"`, `2016-12-31T23:59:60Z`},
		[]string{`2001-12-14`, `2001-12-14 21:59:43Z`, `2001-12-14T21:59:43`, `2001-02-29T00:00:00Z`, `2001-1-4T00:00:00Z`},
	},
	{"version", first, []string{`1.0`, `1`, `"2.0.1"`, `3.1.0.beta`, `1.0.0.alpha-10`, `6.10`}, []string{`a`, `1.`, `1.a`, `1.0.0.a-b`, `1.0.0-1`, `v1.0`, `-1.0`, `[1]`, `true`}},
	{"version", second, []string{`"6.1"`, `2.0.1`, `1.0.0.alpha-10`}, []string{`1`, `6.1`, `1.x`, `1.0.0.0.0`}},
	{"range", nil, []string{`[1, 2]`, `[0, UNBOUNDED]`, `[5, 5]`, `[-2, 1]`}, []string{`[2, 1]`, `[1]`, `[1, 2, 3]`, `[UNBOUNDED, 1]`, `[a, b]`, `[1.5, 2]`, `1`, `{a: 1}`}},
	{"list", nil, []string{`[]`, `[1, a]`}, []string{`a`, `{a: b}`, `1`}},
	{"map", nil, []string{`{}`, `{a: 1}`}, []string{`a`, `[a]`, `1`}},
	{"map", first, []string{`{80: 8080}`}, nil},
	{"map", second, []string{`{"80": 8080}`}, []string{`{80: 8080}`}},
	{"scalar-unit.size", nil, []string{`10 MB`, `10MB`, `1.5 GiB`, `0 b`, `1e3 kb`}, []string{`10`, `MB`, `10 XB`, `10 MB s`, `ten MB`, `[10 MB]`}},
	{"scalar-unit.time", nil, []string{`10 s`, `1 ms`, `7d`, `3 ns`}, []string{`10 MB`, `10 y`, `1:30`, `10`}},
	{"scalar-unit.frequency", nil, []string{`2.4 GHz`, `10 Hz`, `5 khz`}, []string{`10 THz`, `10 rpm`}},
	{"scalar-unit.bitrate", nil, []string{`10 Mbps`, `10 MBps`, `1 tibps`}, []string{`10 M`, `10 Mb`}},
	{"scalar-unit", nil, []string{`10 MB`, `2 s`}, []string{`10 apples`, `3`}},
	{"tosca:integer", nil, []string{`1`}, []string{`a`}},
}

func TestEachTypeTakesItsOwnValuesAndNoOthers(t *testing.T) {
	t.Parallel()
	for _, doc := range []*grammar.Document{first, second} {
		for _, c := range checkEntryType {
			if c.only != nil && c.only != doc {
				continue
			}
			for values, want := range map[*[]string]bool{&c.fits: true, &c.fails: false} {
				for _, yaml := range *values {
					e := evaluator()
					got := e.Check(node(t, yaml), data.Of(c.typ, doc), data.Place{Of: "it", Doc: doc})
					if got != want || got == e.List().HasErrors() {
						t.Errorf("%s: %s is taken as %s: %v, not %v\n%s", doc.Version, yaml, c.typ, got, want, said(e))
					}
				}
			}
		}
	}
}

func TestTypesOfAnotherFamilyAreNone(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"bytes", "nil", "scalar"} {
		if data.IsBuiltin(name, first) || !data.IsBuiltin(name, second) {
			t.Errorf("%s is a type of 1.x, or none of 2.0", name)
		}
	}
	if data.IsBuiltin("tosca.datatypes.Credential", first) || data.IsBuiltin("int", second) {
		t.Error("a type that is not built in is taken for one")
	}
}

const types13 = `tosca_definitions_version: tosca_simple_yaml_1_3
data_types:
  Port: {derived_from: integer, constraints: [{in_range: [1, 65535]}]}
  UserPort: {derived_from: Port, constraints: [{greater_or_equal: 1024}]}
  Name: {derived_from: string, constraints: [{min_length: 2}, {pattern: "[a-z]+"}]}
  Address:
    properties:
      street: {type: string}
      number: {type: integer, required: false}
      zip: {type: string, default: "0"}
  Home:
    derived_from: Address
    properties:
      floor: {type: integer, constraints: [{less_than: 100}]}
      next: {type: Home, required: false}
topology_template: {}
`

func TestDataTypesTakeWhatEveryLevelOfThemTakes(t *testing.T) {
	t.Parallel()
	doc := document(t, types13)
	for _, c := range []struct{ typ, yaml, want string }{
		{"Port", `80`, ""},
		{"Port", `0`, `TOSCA-VAL-002 it is 0, which breaks the constraint in_range: [1,65535]`},
		{"Port", `"80"`, `TOSCA-VAL-001 it must be an integer, not "80"`},
		{"UserPort", `8080`, ""},
		{"UserPort", `80`, `TOSCA-VAL-002 it is 80, which breaks the constraint greater_or_equal: 1024`},
		{"UserPort", `70000`, `TOSCA-VAL-002 it is 70000, which breaks the constraint in_range: [1,65535]`},
		{"Name", `ab`, ""},
		{"Name", `a`, `TOSCA-VAL-002 it is "a", which breaks the constraint min_length: 2`},
		{"Name", `aB`, `TOSCA-VAL-002 it is "aB", which breaks the constraint pattern: "[a-z]+"`},
		{"Address", `{street: A}`, ""},
		{"Address", `{street: A, number: ~}`, ""},
		{"Address", `{number: 3}`, `TOSCA-PROP-002 it lacks property "street", which is required`},
		{"Address", `{street: 3}`, `TOSCA-VAL-001 it.street must be a string: put 3 in quotes`},
		{"Address", `{street: A, nummber: 3}`, `TOSCA-PROP-001 it has no property "nummber" (number?)`},
		{"Address", `[A]`, `TOSCA-VAL-001 it must be a map of the properties of "Address", not ["A"]`},
		{"Home", `{street: A, floor: 1}`, ""},
		{"Home", `{street: A, floor: 1, next: {street: B, floor: 2, next: {street: C, floor: 3}}}`, ""},
		{"Home", `{street: A, floor: 100}`, `TOSCA-VAL-002 it.floor is 100, which breaks the constraint less_than: 100`},
		{"Home", `{street: A, floor: 1, next: {street: B}}`, `TOSCA-PROP-002 it.next lacks property "floor", which is required`},
		{"Unknown", `anything`, ""},
	} {
		e := evaluator()
		ok := e.Check(node(t, c.yaml), data.Of(c.typ, doc), data.Place{Of: "it", Doc: doc})
		if got := said(e); got != c.want || ok != (c.want == "") {
			t.Errorf("%s as %s: %v, and\n got %s\nwant %s", c.yaml, c.typ, ok, got, c.want)
		}
	}
}
