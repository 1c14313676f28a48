package data_test

import (
	"testing"

	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/source"
)

// calls1 are functions of 1.x at the node `api`, and what they make, as JSON;
// "?" and a type stand for a value of run time, and a code for a diagnostic.
var calls1 = []struct{ yaml, want string }{
	{`plain`, `plain`},
	{`{get_input: size}`, `3`},
	{`{get_input: [size]}`, `3`},
	{`{get_input: [ports, 1]}`, `443`},
	{`{get_input: missing}`, ``},
	{`{get_input: [missing, a]}`, `TOSCA-FUN-004 it: get_input finds no "a" in the value`},
	{`{get_input: [nothing, a, 0]}`, ``},
	{`{get_input: sise}`, `TOSCA-FUN-002 it: get_input names "sise", which is not an input of the topology (size?)`},
	{`{get_input: [ports, 2]}`, `TOSCA-FUN-004 it: get_input finds no "2" in the value`},
	{`{get_input: [size, a]}`, `TOSCA-FUN-004 it: get_input finds no "a" in the value`},
	{`{get_input: []}`, `TOSCA-FUN-001 it: get_input takes the name of an input`},
	{`{get_input: {a: b}}`, `TOSCA-FUN-001 it: get_input takes the name of an input`},
	{`{get_property: [SELF, port]}`, `8080`},
	{`{get_property: [api, port]}`, `8080`},
	{`{get_property: [SELF, prt]}`, `TOSCA-FUN-004 it: get_property asks node "api" for "prt", which it does not have (port?)`},
	{`{get_property: [apy, port]}`, `TOSCA-FUN-003 it: get_property names "apy", which is not in the topology (api?)`},
	{`{get_property: [SELF]}`, `TOSCA-FUN-001 it: get_property takes a list of a node template, SELF or HOST, and a name`},
	{`{get_property: SELF}`, `TOSCA-FUN-001 it: get_property takes a list of a node template, SELF or HOST, and a name`},
	{`{get_property: [SELF, [port]]}`, `TOSCA-FUN-001 it: get_property takes a list of a node template, SELF or HOST, and a name`},
	{`{get_property: [{get_input: host}, name]}`, `shop`},
	{`{get_property: [HOST, ip]}`, `10.0.0.1`},
	{`{get_property: [HOST, room]}`, `B12`},
	{`{get_property: [HOST, door]}`, `TOSCA-FUN-004 it: get_property asks node "server" for "door", which it does not have`},
	{`{get_property: [rack, room]}`, `B12`},
	{`{get_property: [SOURCE, port]}`, `TOSCA-FUN-003 it: SOURCE is only valid in a relationship`},
	{`{get_property: [SELF, database, port]}`, `5432`},
	{`{get_property: [SELF, database, 0, port]}`, `5432`},
	{`{get_property: [SELF, database, name]}`, `shop`},
	{`{get_property: [SELF, database, user]}`, `me`},
	{`{get_property: [SELF, cache, port]}`, `?`},
	{`{get_property: [SELF, database, usr]}`, `TOSCA-FUN-004 it: get_property asks node "db" for "usr", which it does not have`},
	{`{get_property: [db, endpoint, prt]}`, `TOSCA-FUN-004 it: get_property asks capability "endpoint" for "prt", which it does not have (port?)`},
	{`{get_property: [db, endpoint, port]}`, `5432`},
	{`{get_property: [db, tags, 1]}`, `b`},
	{`{get_property: [db, opts, k, deep]}`, `v`},
	{`{get_property: [db, opts, k, none]}`, `TOSCA-FUN-004 it: get_property finds no "none" in the value`},
	{`{get_property: [SELF, loop]}`, `TOSCA-FUN-005 it: the result of get_property, "loop" of node "api", depends on itself`},
	{`{get_attribute: [SELF, port]}`, `8080`},
	{`{get_attribute: [SELF, address]}`, `?string`},
	{`{get_attribute: [SELF, addresss]}`, `TOSCA-FUN-004 it: get_attribute asks node "api" for "addresss", which it does not have (address?)`},
	{`{get_artifact: [SELF, code]}`, `?string`},
	{`{get_artifact: [SELF, code, LOCAL_FILE, true]}`, `?string`},
	{`{get_artifact: [SELF, cod]}`, `TOSCA-FUN-004 it: get_artifact asks node "api" for "cod", which it does not have (code?)`},
	{`{get_operation_output: [SELF, Standard, create, token]}`, `?`},
	{`{get_operation_output: [SELF, Standard, start, anything]}`, `?`},
	{`{get_operation_output: [SELF, Standrd, create, token]}`, `TOSCA-FUN-004 it: get_operation_output asks node "api" for interface "Standrd", which it does not have (Standard?)`},
	{`{get_operation_output: [SELF, Standard, creat, token]}`, `TOSCA-FUN-004 it: get_operation_output asks node "api" for operation "Standard.creat", which it does not have (create?)`},
	{`{get_operation_output: [SELF, Standard, create, tokem]}`, `TOSCA-FUN-004 it: get_operation_output asks node "api" for output "Standard.create.tokem", which it does not have (token?)`},
	{`{get_operation_output: [SELF, Standard, create]}`, `TOSCA-FUN-001 it: get_operation_output takes a list of a node template, SELF or HOST, an interface, an operation and an output`},
	{`{get_nodes_of_type: tosca.nodes.Compute}`, `?list`},
	{`{concat: [a, 1, true, 1.10]}`, `a1true1.10`},
	{`{concat: [a, {concat: [b, {get_input: size}]}]}`, `ab3`},
	{`{concat: [a, {get_attribute: [SELF, address]}]}`, `?string`},
	{`{concat: []}`, `TOSCA-FUN-001 it: concat takes a list of what to put together`},
	{`{concat: a}`, `TOSCA-FUN-001 it: concat takes a list of what to put together`},
	{`{join: [[a, b, 3]]}`, `ab3`},
	{`{join: [[a, b], ", "]}`, `a, b`},
	{`{join: [{get_input: ports}, "-"]}`, `80-443`},
	{`{join: [a, b]}`, `TOSCA-FUN-001 it: join takes a list of a list of what to join and, if any, what to put between, and "a" is a string`},
	{`{join: [[a], b, c]}`, `TOSCA-FUN-001 it: join takes a list of a list of what to join and, if any, what to put between`},
	{`{token: ["a:b,c", ":,", 2]}`, `c`},
	{`{token: ["a:b", ":", "1"]}`, `b`},
	{`{token: [{get_attribute: [SELF, address]}, ":", 1]}`, `?string`},
	{`{token: ["a:b", ":", 2]}`, `TOSCA-FUN-001 it: token asks for part 2 of "a:b", which has 2`},
	{`{token: ["a:b", "", 0]}`, `TOSCA-FUN-001 it: token takes a list of a string, the characters that part it, and the index of a part, from 0`},
	{`{token: secret}`, `{"token":"secret"}`},
	{`{token: secret, user: me}`, `{"token":"secret","user":"me"}`},
	{`{get_foo: [a]}`, `{"get_foo":["a"]}`},
	{`[{get_input: size}, {a: {get_input: host}}]`, `[3,{"a":"db"}]`},
	{`$get_input`, `$get_input`},
	{`{$concat: [a]}`, `{"$concat":["a"]}`},
}

func TestFunctionsOfTheFirstFamily(t *testing.T) {
	t.Parallel()
	for _, c := range calls1 {
		e := evaluator()
		w := newWorld(t, first)
		e.World = w
		v := e.Eval(node(t, c.yaml), data.Place{Of: "it", Doc: first, Self: w.byName["api"]})
		if got := outcome(e, v); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.yaml, got, c.want)
		}
	}
}

func outcome(e *data.Evaluator, v data.Value) string {
	switch {
	case !v.OK || e.List().HasErrors():
		return said(e)
	case v.Node != nil && v.Node.Kind == source.Later:
		return "?" + v.Node.Text
	}
	return data.Text(v.Node)
}

func TestOutsideOfATopologyNothingIsKnownOfIt(t *testing.T) {
	t.Parallel()
	for _, yaml := range []string{
		`{get_input: any}`, `{get_property: [any, name]}`, `{get_property: [SELF, name, 0]}`, `{get_attribute: [HOST, SELF]}`,
		`{get_artifact: [SELF, a]}`, `{get_operation_output: [SELF, a, b, c]}`,
	} {
		e := evaluator()
		if v := e.Eval(node(t, yaml), data.Place{Of: "it", Doc: first, Self: data.Anything}); !v.OK || v.Later == nil {
			t.Errorf("%s is %+v: %s", yaml, v, said(e))
		}
	}
}

func TestWhatRunTimeWillMakeIsOfATypeAlready(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ yaml, typ, want string }{
		{`{get_attribute: [SELF, address]}`, "string", ""},
		{`{get_attribute: [SELF, address]}`, "version", ""},
		{`{get_attribute: [SELF, address]}`, "integer", `TOSCA-VAL-001 it must be an integer, and the function makes a string`},
		{`{get_attribute: [SELF, address]}`, "list", `TOSCA-VAL-001 it must be a list, and the function makes a string`},
		{`{get_nodes_of_type: tosca.nodes.Root}`, "list", ""},
		{`{get_nodes_of_type: tosca.nodes.Root}`, "string", `TOSCA-VAL-001 it must be a string, and the function makes a list`},
		{`{get_operation_output: [SELF, Standard, create, token]}`, "integer", ""},
		{`[{get_attribute: [SELF, address]}]`, "list", ""},
		{`[{get_attribute: [SELF, address]}]`, "map", `TOSCA-VAL-001 it must be a map, not a list`},
	} {
		e := evaluator()
		w := newWorld(t, first)
		e.World = w
		p := data.Place{Of: "it", Doc: first, Self: w.byName["api"]}
		v := e.Eval(node(t, c.yaml), p)
		if v.Later == nil {
			t.Errorf("%s is known already", c.yaml)
		}
		e.Check(v.Node, data.Of(c.typ, first), p)
		if got := said(e); got != c.want {
			t.Errorf("%s as %s\n got %s\nwant %s", c.yaml, c.typ, got, c.want)
		}
	}
}

func TestAnArtifactHasAPathWhereOneMeansSomething(t *testing.T) {
	t.Parallel()
	e := evaluator()
	w := newWorld(t, first)
	e.World = w
	p := data.Place{Of: "it", Doc: first, Self: w.byName["api"], Artifacts: true}
	path := data.Marker + "0" + data.Marker
	w.byName["api"].members[data.Artifact]["code"] = data.Known(source.Scalar(source.String, path, node(t, "x")))
	for yaml, want := range map[string]string{
		`{concat: [/app/, {get_artifact: [SELF, code]}]}`:              "/app/" + path,
		`{join: [[{get_artifact: [SELF, code]}, b], ":"]}`:             path + ":b",
		`{token: [{concat: [a, {get_artifact: [SELF, code]}]}, a, 1]}`: `TOSCA-FUN-007 it: token cannot split the path of an artifact, which is not known before packaging`,
	} {
		e := evaluator()
		e.World = w
		if got := outcome(e, e.Eval(node(t, yaml), p)); got != want {
			t.Errorf("%s is %s, not %s", yaml, got, want)
		}
	}
}
