package data

import (
	"maps"
	"slices"

	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/source"
)

// orNull is null where there is no value, so that a function finds a node.
func (v Value) orNull(at *source.Node) Value {
	if v.OK && v.Node == nil {
		v.Node = source.Scalar(source.Null, "", at)
	}
	return v
}

// function is a built-in function, or a custom one.
type function struct {
	name     string
	min, max int      // arguments; a max of -1: any number
	single   bool     // an argument that is not a list will do
	takes    string   // the arguments in words
	types    []string // of the arguments, each one or more parted by "|"; the last is that of all others, too
	result   string   // the built-in type of what it makes; "": it depends
	raw      func(*Evaluator, *call) Value
	call     func(*call) Value                // with all arguments known, and of the right types
	early    func(*call) (v Value, told bool) // with some known only at run time, if they tell enough
	reckons  bool                             // what it makes is of the type of its arguments, or of the first
	texts    int                              // so many of the arguments, and the entries of lists among them, are strings in 2.0
}

// want returns the types that an argument may have.
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
	words        = "string|integer|float|boolean" // what is written as a text: which of it must be one, is checked for literals
)

func init() { // not where they are declared, for the functions in the tables refer to them
	firstFunctions, secondFunctions = map[string]*function{}, map[string]*function{}
	for _, f := range append(queries(), texts()...) {
		if f.texts > 0 && len(f.types) == 0 { // in 2.0 lists may be put together, too
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

// queries are the functions that both families have.
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
			types: []string{words, words, "integer|string"}, call: token, early: partsPath, result: tString, texts: 2,
		},
	}
}

func logic() []*function {
	return []*function{
		{name: "and", min: 2, max: -1, takes: "two or more booleans", types: []string{tBoolean}, result: tBoolean, call: and, early: anyFalse},
		{name: "or", min: 2, max: -1, takes: "two or more booleans", types: []string{tBoolean}, result: tBoolean, call: or, early: anyTrue},
		{name: "not", min: 1, max: 1, takes: "a boolean", types: []string{tBoolean}, result: tBoolean, call: not},
		{name: "xor", min: 2, max: 2, takes: "two booleans", types: []string{tBoolean}, result: tBoolean, call: xor},
		{name: kEqual, min: 2, max: 2, takes: "two values of one type", result: tBoolean, call: equals, early: likely},
		{name: kGreaterThan, min: 2, max: 2, takes: "two values of one type that has an order", types: orders, result: tBoolean, call: order, early: likely},
		{name: kGreaterOrEqual, min: 2, max: 2, takes: "two values of one type that has an order", types: orders, result: tBoolean, call: order, early: likely},
		{name: kLessThan, min: 2, max: 2, takes: "two values of one type that has an order", types: orders, result: tBoolean, call: order, early: likely},
		{name: kLessOrEqual, min: 2, max: 2, takes: "two values of one type that has an order", types: orders, result: tBoolean, call: order, early: likely},
		{name: kInRange, min: 2, max: 2, takes: "a value and a list of two bounds", types: []string{orders[0] + "|range", "list|range"}, result: tBoolean, call: within, early: likelyWithin},
		{name: kValidValues, min: 2, max: 2, takes: "a value and a list of values", types: []string{"", tList}, result: tBoolean, call: isValid, early: likelyOne},
		{name: "matches", min: 2, max: 2, takes: "a string and a regular expression", types: []string{tString, tString}, result: tBoolean, call: matches, early: checkMatch},
	}
}

// orders are the types whose values have an order.
var orders = []string{"integer|float|string|timestamp|version|scalar"}

func collections() []*function {
	entries, keys := []string{"list|map", ""}, []string{"map", ""}
	allEntries, allKeys := []string{"list|map", tList}, []string{tMap, tList}
	return []*function{
		{name: "has_suffix", min: 2, max: 2, takes: "two strings or two lists", types: []string{"string|list"}, result: tBoolean, call: sequence, early: alike},
		{name: "has_prefix", min: 2, max: 2, takes: "two strings or two lists", types: []string{"string|list"}, result: tBoolean, call: sequence, early: alike},
		{name: "contains", min: 2, max: 2, takes: "two strings or two lists", types: []string{"string|list"}, result: tBoolean, call: sequence, early: alike},
		{name: "has_entry", min: 2, max: 2, takes: "a list or map, and a value", types: entries, result: tBoolean, call: hasEntry, early: fitting},
		{name: "has_key", min: 2, max: 2, takes: "a map and a key", types: keys, result: tBoolean, call: hasKey, early: fitting},
		{name: "has_all_entries", min: 2, max: 2, takes: "a list or map, and a list of values", types: allEntries, result: tBoolean, call: hasEntry, early: fitting},
		{name: "has_any_entry", min: 2, max: 2, takes: "a list or map, and a list of values", types: allEntries, result: tBoolean, call: hasEntry, early: fitting},
		{name: "has_all_keys", min: 2, max: 2, takes: "a map and a list of keys", types: allKeys, result: tBoolean, call: hasKey, early: fitting},
		{name: "has_any_key", min: 2, max: 2, takes: "a map and a list of keys", types: allKeys, result: tBoolean, call: hasKey, early: fitting},
		{name: kLength, min: 1, max: 1, takes: "a string, a list or a map", types: []string{"string|bytes|list|map"}, result: tInteger, call: lengthOf},
		{name: "union", min: 1, max: -1, takes: "lists", types: []string{tList}, result: tList, call: union},
		{name: "intersection", min: 1, max: -1, takes: "lists", types: []string{tList}, result: tList, call: intersection},
	}
}

func arithmetic() []*function {
	numbers := []string{"integer|float|scalar"}
	return []*function{
		{name: "sum", min: 1, max: -1, takes: takesNumbers, types: numbers, reckons: true, call: reckon, early: ofOneKind},
		{name: "difference", min: 2, max: 2, takes: "two numbers, or two scalars of one type", types: numbers, reckons: true, call: reckon, early: ofOneKind},
		{name: "product", min: 1, max: -1, takes: "numbers, or a scalar and a number", types: []string{numbers[0], "integer|float"}, reckons: true, call: reckon},
		{name: "quotient", min: 2, max: 2, takes: "a number or scalar, and a number", types: []string{numbers[0], "integer|float"}, reckons: true, call: reckon},
		{name: "remainder", min: 2, max: 2, takes: "an integer or scalar, and an integer", types: []string{"integer|scalar", tInteger}, reckons: true, call: reckon},
		{name: "round", min: 1, max: 1, takes: "a float", types: []string{tFloat}, result: tInteger, call: reckon},
		{name: "floor", min: 1, max: 1, takes: "a float", types: []string{tFloat}, result: tInteger, call: reckon},
		{name: "ceil", min: 1, max: 1, takes: "a float", types: []string{tFloat}, result: tInteger, call: reckon},
	}
}

// formerConstraints are the constraints of 1.x that drafts of 2.0 had as
// functions, and the standard has not.
func formerConstraints() []*function {
	return []*function{
		{name: kMinLength, min: 2, max: 2, takes: "a string, list or map, and a number", types: []string{"string|bytes|list|map", tInteger}, result: tBoolean, call: lengthIs},
		{name: kMaxLength, min: 2, max: 2, takes: "a string, list or map, and a number", types: []string{"string|bytes|list|map", tInteger}, result: tBoolean, call: lengthIs},
		{name: kPattern, min: 2, max: 2, takes: "a string and a regular expression", types: []string{tString, tString}, result: tBoolean, call: matches, early: checkMatch},
	}
}

// functionNames lists what a call may be written as, for suggestions.
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
