package data

import (
	"slices"
	"strings"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/source"
)

// Place is where a value stands.
type Place struct {
	Of        string            // names the subject in messages, as in `component "api": property "port"`
	Doc       *grammar.Document // whose names and version apply
	Self      Entity            // what SELF means; nil: nothing
	Artifacts bool              // get_artifact gives a path here, and not only at run time
	Value     *Value            // what $value means; nil: nothing
	// Inputs are those of a workflow, which get_input finds before those of the
	// topology; their values are those of run time.
	Inputs map[string]*Definition
	// Default tells that the value is the default of an input of 1.x: the
	// standard's example has one that is too short (TOSCA 1.3, 3.9.2.1.2).
	Default bool
}

// at is the place of an entry.
func (p Place) at(key string) Place {
	p.Of += "[" + key + "]"
	return p
}

// part is the place of something that has a name.
func (p Place) part(of string) Place {
	p.Of += ": " + of
	return p
}

// Eval evaluates every function in a value, at any depth.
func (e *Evaluator) Eval(n *source.Node, p Place) Value {
	if n.IsNull() {
		return Known(n)
	}
	if n.IsScalar() {
		if n.Kind == source.String && second(p.Doc) && strings.HasPrefix(n.Text, "$") {
			return e.word(n, p)
		}
		return Known(n)
	}
	if n.Kind == source.Map {
		if f, ok := e.functionOf(n, p.Doc); ok {
			return e.call(f, n.Keys[0], n.Items[0], p)
		}
		if k := malformed(n, p.Doc); k != nil {
			e.errorf(k.Pos(), CodeFunction, "%s: %q would be a function, and must be the only key of its map then; a key that begins with \"$\" is written with \"$$\"", p.Of, k.Text)
			return Value{}
		}
	}
	return e.parts(n, p)
}

// word is a string of 2.0 that begins with a dollar: one that is escaped, or a
// function without arguments.
func (e *Evaluator) word(n *source.Node, p Place) Value {
	if strings.HasPrefix(n.Text, "$$") {
		return Known(source.Scalar(source.String, n.Text[1:], n))
	}
	return e.call(e.lookup(n.Text[1:], p.Doc), n, source.At(source.List, nil, nil, n), p)
}

// parts evaluates what is in a list or map.
func (e *Evaluator) parts(n *source.Node, p Place) Value {
	keys, changed, ok := e.keys(n, p)
	made := make([]*source.Node, len(n.Items))
	v := Value{Size: 1, OK: ok}
	for i, item := range n.Items {
		r := e.Eval(item, p)
		v.OK = v.OK && r.OK
		v.Size += max(r.Size, 1)
		changed = changed || r.Node != item
		made[i] = r.Node
		if v.Later == nil {
			v.Later = r.Later
		}
	}
	if !e.spend(len(n.Items)) {
		return Value{}
	}
	if v.Size > maxValues {
		e.errorf(n.Pos(), CodeLarge, "%s has more than %d values", p.Of, maxValues)
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

// keys gives the keys of a map of 2.0: those that begin with two dollars with
// one, and what functions make that stand for keys (TOSCA 2.0, 10.1). A key of
// run time keeps its text, which tells it from others.
func (e *Evaluator) keys(n *source.Node, p Place) (keys []*source.Node, changed, ok bool) {
	keys, ok = n.Keys, true
	if !second(p.Doc) {
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

// malformed gives a key that would be a function in 2.0, were it alone.
func malformed(n *source.Node, doc *grammar.Document) *source.Node {
	if !second(doc) {
		return nil
	}
	for _, k := range n.Keys {
		if isCall(k) {
			return k
		}
	}
	return nil
}

func isCall(k *source.Node) bool {
	return k.Kind == source.String && strings.HasPrefix(k.Text, "$") && !strings.HasPrefix(k.Text, "$$")
}

// isFunction tells whether a value is a call of a function as a whole.
func (e *Evaluator) isFunction(n *source.Node, doc *grammar.Document) bool {
	if n == nil {
		return false
	}
	if n.IsScalar() {
		return second(doc) && isCall(n)
	}
	_, ok := e.functionOf(n, doc)
	return ok
}

// functionOf finds the function that a map of one key calls. In 1.x such a map
// may as well be data, so what is called must be known.
func (e *Evaluator) functionOf(n *source.Node, doc *grammar.Document) (*function, bool) {
	if n.Kind != source.Map || len(n.Keys) != 1 {
		return nil, false
	}
	k := n.Keys[0]
	if second(doc) {
		if !isCall(k) {
			return nil, false
		}
		name, _, _ := strings.Cut(k.Text[1:], "$") // what follows only keeps keys apart (TOSCA 2.0, 10.1)
		return e.lookup(name, doc), true
	}
	f := firstFunctions[k.Text]
	if f == nil || f.name == "token" && n.Items[0].Kind != source.List { // a Credential has a token
		return nil, false
	}
	return f, true
}

// lookup finds a function of 2.0, the built-in ones before those that the
// document knows, and never gives nil.
func (e *Evaluator) lookup(name string, doc *grammar.Document) *function {
	if f := secondFunctions[name]; f != nil {
		return f
	}
	if def := custom(name, doc); def != nil {
		return &function{name: name, max: -1, raw: calls(def)}
	}
	return &function{name: name, max: -1, raw: (*Evaluator).foreign}
}

// foreign is a function that nobody defined. An orchestrator may have it
// (TOSCA 2.0, 10.4), unless its name is a slip.
func (e *Evaluator) foreign(c *call) Value {
	name := c.f.name
	if near := diag.Nearest(name, secondNames(c.p.Doc)); near != "" || name == "" {
		var suggested []string
		if near != "" {
			suggested = []string{"$" + near}
		}
		e.unknown(c.fn.Pos(), CodeFunctionUnknown, "$"+name, suggested, "%s: unknown function %q", c.p.Of, "$"+name)
		return Value{}
	}
	e.warnf(c.fn.Pos(), CodeFunctionUnknown, "%s: function %q is not defined here: only an orchestrator that has it can use it", c.p.Of, "$"+name)
	for _, arg := range c.args {
		if !e.Eval(arg, c.p).OK {
			return Value{}
		}
	}
	return e.runTime(c.fn, nil)
}

// call evaluates a function.
func (e *Evaluator) call(f *function, fn, arg *source.Node, p Place) Value {
	if e.nested >= maxNested {
		e.errorf(fn.Pos(), CodeFunction, "%s: functions lead through each other more than %d deep", p.Of, maxNested)
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

	lacking *walked // what a path led to and does not have what was asked for
}

func (c *call) misuse() Value {
	c.e.errorf(c.fn.Pos(), CodeFunction, "%s: %s takes %s", c.p.Of, c.fn.Text, c.f.takes)
	return Value{}
}

func (c *call) wrong(format string, args ...any) Value {
	c.e.errorf(c.fn.Pos(), CodeFunction, "%s: %s "+format, append([]any{c.p.Of, c.fn.Text}, args...)...)
	return Value{}
}

// run evaluates the arguments, checks their types, and makes the value, or one
// of run time where an argument is such.
func (c *call) run() Value {
	ok, later := true, (*source.Node)(nil)
	for i, a := range c.args {
		v := c.e.Eval(a, c.p)
		if v.OK && v.Node == nil && v.Later == nil { // a property without a value
			v.Node = source.Scalar(source.Null, "", a)
		}
		c.vals = append(c.vals, v)
		if !v.OK {
			ok = false
			continue
		}
		if want := c.f.want(i); !c.e.accepts(want, v) {
			c.e.errorf(a.Pos(), CodeFunction, "%s: %s takes %s, and %s is %s", c.p.Of, c.fn.Text, c.f.takes, Show(v.Node), article(c.e.plainOf(v)))
			ok = false
		}
		if n := notText(v, c.f.name != "concat"); n != nil && i < c.f.texts && second(c.p.Doc) {
			c.e.errorf(n.Pos(), CodeFunction, "%s: %s puts strings together: put %s in quotes", c.p.Of, c.fn.Text, n.Text)
			ok = false
		}
		if later == nil && (v.Later != nil || hasLater(v.Node) && !c.putsTogether()) {
			later = v.Later
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
			if v, told := c.f.early(c); told {
				return v
			}
		}
		v := c.e.runTime(c.fn, c.result())
		v.Later = later
		return v
	}
	return c.f.call(c)
}

// notText gives a number or boolean that is written where a string should be, or
// in a list where strings should be; nil if there is none.
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

// putsTogether tells whether the function takes texts as they are, so that the
// path of an artifact may be one.
func (c *call) putsTogether() bool { return c.f.name == "concat" || c.f.name == "join" }

// result is the type of what the function makes: one that is its own, or that
// of the first argument whose type is known.
func (c *call) result() *Definition {
	switch {
	case c.f.result != "":
		return Of(c.f.result, c.p.Doc)
	case c.f.name == "concat" && (!second(c.p.Doc) || c.e.plainOf(c.vals[0]) != tList):
		return Of(tString, c.p.Doc)
	}
	return c.def()
}

// def is the definition of the first argument that has one.
func (c *call) def() *Definition {
	for _, v := range c.vals {
		if v.Def != nil {
			return v.Def
		}
	}
	return nil
}

// plainOf gives the built-in type of a value, "" where it is not known.
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

// accepts tells whether a value may be an argument: of one of the types, parted
// by "|", if any is wanted.
func (e *Evaluator) accepts(want string, v Value) bool {
	plain := e.plainOf(v)
	if want == "" || plain == "" {
		return true
	}
	for each := range strings.SplitSeq(want, "|") {
		if becomes(plain, each, true) || each == tScalar && isUnit(plain) {
			return true
		}
	}
	return false
}
