package rpc

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestDecodeCallReadsEveryType(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, value string
		want        any
	}{
		{"int", "<int>-7</int>", int64(-7)},
		{"int with white space", "\n<int>\n 7 </int>\n", int64(7)},
		{"int of 64 bits, as kolo sends it", "<int>5000000000</int>", int64(5000000000)},
		{"i4", "<i4>1</i4>", int64(1)},
		{"i8", "<i8>9223372036854775807</i8>", int64(9223372036854775807)},
		{"true", "<boolean>1</boolean>", true},
		{"false", "<boolean>0</boolean>", false},
		{"double", "<double>-1.5</double>", -1.5},
		{"string", "<string> a &lt;b&gt; &amp;&#x41; </string>", " a <b> &A "},
		{"empty string", "<string/>", ""},
		{"CDATA", "<string><![CDATA[<x>]]></string>", "<x>"},
		{"comment within", "<string>a<!-- no -->b</string>", "ab"},
		{"without a type", " a b ", " a b "},
		{"without anything", "", ""},
		{"base64 in lines", "<base64>AAEC\n/w==</base64>", []byte{0, 1, 2, 255}},
		{"time", "<dateTime.iso8601>19980717T14:08:55</dateTime.iso8601>", time.Date(1998, 7, 17, 14, 8, 55, 0, time.UTC)},
		{"empty array", "<array><data/></array>", []any{}},
		{"array", "<array><data><value><int>1</int></value><value>x</value></data></array>", []any{int64(1), "x"}},
		{"empty struct", "<struct/>", map[string]any{}},
		{
			"struct", "<struct> <member><name>a</name><value><array><data><value>x</value></data></array></value></member>" +
				"<member><name></name><value/></member></struct>",
			map[string]any{"a": []any{"x"}, "": ""},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, err := decodeCall([]byte(methodCall("m", tt.value)), Limits{}.withDefaults())
			if err != nil {
				t.Fatal(err)
			}
			if want := []any{tt.want}; !reflect.DeepEqual(c.params, want) {
				t.Errorf("got %#v, want %#v", c.params, want)
			}
		})
	}
}

func TestDecodeCallAcceptsCallsWithoutParams(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		"<methodCall><methodName>m</methodName></methodCall>",
		"<methodCall><methodName> m </methodName><params/></methodCall>",
		"<?xml version='1.0' encoding='us-ascii'?><!-- hello --><methodCall><methodName>m</methodName></methodCall>\n<!-- bye -->",
		"<?xml version='1.0' encoding='UTF-8'?>\n<methodCall unknown='x'><methodName>m</methodName><params></params></methodCall>",
	} {
		c, err := decodeCall([]byte(body), Limits{}.withDefaults())
		if err != nil || c.method != "m" || len(c.params) != 0 {
			t.Errorf("%s: got %v, %v", body, c, err)
		}
	}
}

func TestDecodeCallRefuses(t *testing.T) {
	t.Parallel()
	limits := Limits{Depth: 3, Values: 5}.withDefaults()
	nested := strings.Repeat("<array><data><value>", 3) + strings.Repeat("</value></data></array>", 3)
	for name, tt := range map[string]struct{ body, want string }{
		"nothing":               {"", "unexpected EOF"},
		"no XML":                {"hello", "text"},
		"half a call":           {"<methodCall><methodName>m</methodName>", "EOF"},
		"another document":      {"<html></html>", `"methodCall" is missing`},
		"an answer":             {"<methodResponse/>", `"methodCall" is missing`},
		"no name":               {"<methodCall><params/></methodCall>", `"methodName" is missing`},
		"an empty name":         {"<methodCall><methodName> </methodName></methodCall>", "name is empty"},
		"a type not known":      {methodCall("m", "<nil/>"), `"nil" is not a type`},
		"a namespace":           {methodCall("m", "<int xmlns='x'>1</int>"), "is not a type"},
		"text before a type":    {methodCall("m", "x<int>1</int>"), "text before"},
		"two types":             {methodCall("m", "<int>1</int><int>1</int>"), "does not belong"},
		"text after a type":     {methodCall("m", "<int>1</int>x"), "between elements"},
		"an int that is none":   {methodCall("m", "<int>1.0</int>"), `int cannot be "1.0"`},
		"an int too large":      {methodCall("m", "<i8>9223372036854775808</i8>"), "i8 cannot be"},
		"an empty int":          {methodCall("m", "<int/>"), `int cannot be ""`},
		"a boolean by its name": {methodCall("m", "<boolean>true</boolean>"), "boolean cannot be"},
		"a double that is none": {methodCall("m", "<double>nan</double>"), "double cannot be"},
		"an infinite double":    {methodCall("m", "<double>1e999</double>"), "double cannot be"},
		"bad base64":            {methodCall("m", "<base64>!</base64>"), "base64 cannot be"},
		"a bad time":            {methodCall("m", "<dateTime.iso8601>now</dateTime.iso8601>"), "cannot be"},
		"an array without data": {methodCall("m", "<array/>"), `"data" is missing`},
		"a value outside data":  {methodCall("m", "<array><data/><value/></array>"), "does not belong"},
		"a nameless member":     {methodCall("m", "<struct><member><value/></member></struct>"), `"name" is missing`},
		"a member twice":        {methodCall("m", strings.ReplaceAll("<struct>MM</struct>", "M", "<member><name>a</name><value/></member>")), "twice"},
		"values too deep":       {methodCall("m", nested), "more than 3 deep"},
		"too many values":       {methodCall("m", "", "", "", "", "", ""), "more than 5 values"},
		"a document type":       {"<!DOCTYPE x [<!ENTITY a 'aaaa'>]>" + methodCall("m", "&a;"), "document type"},
		"an entity":             {"<methodCall><methodName>&a;</methodName></methodCall>", "entity"},
		"another encoding":      {"<?xml version='1.0' encoding='utf-16'?><methodCall/>", "not supported"},
		"bytes not UTF-8":       {methodCall("m", "\xff"), "UTF-8"},
		"two calls":             {strings.Repeat("<methodCall><methodName>m</methodName></methodCall>", 2), "more than one call"},
		"text after the call":   {"<methodCall><methodName>m</methodName></methodCall>x", "text after"},
		"params twice":          {"<methodCall><methodName>m</methodName><params/><params/></methodCall>", "does not belong"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := decodeCall([]byte(tt.body), limits)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, %v; want an error with %q", c, err, tt.want)
			}
		})
	}
}

func FuzzDecodeCallGivesAnErrorOrACallWithinLimits(f *testing.F) {
	limits := Limits{Depth: 4, Values: 16}.withDefaults()
	for _, value := range []string{
		"", "x", "<int>1</int>", "<boolean>0</boolean>", "<double>1</double>", "<base64>AA==</base64>", "<string>&lt;</string>",
		"<array><data><value>x</value></data></array>", "<struct><member><name>a</name><value/></member></struct>",
		"<dateTime.iso8601>19980717T14:08:55</dateTime.iso8601>", "&#x41;", "<!DOCTYPE x>",
	} {
		f.Add([]byte(methodCall("system.listMethods", value, value)))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		c, err := decodeCall(body, limits)
		if err != nil {
			return
		}
		if c.method == "" {
			t.Error("a call without a name")
		}
		values := 0
		for _, p := range c.params {
			if depth := measure(t, p, &values); depth > limits.Depth {
				t.Errorf("depth %d", depth)
			}
		}
		if values > limits.Values {
			t.Errorf("%d values", values)
		}
	})
}

// measure returns how deep a decoded value is, and counts its values.
func measure(t *testing.T, v any, values *int) int {
	t.Helper()
	*values++
	depth := 0
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			depth = max(depth, measure(t, item, values))
		}
	case map[string]any:
		for _, item := range v {
			depth = max(depth, measure(t, item, values))
		}
	case int64, bool, string, float64, time.Time, []byte:
	default:
		t.Errorf("a value of type %s", fmt.Sprintf("%T", v))
	}
	return depth + 1
}
