package tosca_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/tosca"
)

const typedInputs = `
tosca_definitions_version: tosca_simple_yaml_1_3
imports: [tosker-types.yaml]
data_types:
  my.Site:
    properties:
      host: {type: string}
      port: {type: my.Port, default: 80}
      open: {type: boolean, required: false}
  my.Port: {derived_from: integer, constraints: [{in_range: [1, 65535]}]}
  my.High: {derived_from: my.Port, constraints: [{greater_or_equal: 1024}]}
topology_template:
  inputs:
    int: {type: integer, required: false}
    float: {type: float, required: false}
    bool: {type: boolean, required: false}
    text: {type: string, required: false}
    list: {type: list, entry_schema: {type: integer}, required: false}
    flags: {type: list, entry_schema: {type: boolean}, required: false}
    map: {type: map, entry_schema: {type: string}, required: false}
    version: {type: version, required: false}
    range: {type: range, required: false}
    time: {type: timestamp, required: false}
    size: {type: scalar-unit.size, required: false, constraints: [{less_than: 1 TB}]}
    span: {type: scalar-unit.time, required: false}
    clock: {type: scalar-unit.frequency, required: false}
    rate: {type: scalar-unit.bitrate, required: false}
    site: {type: my.Site, required: false}
    sites: {type: map, entry_schema: {type: my.Site}, required: false}
    high: {type: my.High, required: false}
    colour: {type: string, required: false, constraints: [{valid_values: [red, green]}]}
    db_password: {type: string, required: false, constraints: [{min_length: 12}]}
    api_key: {type: string, required: false, constraints: [{max_length: 100}]}
    pins: {type: map, required: false, entry_schema: {type: string, constraints: [{min_length: 4}]}}
    must: {type: integer, default: 7}
  node_templates: {disk: {type: tosker.nodes.Volume}}
`

// typed loads the application of typedInputs; nobody uses its inputs, and
// warnings of that are left out.
func typed(t *testing.T, opts tosca.Options) (*spec.Application, string) {
	t.Helper()
	opts.Draft = true
	app, list, _ := tosca.Load(t.Context(), zipped(t, map[string]string{"app.yaml": typedInputs}), opts)
	var said []string
	for _, d := range list {
		if d.Code != "TOSCA-INP-004" {
			said = append(said, d.Error())
		}
	}
	return app, strings.Join(said, "\n")
}

func TestAnInputOfEachTypeIsGivenOnACommandLine(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{"int", "42", `42`},
		{"int", " 7 ", `7`},
		{"int", "-0x1F", `-31`},
		{"int", "abc", `input "int" must be an integer, not "abc"`},
		{"int", "1.5", `input "int" must be an integer, not "1.5"`},
		{"int", "", `input "int" must be an integer, not ""`},
		{"int", "99999999999999999999", `input "int" must be an integer of 64 bits, not "99999999999999999999"`},
		{"float", "1e3", `1e3`},
		{"float", "3", `3`},
		{"float", "x", `input "float" must be a float, not "x"`},
		{"bool", "true", `true`},
		{"bool", "Yes", `true`},
		{"bool", "1", `input "bool" must be true or false, not "1"`},
		{"text", "a=b=c", `"a=b=c"`},
		{"text", " spaces ", `" spaces "`},
		{"text", `"quotes" and 'more'`, `"\"quotes\" and 'more'"`},
		{"text", "", `""`},
		{"text", "[1, 2]", `"[1, 2]"`},
		{"text", "{a: b", `"{a: b"`},
		{"text", "null", `"null"`},
		{"text", "0123", `"0123"`},
		{"text", "two\nlines", `"two\nlines"`},
		{"list", "[1, 2]", `[1,2]`},
		{"list", "- 1\n- 2", `[1,2]`},
		{"list", "1", `input "list" must be a list, not "1"`},
		{"list", "[a]", `input "list"[0] must be an integer, not "a"`},
		{"list", "[1, 2", `input "list" must be a list, written in YAML: did not find expected ',' or ']'`},
		{"flags", "[yes, false]", `[true,false]`},
		{"map", "{a: b, c: d}", `{"a":"b","c":"d"}`},
		{"map", `{"a": "b"}`, `{"a":"b"}`},
		{"map", "a: b", `{"a":"b"}`},
		{"map", "{a: 1}", `input "map"[a] must be a string: put 1 in quotes`},
		{"map", "{a: b, a: c}", `input "map" must be a map, written in YAML: key "a" is defined twice (first in line 1)`},
		{"version", "1.10", `"1.10"`},
		{"version", "2", `"2"`},
		{"version", "1.2.3.beta-4", `"1.2.3.beta-4"`},
		{"version", "new", `input "version" must be a version, such as "1.2" or "1.2.3.beta-4", not "new"`},
		{"range", "[1, 5]", `[1,5]`},
		{"range", "[1, UNBOUNDED]", `[1,"UNBOUNDED"]`},
		{"range", "[5, 1]", `input "range" must be a range: a list of two integers, the lower first, not [5,1]`},
		{"range", "5", `input "range" must be a range: a list of two integers, the lower first, not "5"`},
		{"time", "2024-02-29T10:00:00Z", `"2024-02-29T10:00:00Z"`},
		{"time", "2023-02-29", `input "time" must be a timestamp of a day that exists, such as "2025-07-22T10:00:00Z", not "2023-02-29"`},
		{"size", "10 GB", `"10 GB"`},
		{"size", "10", `input "size" must be a scalar-unit.size, such as "10 MB", not "10"`},
		{"size", "2 TB", `input "size" is "2 TB", which breaks the constraint less_than: "1 TB"`},
		{"span", "5 ms", `"5 ms"`},
		{"span", "5 min", `input "span" must be a scalar-unit.time, such as "10 s", not "5 min"`},
		{"clock", "2.4 GHz", `"2.4 GHz"`},
		{"rate", "2 Gibps", `"2 Gibps"`},
		{"site", "{host: a, port: 8080, open: on}", `{"host":"a","open":true,"port":8080}`},
		{"site", "{host: a, port: 0}", `input "site".port is 0, which breaks the constraint in_range: [1,65535]`},
		{"site", "{port: 1}", `input "site" lacks property "host", which is required`},
		{"site", "{host: a, prot: 1}", `input "site" has no property "prot" (did you mean "port"?)`},
		{"site", "a", `input "site" must be a map of the properties of "my.Site", not "a"`},
		{"sites", "{x: {host: a, open: yes}}", `{"x":{"host":"a","open":true}}`},
		{"high", "8080", `8080`},
		{"high", "80", `input "high" is 80, which breaks the constraint greater_or_equal: 1024`},
		{"high", "70000", `input "high" is 70000, which breaks the constraint in_range: [1,65535]`},
		{"colour", "gren", `input "colour" is "gren", which breaks the constraint valid_values: ["red","green"] (did you mean "green"?)`},
		{"colour", "blue", `input "colour" is "blue", which breaks the constraint valid_values: ["red","green"]`},
		{"must", "~", `warning: input "must" is required, and null is not a value`},
		{"tetx", "a", `the topology has no input "tetx" (did you mean "text"?)`},
	} {
		app, said := typed(t, tosca.Options{Inputs: map[string]any{tt.name: tt.text}})
		got := strings.TrimPrefix(said, "--input "+tt.name+": ")
		if said == "" {
			for _, in := range app.Inputs {
				if in.Name == tt.name {
					value, err := json.Marshal(in.Value)
					if err != nil {
						t.Fatal(err)
					}
					got = string(value)
				}
			}
		}
		if got != tt.want {
			t.Errorf("%s=%s: got %s, want %s", tt.name, tt.text, got, tt.want)
		}
	}
}

func TestInputsGivenByNameWinOverTheirFile(t *testing.T) {
	t.Parallel()
	for _, data := range []string{"int: 1\ntext: file\nversion: 1.10\n", `{"int": 1, "text": "file", "version": "1.10"}`} {
		app, said := typed(t, tosca.Options{
			Inputs:    map[string]any{"text": "given"},
			InputFile: &tosca.InputFile{Name: "inputs", Data: []byte(data)},
		})
		got := map[string]any{}
		for _, in := range app.Inputs {
			if in.Value != nil {
				got[in.Name] = in.Value
			}
		}
		if len(got) != 4 || got["int"] != json.Number("1") || got["text"] != "given" || got["version"] != "1.10" || got["must"] != json.Number("7") {
			t.Errorf("of %s came %v, %s", data, got, said)
		}
	}
}

func TestAFileOfInputsThatCannotBeReadIsTheOnlyMistake(t *testing.T) {
	t.Parallel()
	const app = `{tosca_definitions_version: tosca_simple_yaml_1_3, imports: [tosker-types.yaml], topology_template: {
inputs: {size: {type: integer}}, node_templates: {disk: {type: tosker.nodes.Volume}}, outputs: {o: {value: {get_input: size}}}}}`
	for data, want := range map[string]string{
		"size: [1,\n":                      "inputs.yaml:1:7: not YAML: did not find expected node content",
		"- size\n":                         "inputs.yaml:1:1: a file of inputs must be a map of names and values, not a list",
		"size: 1\nx: 2":                    `inputs.yaml:2:1: the topology has no input "x" (did you mean "size"?)`,
		strings.Repeat("size: 1\n", 5<<20): "inputs.yaml: the file is too large: at most 33554432 bytes and about 6291456 values are read",
	} {
		_, list, err := tosca.Load(t.Context(), zipped(t, map[string]string{"app.yaml": app}), tosca.Options{
			InputFile: &tosca.InputFile{Name: "inputs.yaml", Data: []byte(data)},
		})
		if err == nil || list.Error() != want {
			t.Errorf("%.20q: got %v, want %s", data, err, want)
		}
	}
}

func TestNoMessageHasASecretOfTheUser(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	long := strings.Repeat("h\"2", 40)
	for _, tt := range []struct {
		opts tosca.Options
		want string
	}{
		{
			tosca.Options{Inputs: map[string]any{"db_password": secret, "text": "x"}},
			`--input db_password: input "db_password" is "…", which breaks the constraint min_length: 12`,
		},
		{
			tosca.Options{Inputs: map[string]any{"db_password": "h2"}},
			`--input db_password: input "db_password" is "…", which breaks the constraint min_length: 12`,
		},
		{
			tosca.Options{Inputs: map[string]any{"pins": "{token: " + secret + ", x: abc}"}},
			`--input pins: input "pins"[x] is "abc", which breaks the constraint min_length: 4`,
		},
		{
			tosca.Options{InputFile: file("db_password: " + secret + "\nint: " + secret)},
			"f:1:14: input \"db_password\" is \"…\", which breaks the constraint min_length: 12\n" +
				`f:2:6: input "int" must be an integer, not "…"`,
		},
		{tosca.Options{InputFile: file("db_password: [" + long + "]")}, `f:1:14: input "db_password" must be a string, not a list`},
		{
			tosca.Options{InputFile: file("db_password: '" + long + "'\nint: '" + long + "'")},
			`f:2:6: input "int" must be an integer, not "…"`,
		},
		{
			tosca.Options{Inputs: map[string]any{"api_key": long}}, // which is cut off
			`--input api_key: input "api_key" is "……, which breaks the constraint max_length: 100`,
		},
		{tosca.Options{InputFile: file("db_password: *" + secret)}, "f:1:14: not YAML: unknown anchor … referenced"},
		{tosca.Options{InputFile: file("db_password: !" + secret)}, "f:1:14: tag … means nothing in TOSCA"},
	} {
		if _, said := typed(t, tt.opts); said != tt.want {
			t.Errorf("got  %s\nwant %s", said, tt.want)
		}
	}
}

func file(data string) *tosca.InputFile { return &tosca.InputFile{Name: "f", Data: []byte(data)} }

func TestLinesAreShownOfFilesWithoutSecretsOnly(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]bool{
		"port: 80": false, "compass: x": false, "db_password: x": true, `{"apiKey": 1}`: true, "DB_PASS: 1": true, "client-secret: x": true,
		strings.Repeat("#", 2<<20): true,
	} {
		if got := file(data).HasSecrets(); got != want {
			t.Errorf("%.20q has secrets: %v", data, got)
		}
	}
}
