package data

import (
	"strings"

	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/source"
)

// call evaluates a function.
func (e *Evaluator) call(f *function, fn, arg *source.Node, p Place) Value {
	if e.nested >= maxNested {
		e.errorf(fn.Pos(), code.Function, "%s: functions lead through each other more than %d deep", p.Of, maxNested)
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

	lacking *reach // what a path led to and does not have what was asked for
}

func (c *call) misuse() Value {
	c.e.errorf(c.fn.Pos(), code.Function, "%s: %s takes %s", c.p.Of, c.fn.Text, c.f.takes)
	return Value{}
}

func (c *call) wrong(format string, args ...any) Value {
	c.e.errorf(c.fn.Pos(), code.Function, "%s: %s "+format, append([]any{c.p.Of, c.fn.Text}, args...)...)
	return Value{}
}

// run evaluates the arguments, checks their types, and makes the value, or one
// of run time where an argument is such.
func (c *call) run() Value {
	ok, later := true, (*source.Node)(nil)
	p := c.p
	p.Meant = nil
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
			c.e.errorf(n.Pos(), code.Function, "%s: %s puts strings together: put %s in quotes", c.p.Of, c.fn.Text, n.Text)
			ok = false
		}
		if n := notWord(v); n != nil && c.f.texts > 0 && !c.p.Doc.V2() {
			c.e.errorf(n.Pos(), code.Function, "%s: %s puts strings together, and %s is %s", c.p.Of, c.fn.Text, Show(n), article(n.Kind.String()))
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

// notText returns a number or boolean that is written where a string should be, or
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

// notWord returns a list or map among the entries of a list; nil if there is none.
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

// putsTogether reports whether the function takes texts as they are, so that the
// path of an artifact may be one.
func (c *call) putsTogether() bool { return c.f.name == "concat" || c.f.name == "join" }

// result is the type of what the function makes: one that is its own, or that
// of the first argument whose type is known.
func (c *call) result() *Definition {
	switch {
	case c.f.result == tList && c.def() != nil: // with its entries
		return c.def()
	case c.f.result != "":
		return Of(c.f.result, c.p.Doc)
	case c.f.name == "concat" && (!c.p.Doc.V2() || c.e.plainOf(c.vals[0]) != tList):
		return Of(tString, c.p.Doc)
	case c.f.reckons:
		return c.reckoned()
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

// plainOf returns the built-in type of a value, "" where it is not known.
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

// accepts reports whether a value may be an argument: of one of the types, parted
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
