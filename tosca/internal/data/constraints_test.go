package data_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
)

// plainTypes has a value of each type, and whether values of the type have an
// order, a length and letters.
var plainTypes = []struct {
	name, value             string
	order, length, patterns bool
}{
	{"string", `abc`, true, true, true},
	{"integer", `5`, true, false, false},
	{"float", `5.5`, true, false, false},
	{"boolean", `true`, false, false, false},
	{"timestamp", `2024-02-29T10:00:00Z`, true, false, true},
	{"version", `1.2.3`, true, false, true},
	{"range", `[1, 5]`, false, false, false},
	{"list", `[a, b, c]`, false, true, false},
	{"map", `{a: 1, b: 2, c: 3}`, false, true, false},
	{"scalar-unit.size", `5 MB`, true, false, false},
	{"scalar-unit.time", `5 s`, true, false, false},
	{"scalar-unit.frequency", `5 GHz`, true, false, false},
	{"scalar-unit.bitrate", `5 Mbps`, true, false, false},
}

func constrained(t testing.TB, typ, operator, operand string) *data.Definition {
	t.Helper()
	d := data.Of(typ, first)
	d.Schema.Constraints = []*grammar.Constraint{{Operator: operator, Operand: node(t, operand)}}
	return d
}

func TestAConstraintIsForSomeTypesAndMeansNothingForOthers(t *testing.T) {
	t.Parallel()
	for _, typ := range plainTypes {
		for operator, c := range map[string]struct {
			operand string
			applies bool
		}{
			"equal":            {typ.value, true},
			"valid_values":     {"[" + typ.value + "]", true},
			"greater_than":     {typ.value, typ.order},
			"greater_or_equal": {typ.value, typ.order},
			"less_than":        {typ.value, typ.order},
			"less_or_equal":    {typ.value, typ.order},
			"in_range":         {"[" + typ.value + ", UNBOUNDED]", typ.order},
			"length":           {"3", typ.length},
			"min_length":       {"0", typ.length},
			"max_length":       {"9", typ.length},
			"pattern":          {".*", typ.patterns},
			"schema":           {"text", typ.patterns},
		} {
			if typ.name == "range" && operator == "in_range" {
				c.operand, c.applies = "[0, 9]", true
			}
			if operator == "max_length" && (typ.name == "integer" || typ.name == "float") {
				continue // the standard's own example has it: a warning, see below
			}
			e := evaluator()
			ok := e.Declare(constrained(t, typ.name, operator, c.operand), data.Place{Of: "it"})
			if ok != c.applies {
				t.Errorf("%s for %s: %v, not %v: %s", operator, typ.name, ok, c.applies, said(e))
			}
			if !ok && !strings.Contains(said(e), "does not apply to type") {
				t.Errorf("%s for %s is refused for another reason: %s", operator, typ.name, said(e))
			}
		}
	}
}

func TestALongestLengthOfANumberIsAWarningForTheStandardHasOne(t *testing.T) {
	t.Parallel()
	for _, typ := range []string{"integer", "float"} {
		e := evaluator()
		d := constrained(t, typ, "max_length", "128")
		if !e.Declare(d, data.Place{Of: "it"}) || !strings.Contains(said(e), `warning TOSCA-VAL-003 it: constraint "max_length" does not apply`) {
			t.Errorf("%s: %s", typ, said(e))
		}
		if !e.Check(node(t, "5"), d, data.Place{Of: "it"}) {
			t.Errorf("%s is kept out by it: %s", typ, said(e))
		}
	}
}

func TestAConstraintKeepsOutWhatBreaksIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ typ, operator, operand, kept, broken string }{
		{"integer", "equal", `16`, `0x10`, `17`},
		{"scalar-unit.size", "equal", `1 GiB`, `1024 MiB`, `1 GB`},
		{"scalar-unit.time", "equal", `1 s`, `1000 ms`, `1 m`},
		{"scalar-unit.bitrate", "equal", `1 Bps`, `8 bps`, `1 bps`},
		{"version", "equal", `"1.0"`, `1.0.0`, `1.0.0.beta`},
		{"timestamp", "equal", `2024-01-01T12:00:00Z`, `2024-01-01T14:00:00+02:00`, `2024-01-01T12:00:00+02:00`},
		{"list", "equal", `[1, {a: b}]`, `[1, {a: b}]`, `[{a: b}, 1]`},
		{"map", "equal", `{a: 1, b: 2}`, `{b: 2, a: 1}`, `{a: 1}`},
		{"integer", "greater_than", `5`, `6`, `5`},
		{"integer", "greater_or_equal", `5`, `5`, `4`},
		{"float", "less_than", `0.5`, `0`, `0.5`},
		{"float", "less_or_equal", `5`, `5.0`, `5.1`},
		{"string", "greater_than", `b`, `c`, `a`},
		{"version", "greater_than", `"1.9"`, `"1.10"`, `"1.9"`},
		{"version", "less_than", `2.0.0`, `2.0.0.rc-1`, `2.0.0`},
		{"timestamp", "less_than", `2024-02-29`, `2024-02-28T23:59:59Z`, `2024-02-29T00:00:01Z`},
		{"scalar-unit.frequency", "less_than", `1 GHz`, `999 MHz`, `1000 MHz`},
		{"integer", "in_range", `[1, 4]`, `4`, `5`},
		{"integer", "in_range", `[1, UNBOUNDED]`, `99999`, `0`},
		{"float", "in_range", `[0.0, 1.0]`, `1`, `1.01`},
		{"range", "in_range", `[1, 65535]`, `[80, 443]`, `[0, 443]`},
		{"range", "in_range", `[1, 10]`, `[1, 10]`, `[1, UNBOUNDED]`},
		{"scalar-unit.size", "in_range", `[1 MB, 1 GB]`, `500 MB`, `2 GB`},
		{"string", "valid_values", `[a, b]`, `b`, `c`},
		{"scalar-unit.size", "valid_values", `[1 GB, 2 GB]`, `2000 MB`, `3 GB`},
		{"boolean", "valid_values", `[true]`, `true`, `false`},
		{"string", "length", `3`, `häh`, `ha`},
		{"string", "min_length", `2`, `ab`, `a`},
		{"string", "max_length", `2`, `ab`, `abc`},
		{"list", "length", `2`, `[a, b]`, `[a]`},
		{"map", "min_length", `1`, `{a: b}`, `{}`},
		{"string", "pattern", `a|ab`, `ab`, `abc`},
		{"string", "pattern", `"[0-9]+"`, `"12"`, `a1`},
	} {
		d := constrained(t, c.typ, c.operator, c.operand)
		for yaml, want := range map[string]bool{c.kept: true, c.broken: false} {
			e := evaluator()
			if !e.Declare(d, data.Place{Of: "it"}) {
				t.Errorf("%s %s: %s", c.operator, c.operand, said(e))
			}
			if got := e.Check(node(t, yaml), d, data.Place{Of: "it"}); got != want {
				t.Errorf("%s keeps %s: %s: %v, not %v: %s", yaml, c.operator, c.operand, got, want, said(e))
			}
		}
	}
}

func TestAConstraintThatMakesNoSenseIsReportedWhereItIs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ typ, operator, operand, want string }{
		{"integer", "greater_than", `a`, `TOSCA-VAL-003 it: constraint "greater_than" has "a", which must be an integer`},
		{"integer", "valid_values", `[1, b]`, `TOSCA-VAL-003 it: constraint "valid_values" has "b", which must be an integer`},
		{"integer", "valid_values", `1`, `TOSCA-VAL-003 it: constraint "valid_values" must have a list of values, not 1`},
		{"integer", "in_range", `[4, 1]`, `TOSCA-VAL-003 it: constraint "in_range" has a lower bound above the upper one: [4,1]`},
		{"integer", "in_range", `[4]`, `TOSCA-VAL-003 it: constraint "in_range" must have two bounds, not [4]`},
		{"integer", "in_range", `[a, 4]`, `TOSCA-VAL-003 it: constraint "in_range" has "a", which must be an integer`},
		{"string", "length", `-1`, `TOSCA-VAL-003 it: constraint "length" must have a number of at least 0, not -1`},
		{"string", "max_length", `a`, `TOSCA-VAL-003 it: constraint "max_length" must have a number of at least 0, not "a"`},
		{"string", "pattern", `"[a"`, `TOSCA-VAL-003 it: constraint "pattern" has "[a", which is not a regular expression`},
		{"string", "pattern", `"(?!a)b"`, `warning TOSCA-VAL-007 it: pattern "(?!a)b" is in an unknown syntax, so values are not checked with it`},
		{"string", "pattern", `'(a)\1'`, `warning TOSCA-VAL-007 it: pattern "(a)\\1" is in an unknown syntax, so values are not checked with it`},
		{"string", "pattern", `'\p{IsGreek}'`, `warning TOSCA-VAL-007 it: pattern "\\p{IsGreek}" is in an unknown syntax, so values are not checked with it`},
		{"scalar-unit.size", "equal", `5 s`, `TOSCA-VAL-003 it: constraint "equal" has "5 s", which must be a scalar-unit.size, such as "10 MB"`},
		{"string", "equal", `~`, `TOSCA-VAL-003 it: constraint "equal" has no value`},
		{"integer", "greater_than", `{get_input: least}`, ``},
		{"integer", "valid_values", `[{get_input: least}]`, ``},
	} {
		e := evaluator()
		e.Declare(constrained(t, c.typ, c.operator, c.operand), data.Place{Of: "it"})
		if got := said(e); got != c.want {
			t.Errorf("%s: %s for %s\n got %s\nwant %s", c.operator, c.operand, c.typ, got, c.want)
		}
	}
}

// ordered has values of each type that has an order, from the least to the most;
// those of one line are equal.
var ordered = map[string][][]string{
	"integer":               {{`-9223372036854775808`}, {`-1`}, {`0`, `0x0`}, {`1`}, {`9223372036854775806`}, {`9223372036854775807`}},
	"float":                 {{`.nan`}, {`-.inf`}, {`-1.5`}, {`0`, `0.0`, `-0.0`}, {`0.1`}, {`9007199254740992.0`, `9007199254740992`}, {`9007199254740993`}, {`1e300`}, {`.inf`}},
	"string":                {{`""`}, {`A`}, {`a`}, {`aa`}, {`b`}, {`ä`}},
	"version":               {{`0.0`, `"0"`}, {`0.0.1`}, {`1.0.0.alpha`, `1.0.0.alpha-0`}, {`1.0.0.alpha-2`}, {`1.0.0.alpha-10`}, {`1.0.0.beta`}, {`1.0`, `1.0.0`}, {`1.2`}, {`"1.10"`}, {`99999999999999999999999.0`}},
	"timestamp":             {{`1999-12-31`}, {`2000-01-01T00:00:00+01:00`}, {`2000-01-01`, `2000-01-01T00:00:00Z`, `2000-01-01 00:00:00`}, {`2000-01-01T00:00:00.5Z`}, {`2016-12-31T23:59:60Z`, `2017-01-01T00:00:00Z`}},
	"scalar-unit.size":      {{`0 B`}, {`0.1 kB`, `100 B`}, {`1 KB`, `1000 B`}, {`1 KiB`}, {`1 MB`}, {`1 MiB`, `1024 KiB`}, {`0.3 GB`, `300 MB`}, {`1 TiB`}},
	"scalar-unit.time":      {{`1 ns`}, {`1 us`, `1000 ns`}, {`1 ms`}, {`1 s`}, {`1 m`, `60 s`}, {`1 h`}, {`1 d`, `24 h`}},
	"scalar-unit.frequency": {{`1 Hz`}, {`1 kHz`}, {`1 MHz`}, {`1 GHz`, `1e9 Hz`}},
	"scalar-unit.bitrate":   {{`1 bps`}, {`1 Bps`, `8 bps`}, {`1 Kbps`}, {`1 Kibps`}, {`1 KBps`}, {`1 Mbps`}},
}

func TestValuesOfATypeHaveATotalOrder(t *testing.T) {
	t.Parallel()
	for typ, ranks := range ordered {
		e := evaluator()
		compares := e.Type(data.Of(typ, first))
		for i, low := range ranks {
			for j, high := range ranks {
				for _, a := range low {
					for _, b := range high {
						order, ok := compares.Compare(node(t, a), node(t, b))
						want := slices.Compare([]int{i}, []int{j})
						if !ok || order != want {
							t.Errorf("%s: %s to %s is %d (%v), not %d", typ, a, b, order, ok, want)
						}
					}
				}
			}
		}
	}
}
