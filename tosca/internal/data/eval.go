package data

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/toskose/toskose/internal/suggest"
	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/source"
)

// Place is the context of a value.
type Place struct {
	Of        string            // the subject in messages, as in `component "api": property "port"`
	Doc       *grammar.Document // decides names and version
	Self      Entity            // the meaning of SELF, or nil
	Artifacts bool              // get_artifact returns a path here, not a run-time value
	Value     *Value            // the meaning of $value, or nil
	// Inputs are the inputs of a workflow. get_input finds them before the topology's;
	// their values are of run time.
	Inputs map[string]*Definition
	// Want is the required definition. Texts with units in arithmetic have this type,
	// unless their own is known.
	Want *Definition
}

// at returns the place of an entry.
func (p Place) at(key string) Place {
	p.Of += "[" + key + "]"
	return p
}

// part returns the place of a named part.
func (p Place) part(of string) Place {
	p.Of += ": " + of
	return p
}

// Eval evaluates all functions in a value.
func (e *Evaluator) Eval(n *source.Node, p Place) Value {
	if n.IsNull() {
		return Known(n)
	}
	if n.IsScalar() {
		if n.Kind == source.String && p.Doc.V2() && strings.HasPrefix(n.Text, "$") {
			return e.word(n, p)
		}
		return Known(n)
	}
	if n.Kind == source.Map {
		if f, ok := e.functionOf(n, p.Doc); ok {
			return e.call(f, n.Keys[0], n.Items[0], p)
		}
		if e.reportMisspelt(n, p) {
			return Value{}
		}
		if k := malformed(n, p.Doc); k != nil {
			e.errorf(k.Pos(), code.Function, "%s: %q would be a function, and must be the only key of its map then; a key that begins with \"$\" is written with \"$$\"", p.Of, k.Text)
			return Value{}
		}
	}
	return e.parts(n, p)
}

// word evaluates a string of 2.0 that begins with a dollar: an escaped string, or a
// function without arguments.
func (e *Evaluator) word(n *source.Node, p Place) Value {
	if strings.HasPrefix(n.Text, "$$") {
		return Known(source.Scalar(source.String, n.Text[1:], n))
	}
	return e.call(e.lookup(n.Text[1:], p.Doc), n, source.At(source.List, nil, nil, n), p)
}

// parts evaluates the entries of a list or map.
func (e *Evaluator) parts(n *source.Node, p Place) Value {
	keys, changed, ok := e.keys(n, p)
	made := make([]*source.Node, len(n.Items))
	v := Value{Size: 1, OK: ok}
	meant := p.Want
	for i, item := range n.Items {
		p.Want = nil
		if meant != nil {
			p.Want, _ = e.Within(meant, entryName(keys, i))
		}
		r := e.Eval(item, p)
		v.OK = v.OK && r.OK
		v.Size += max(r.Size, 1)
		changed = changed || r.Node != item
		made[i] = r.Node
		if v.Later == nil {
			v.Later, v.LaterDef = r.Later, r.LaterDef
		}
	}
	if !e.spend(len(n.Items)) {
		return Value{}
	}
	if v.Size > maxValues {
		e.errorf(n.Pos(), code.ValueLarge, "%s has more than %d values", p.Of, maxValues)
		return Value{}
	}
	if !v.OK {
		return Value{}
	}
	v.Node = n
	if changed {
		for i, item := range made {
			if item == nil {
				made[i] = source.Scalar(source.Null, "", n)
			}
		}
		v.Node = source.At(n.Kind, keys, made, n)
	}
	return v
}

// entryName returns the key or index of an entry.
func entryName(keys []*source.Node, i int) string {
	if i < len(keys) {
		return keys[i].Text
	}
	return strconv.Itoa(i)
}

// keys returns the keys of a map in 2.0: it unescapes two dollars, and evaluates
// functions (TOSCA 2.0, 10.1). A run-time key keeps its text, which differs from other
// keys.
func (e *Evaluator) keys(n *source.Node, p Place) (keys []*source.Node, changed, ok bool) {
	keys, ok = n.Keys, true
	if !p.Doc.V2() {
		return keys, false, true
	}
	for i, k := range n.Keys {
		made := k
		switch {
		case !k.IsScalar():
			v := e.Eval(k, p)
			ok = ok && v.OK
			made = source.Scalar(source.String, Text(v.Node), k)
			if v.Later != nil {
				made = source.Scalar(source.Later, k.Text, k)
			}
		case k.Kind == source.String && strings.HasPrefix(k.Text, "$$"):
			made = source.Scalar(source.String, k.Text[1:], k)
		}
		if made != k {
			if !changed {
				keys, changed = slices.Clone(n.Keys), true
			}
			keys[i] = made
		}
	}
	return keys, changed, ok
}

// malformed returns a key of 2.0 that would be a function if it were the only one.
func malformed(n *source.Node, doc *grammar.Document) *source.Node {
	if !doc.V2() {
		return nil
	}
	for _, k := range n.Keys {
		if isCall(k) {
			return k
		}
	}
	return nil
}

// reportMisspelt reports a probable misspelling of a function in 1.x: an error if it is the
// only key, a warning if there are others. Values with a type are checked against it
// instead.
func (e *Evaluator) reportMisspelt(n *source.Node, p Place) bool {
	if p.Doc.V2() || p.Want != nil {
		return false
	}
	for _, k := range n.Keys {
		if k.Kind != source.String || !strings.HasPrefix(k.Text, "get_") {
			continue
		}
		if len(n.Keys) > 1 {
			if firstFunctions[k.Text] != nil {
				e.warnf(k.Pos(), code.FunctionUnknown, "%s: %s is not a function here: it is not the only key of its map", p.Of, k.Text)
			}
			continue
		}
		if known := slices.Sorted(maps.Keys(firstFunctions)); suggest.Nearest(k.Text, known) != "" {
			e.unknown(k.Pos(), code.FunctionUnknown, k.Text, known, "%s: unknown function %q", p.Of, k.Text)
			return true
		}
	}
	return false
}

func isCall(k *source.Node) bool {
	return k.Kind == source.String && strings.HasPrefix(k.Text, "$") && !strings.HasPrefix(k.Text, "$$")
}

// isFunction reports whether the whole value is a function call.
func (e *Evaluator) isFunction(n *source.Node, doc *grammar.Document) bool {
	if n == nil {
		return false
	}
	if n.IsScalar() {
		return doc.V2() && isCall(n)
	}
	_, ok := e.functionOf(n, doc)
	return ok
}

// functionOf returns the function that a map of one key calls. In 1.x such a map may be
// data, so the function must be known.
func (e *Evaluator) functionOf(n *source.Node, doc *grammar.Document) (*function, bool) {
	if n.Kind != source.Map || len(n.Keys) != 1 {
		return nil, false
	}
	k := n.Keys[0]
	if doc.V2() {
		if !isCall(k) {
			return nil, false
		}
		name, _, _ := strings.Cut(k.Text[1:], "$") // a suffix only distinguishes keys (TOSCA 2.0, 10.1)
		return e.lookup(name, doc), true
	}
	f := firstFunctions[k.Text]
	if f == nil || f.name == "token" && n.Items[0].Kind != source.List { // a Credential has a token
		return nil, false
	}
	return f, true
}

// lookup returns a function of 2.0, built-in ones first. It never returns nil.
func (e *Evaluator) lookup(name string, doc *grammar.Document) *function {
	if f := secondFunctions[name]; f != nil {
		return f
	}
	if def := custom(name, doc); def != nil {
		return &function{name: name, max: -1, raw: calls(def)}
	}
	return &function{name: name, max: -1, raw: (*Evaluator).unknownFunction}
}

// shortName is the length up to which similar names are no misspellings: $add is not
// $and.
const shortName = 3

// unknownFunction evaluates an unknown function. An orchestrator may have it (TOSCA 2.0, 10.4),
// unless the name is a misspelling.
func (e *Evaluator) unknownFunction(c *call) Value {
	name, near, known := c.f.name, "", secondNames(c.p.Doc)
	if !e.spend(len(known)) {
		return Value{}
	}
	if len(name) > shortName {
		near = suggest.Nearest(name, known)
	}
	if near != "" || name == "" {
		var suggested []string
		if near != "" {
			suggested = []string{"$" + near}
		}
		e.unknown(c.fn.Pos(), code.FunctionUnknown, "$"+name, suggested, "%s: unknown function %q", c.p.Of, "$"+name)
		return Value{}
	}
	e.warnf(c.fn.Pos(), code.FunctionUnknown, "%s: function %q is not defined here: only an orchestrator that has it can use it", c.p.Of, "$"+name)
	for _, arg := range c.args {
		if !e.Eval(arg, c.p).OK {
			return Value{}
		}
	}
	return e.runTime(c.fn, nil)
}

// CheckValue is Check for the result of a function. In 2.0 it also compares the known
// type of a run-time value, with the entries of lists and maps.
func (e *Evaluator) CheckValue(v Value, d *Definition, p Place) bool {
	if !e.Check(v.Node, d, p) {
		return false
	}
	if d == nil || v.Def == nil || v.Node.IsNull() || v.Node.Kind != source.Later || !p.Doc.V2() || !e.differs(v.Def, d, 0) {
		return true
	}
	e.errorf(v.Node.Pos(), code.ValueType, "%s must be %s, and the function makes %s", p.Of, e.described(d, 0), e.described(v.Def, 0))
	return false
}

// Moved returns the value with the position of a node, such as the call that returned
// it.
func (v Value) Moved(to *source.Node) Value {
	v.Node = v.Node.Moved(to)
	return v
}

// Differs reports whether no value can fit both definitions.
func (e *Evaluator) Differs(is, want *Definition) bool { return e.differs(is, want, 0) }

// Described returns a type with its entries, for messages.
func (e *Evaluator) Described(d *Definition) string { return e.described(d, 0) }

// differs reports whether no value can fit both definitions: scalars of unrelated types,
// or lists and maps with different entries.
func (e *Evaluator) differs(is, want *Definition, depth int) bool {
	t, u := e.Type(is), e.Type(want)
	if t == nil || u == nil || depth > maxGiven || !e.spend(1) {
		return false
	}
	if t.plain == tScalar && u.plain == tScalar {
		return len(t.chain) > 0 && len(u.chain) > 0 && t.chain[0] != u.chain[0]
	}
	if t.plain != u.plain || t.plain != tList && t.plain != tMap {
		return false
	}
	entry, wanted := e.entry(is), e.entry(want)
	if entry == nil || wanted == nil {
		return false
	}
	return !assignable(e.Plain(entry), e.Plain(wanted), true) || e.differs(entry, wanted, depth+1)
}

// described returns a type with its entries.
func (e *Evaluator) described(d *Definition, depth int) string {
	of := d.TypeName()
	if entry := e.entry(d); entry != nil && depth < 3 && (of == tList || of == tMap) {
		of += " of " + e.described(entry, depth+1)
	}
	return of
}
