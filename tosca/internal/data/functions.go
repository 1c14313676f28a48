package data

import (
	"maps"
	"slices"
	"strings"

	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/source"
)

// orNull returns the value, with a null node if it has none.
func (v Value) orNull(at *source.Node) Value {
	if v.OK && v.Node == nil {
		v.Node = source.Scalar(source.Null, "", at)
	}
	return v
}

// function is a built-in function, or a custom one.
type function struct {
	name     string
	min, max int      // number of arguments; max -1: any
	single   bool     // a single argument needs no list
	takes    string   // the arguments, for messages
	types    []string // of each argument, alternatives separated by "|"; the last applies to all further arguments
	result   string   // type of the result; "" if it depends on the arguments
	raw      func(*Evaluator, *call) Value
	call     func(*call) Value                 // if all arguments are known and valid
	early    func(*call) (v Value, known bool) // if some are run-time values; known reports whether the others suffice
	sameType bool                              // the result has the type of the arguments
	texts    int                               // number of arguments that are strings in 2.0, or lists of strings
}

// want returns the types of an argument.
func (f *function) want(i int) string {
	if len(f.types) == 0 {
		return ""
	}
	return f.types[min(i, len(f.types)-1)]
}

// The functions of 1.x (TOSCA 1.3, 4) and of 2.0 (TOSCA 2.0, 10.2).
var firstFunctions, secondFunctions map[string]*function

const (
	takesEntity  = "a list of a node template, SELF or HOST, and a name"
	takesPath    = "a list of a path to a node, relationship or capability, and a name"
	takesTwo     = "two values"
	takesNumbers = "numbers, or scalars of one type"
	aString      = "a string, or a list"
	words        = "string|integer|float|boolean" // written as text; literals must be strings where required
)

func init() { // not in the declaration, as functions in the tables refer to them
	firstFunctions, secondFunctions = map[string]*function{}, map[string]*function{}
	for _, f := range append(queries(), texts()...) {
		if f.texts > 0 && len(f.types) == 0 { // in 2.0 lists can be joined, too
			f.types = []string{words}
		}
		firstFunctions[f.name] = f
	}
	for _, table := range [][]*function{queries(), secondQueries(), texts(), logic(), collections(), arithmetic(), formerConstraints()} {
		for _, f := range table {
			secondFunctions[f.name] = f
		}
	}
}

// queries are the functions of all versions.
func queries() []*function {
	return []*function{
		{name: "get_input", min: 1, max: -1, single: true, takes: "the name of an input", raw: (*Evaluator).getInput},
		{name: "get_property", min: 2, max: -1, takes: takesEntity, raw: (*Evaluator).getProperty},
		{name: "get_attribute", min: 2, max: -1, takes: takesEntity, raw: (*Evaluator).getAttribute},
		{name: "get_artifact", min: 2, max: -1, takes: "a list of a node template, SELF or HOST, and the name of an artifact", raw: (*Evaluator).getArtifact},
		{name: "get_operation_output", min: 4, max: -1, takes: "a list of a node template, SELF or HOST, an interface, an operation and an output", raw: (*Evaluator).getOutput},
		{name: "get_nodes_of_type", min: 1, max: 1, single: true, takes: "the name of a node type", raw: (*Evaluator).getNodes},
	}
}

func secondQueries() []*function {
	return []*function{
		{name: "value", max: -1, takes: "keys and indices", raw: (*Evaluator).getSubject},
		{name: "node_index", takes: "nothing", raw: (*Evaluator).getIndex},
		{name: "relationship_index", takes: "nothing", raw: (*Evaluator).getIndex},
		{name: "available_allocation", min: 2, max: -1, takes: takesPath, raw: (*Evaluator).getAllocation},
	}
}

func texts() []*function {
	return []*function{
		{name: "concat", min: 1, max: -1, takes: "a list of what to put together", call: concat, early: eitherKind, texts: maxValues},
		{
			name: "join", min: 1, max: 2, takes: "a list of a list of what to join and, if any, what to put between",
			types: []string{tList, words}, call: join, result: tString, texts: 2,
		},
		{
			name: "token", min: 3, max: 3, takes: "a list of a string, the characters that part it, and the index of a part, from 0",
			types: []string{words, words, "integer|string"}, call: token, early: rejectPath, result: tString, texts: 2,
		},
	}
}

func logic() []*function {
	return []*function{
		{name: "and", min: 2, max: -1, takes: "two or more booleans", types: []string{tBoolean}, result: tBoolean, call: and, early: anyFalse},
		{name: "or", min: 2, max: -1, takes: "two or more booleans", types: []string{tBoolean}, result: tBoolean, call: or, early: anyTrue},
		{name: "not", min: 1, max: 1, takes: "a boolean", types: []string{tBoolean}, result: tBoolean, call: not},
		{name: "xor", min: 2, max: 2, takes: "two booleans", types: []string{tBoolean}, result: tBoolean, call: xor},
		{name: kEqual, min: 2, max: 2, takes: "two values of one type", result: tBoolean, call: equals, early: comparable},
		{name: kGreaterThan, min: 2, max: 2, takes: "two values of one type that has an order", types: orders, result: tBoolean, call: order, early: comparable},
		{name: kGreaterOrEqual, min: 2, max: 2, takes: "two values of one type that has an order", types: orders, result: tBoolean, call: order, early: comparable},
		{name: kLessThan, min: 2, max: 2, takes: "two values of one type that has an order", types: orders, result: tBoolean, call: order, early: comparable},
		{name: kLessOrEqual, min: 2, max: 2, takes: "two values of one type that has an order", types: orders, result: tBoolean, call: order, early: comparable},
		{name: kInRange, min: 2, max: 2, takes: "a value and a list of two bounds", types: []string{orders[0] + "|range", "list|range"}, result: tBoolean, call: within, early: comparableWithin},
		{name: kValidValues, min: 2, max: 2, takes: "a value and a list of values", types: []string{"", tList}, result: tBoolean, call: isValid, early: comparableOne},
		{name: "matches", min: 2, max: 2, takes: "a string and a regular expression", types: []string{tString, tString}, result: tBoolean, call: matches, early: checkMatch},
	}
}

// orders are the types whose values have an order.
var orders = []string{"integer|float|string|timestamp|version|scalar"}

func collections() []*function {
	entries, keys := []string{"list|map", ""}, []string{"map", ""}
	allEntries, allKeys := []string{"list|map", tList}, []string{tMap, tList}
	return []*function{
		{name: "has_suffix", min: 2, max: 2, takes: "two strings or two lists", types: []string{"string|list"}, result: tBoolean, call: sequence, early: checkSameKind},
		{name: "has_prefix", min: 2, max: 2, takes: "two strings or two lists", types: []string{"string|list"}, result: tBoolean, call: sequence, early: checkSameKind},
		{name: "contains", min: 2, max: 2, takes: "two strings or two lists", types: []string{"string|list"}, result: tBoolean, call: sequence, early: checkSameKind},
		{name: "has_entry", min: 2, max: 2, takes: "a list or map, and a value", types: entries, result: tBoolean, call: hasEntry, early: checkEntryType},
		{name: "has_key", min: 2, max: 2, takes: "a map and a key", types: keys, result: tBoolean, call: hasKey, early: checkEntryType},
		{name: "has_all_entries", min: 2, max: 2, takes: "a list or map, and a list of values", types: allEntries, result: tBoolean, call: hasEntry, early: checkEntryType},
		{name: "has_any_entry", min: 2, max: 2, takes: "a list or map, and a list of values", types: allEntries, result: tBoolean, call: hasEntry, early: checkEntryType},
		{name: "has_all_keys", min: 2, max: 2, takes: "a map and a list of keys", types: allKeys, result: tBoolean, call: hasKey, early: checkEntryType},
		{name: "has_any_key", min: 2, max: 2, takes: "a map and a list of keys", types: allKeys, result: tBoolean, call: hasKey, early: checkEntryType},
		{name: kLength, min: 1, max: 1, takes: "a string, a list or a map", types: []string{"string|bytes|list|map"}, result: tInteger, call: lengthOf},
		{name: "union", min: 1, max: -1, takes: "lists", types: []string{tList}, result: tList, call: union},
		{name: "intersection", min: 1, max: -1, takes: "lists", types: []string{tList}, result: tList, call: intersection},
	}
}

func arithmetic() []*function {
	numbers := []string{"integer|float|scalar"}
	return []*function{
		{name: "sum", min: 1, max: -1, takes: takesNumbers, types: numbers, sameType: true, call: calculate, early: ofOneKind},
		{name: "difference", min: 2, max: 2, takes: "two numbers, or two scalars of one type", types: numbers, sameType: true, call: calculate, early: ofOneKind},
		{name: "product", min: 1, max: -1, takes: "numbers, or a scalar and a number", types: []string{numbers[0], "integer|float"}, sameType: true, call: calculate},
		{name: "quotient", min: 2, max: 2, takes: "a number or scalar, and a number", types: []string{numbers[0], "integer|float"}, sameType: true, call: calculate},
		{name: "remainder", min: 2, max: 2, takes: "an integer or scalar, and an integer", types: []string{"integer|scalar", tInteger}, sameType: true, call: calculate},
		{name: "round", min: 1, max: 1, takes: "a float", types: []string{tFloat}, result: tInteger, call: calculate},
		{name: "floor", min: 1, max: 1, takes: "a float", types: []string{tFloat}, result: tInteger, call: calculate},
		{name: "ceil", min: 1, max: 1, takes: "a float", types: []string{tFloat}, result: tInteger, call: calculate},
	}
}

// formerConstraints are constraints of 1.x that drafts of 2.0 had as functions.
func formerConstraints() []*function {
	return []*function{
		{name: kMinLength, min: 2, max: 2, takes: "a string, list or map, and a number", types: []string{"string|bytes|list|map", tInteger}, result: tBoolean, call: lengthIs},
		{name: kMaxLength, min: 2, max: 2, takes: "a string, list or map, and a number", types: []string{"string|bytes|list|map", tInteger}, result: tBoolean, call: lengthIs},
		{name: kPattern, min: 2, max: 2, takes: "a string and a regular expression", types: []string{tString, tString}, result: tBoolean, call: matches, early: checkMatch},
	}
}

// functionNames lists the functions, for suggestions.
func functionNames(doc *grammar.Document) []string {
	if !doc.V2() {
		return slices.Sorted(maps.Keys(firstFunctions))
	}
	names := secondNames(doc)
	for i := range names {
		names[i] = "$" + names[i]
	}
	return names
}

func secondNames(doc *grammar.Document) []string {
	names := slices.Sorted(maps.Keys(secondFunctions))
	if doc != nil && doc.Scope() != nil {
		names = append(names, doc.Scope().FunctionNames()...)
	}
	return names
}

// call evaluates a function.
func (e *Evaluator) call(f *function, fn, arg *source.Node, p Place) Value {
	if e.nested >= maxNested {
		e.errorf(fn.Pos(), code.Function, "%s: functions are nested more than %d deep", p.Of, maxNested)
		return Value{}
	}
	if arg != nil && !e.spend(1+len(arg.Items)) {
		return Value{}
	}
	e.nested++
	defer func() { e.nested-- }()
	c := &call{e: e, f: f, fn: fn, p: p}
	switch {
	case arg.IsNull() && f.min == 0:
	case arg != nil && arg.Kind == source.List:
		c.args = arg.Items
	case f.single || f.min == 1 && f.max == 1 || f.max < 0 && f.min == 0:
		c.args = []*source.Node{arg}
	default:
		return c.misuse()
	}
	if len(c.args) < f.min || f.max >= 0 && len(c.args) > f.max {
		return c.misuse()
	}
	if f.raw != nil {
		return f.raw(e, c)
	}
	return c.run()
}

// call is one call of a function.
type call struct {
	e    *Evaluator
	f    *function
	fn   *source.Node // its name
	args []*source.Node
	p    Place
	vals []Value // evaluated

	missing *reach // the end of the path, if the member does not exist
}

func (c *call) misuse() Value {
	c.e.errorf(c.fn.Pos(), code.Function, "%s: %s takes %s", c.p.Of, c.fn.Text, c.f.takes)
	return Value{}
}

func (c *call) wrong(format string, args ...any) Value {
	c.e.errorf(c.fn.Pos(), code.Function, "%s: %s "+format, append([]any{c.p.Of, c.fn.Text}, args...)...)
	return Value{}
}

// run evaluates and checks the arguments, and returns the result, or a run-time value.
func (c *call) run() Value {
	ok, later, asked := true, (*source.Node)(nil), (*Definition)(nil)
	p := c.p
	p.Want = nil
	for i, a := range c.args {
		v := c.e.Eval(a, p).orNull(c.fn)
		c.vals = append(c.vals, v)
		if !v.OK {
			ok = false
			continue
		}
		if want := c.f.want(i); !c.e.accepts(want, v) {
			c.e.errorf(a.Pos(), code.Function, "%s: %s takes %s, and %s is %s", c.p.Of, c.fn.Text, c.f.takes, Show(v.Node), article(c.e.plainOf(v)))
			ok = false
		}
		if n := notText(v, c.f.name != "concat"); n != nil && i < c.f.texts && c.p.Doc.V2() {
			c.e.errorf(n.Pos(), code.Function, "%s: %s joins strings: put %s in quotes", c.p.Of, c.fn.Text, n.Text)
			ok = false
		}
		if n := notWord(v); n != nil && c.f.texts > 0 && !c.p.Doc.V2() {
			c.e.errorf(n.Pos(), code.Function, "%s: %s joins strings, and %s is %s", c.p.Of, c.fn.Text, Show(n), article(n.Kind.String()))
			ok = false
		}
		if later == nil && (v.Later != nil || hasLater(v.Node) && !c.joinsText()) {
			later, asked = v.Later, v.LaterDef
			if later == nil {
				later = c.fn
			}
		}
	}
	if !ok {
		return Value{}
	}
	if later != nil {
		if c.f.early != nil {
			if v, known := c.f.early(c); known {
				return v
			}
		}
		v := c.e.runTime(c.fn, c.result())
		v.Later, v.LaterDef = later, asked
		return v
	}
	return c.f.call(c)
}

// notText returns a number or boolean where a string is required, or nil.
func notText(v Value, inLists bool) *source.Node {
	if v.Def != nil || v.Node.IsNull() {
		return nil
	}
	items := []*source.Node{v.Node}
	if v.Node.Kind == source.List {
		if items = v.Node.Items; !inLists {
			return nil
		}
	}
	for _, n := range items {
		if n.Kind == source.Int || n.Kind == source.Float || n.Kind == source.Bool {
			return n
		}
	}
	return nil
}

// notWord returns a list or map in a list, or nil.
func notWord(v Value) *source.Node {
	if v.Node == nil || v.Node.Kind != source.List {
		return nil
	}
	for _, n := range v.Node.Items {
		if n != nil && (n.Kind == source.List || n.Kind == source.Map) {
			return n
		}
	}
	return nil
}

// joinsText reports whether the function copies its texts, so that they may contain
// paths of artifacts.
func (c *call) joinsText() bool { return c.f.name == "concat" || c.f.name == "join" }

// result returns the definition of the result: the function's own, or the first known
// one of the arguments.
func (c *call) result() *Definition {
	switch {
	case c.f.result == tList && c.def() != nil: // with its entries
		return c.def()
	case c.f.result != "":
		return Of(c.f.result, c.p.Doc)
	case c.f.name == "concat" && (!c.p.Doc.V2() || c.e.plainOf(c.vals[0]) != tList):
		return Of(tString, c.p.Doc)
	case c.f.sameType:
		return c.resultType()
	}
	return c.def()
}

// def returns the definition of the first argument that has one.
func (c *call) def() *Definition {
	for _, v := range c.vals {
		if v.Def != nil {
			return v.Def
		}
	}
	return nil
}

// plainOf returns the built-in type of a value, or "".
func (e *Evaluator) plainOf(v Value) string {
	if v.Node != nil && v.Node.Kind == source.Later {
		return v.Node.Text
	}
	if v.Def != nil {
		if plain := e.Plain(v.Def); plain != "" {
			return plain
		}
	}
	if v.Node.IsNull() {
		return ""
	}
	return v.Node.Kind.String()
}

// accepts reports whether a value is of one of the types, separated by "|". An empty
// list accepts all.
func (e *Evaluator) accepts(want string, v Value) bool {
	plain := e.plainOf(v)
	if want == "" || plain == "" {
		return true
	}
	for each := range strings.SplitSeq(want, "|") {
		if assignable(plain, each, true) || each == tScalar && isUnit(plain) {
			return true
		}
	}
	return false
}
