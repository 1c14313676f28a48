package data

import (
	"slices"
	"strconv"

	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/source"
)

// maxSteps bounds the number of hosts that HOST follows.
const maxSteps = 1000

// reach is the end of a path: an entity, or unknown.
type reach struct {
	entity Entity // nil if unknown
	rest   []*source.Node
	host   bool // its hosts are searched, too
	many   bool // several entities, whose members make a list
}

// arguments evaluates the arguments of a path, which must be scalars. later is set if
// one is a run-time value.
func (c *call) arguments() (args []*source.Node, later, ok bool) {
	for _, a := range c.args {
		v := c.e.Eval(a, c.p)
		switch {
		case !v.OK:
			return nil, false, false
		case v.Later != nil:
			later = true
		case v.Node.IsNull() || !v.Node.IsScalar():
			c.misuse()
			return nil, false, false
		}
		args = append(args, v.Node)
	}
	return args, later, true
}

// walk follows the path at the beginning of the arguments. If it ends early, it reports
// that and returns false.
func (c *call) walk(args []*source.Node) (w reach, ok bool) {
	w.rest = args[1:]
	name := args[0].Text
	_, relative := ends[name]
	switch {
	case name == "SELF":
		if c.p.Self == nil {
			c.e.errorf(args[0].Pos(), code.FunctionEntity, "%s: SELF is not valid here", c.p.Of)
			return w, false
		}
		w.entity = c.p.Self
	case relative && !c.p.Doc.V2():
		return c.relative(args[0], w)
	case relative && (c.e.World == nil || c.e.entity(name) == nil):
		c.e.errorf(args[0].Pos(), code.FunctionEntity, "%s: %s begins with %s, as in TOSCA 1.x; in 2.0 a path begins with SELF or a node template", c.p.Of, c.fn.Text, name)
		return w, false
	default:
		if c.e.World == nil {
			return w, true
		}
		if w.entity = c.e.entity(name); w.entity == nil {
			c.e.unknown(args[0].Pos(), code.FunctionEntity, name, c.templates(),
				"%s: %s names %q, which is not in the topology", c.p.Of, c.fn.Text, name)
			return w, false
		}
		if len(w.rest) > 1 && isIndex(w.rest[0]) { // of several nodes made from one template
			if !c.counts(w.rest[0]) {
				return w, false
			}
			if w.rest[0].Text == "ALL" {
				return reach{many: true}, true
			}
			w.rest = w.rest[1:]
		}
	}
	return c.follow(w)
}

func (c *call) templates() []string {
	if !c.e.Suggesting() {
		return nil
	}
	return c.e.World.Templates()
}

func isIndex(n *source.Node) bool { return n.Kind == source.Int || n.Text == "ALL" }

// counts rejects a negative index (TOSCA 2.0, 10.3).
func (c *call) counts(n *source.Node) bool {
	if i, ok := Integer(n); n.Kind != source.Int || ok && i >= 0 {
		return true
	}
	c.e.errorf(n.Pos(), code.Function, "%s: %s counts from 0 and has no index %s", c.p.Of, c.fn.Text, n.Text)
	return false
}

// ends are the first words of a path in 1.x.
var ends = map[string]StepKind{"HOST": ToHost, "SOURCE": ToSource, "TARGET": ToTarget}

// relative starts at an entity relative to SELF.
func (c *call) relative(name *source.Node, w reach) (reach, bool) {
	step := ends[name.Text]
	if c.p.Self == nil {
		c.e.errorf(name.Pos(), code.FunctionEntity, "%s: %s is not valid here", c.p.Of, name.Text)
		return w, false
	}
	if kind, _ := c.p.Self.Describe(); step != ToHost && kind == NodeEntity {
		c.e.errorf(name.Pos(), code.FunctionEntity, "%s: %s is only valid in a relationship", c.p.Of, name.Text)
		return w, false
	}
	next, answer := c.p.Self.Follow(Step{Kind: step})
	if answer == Missing {
		c.e.errorf(name.Pos(), code.FunctionEntity, "%s: there is no %s", c.p.Of, name.Text)
		return w, false
	}
	w.entity, w.host = next, step == ToHost
	return c.follow(w)
}

// follow follows explicit steps.
func (c *call) follow(w reach) (reach, bool) {
	for len(w.rest) > 1 && w.entity != nil {
		kind, name := w.entity.Describe()
		step, used := stepAt(kind, w.rest)
		if used == 0 || used >= len(w.rest) {
			return w, true
		}
		if !c.e.spend(1) || !c.counts(w.rest[used-1]) {
			return w, false
		}
		next, answer := w.entity.Follow(step)
		if answer == Missing {
			what := map[StepKind]string{ToRelationship: "requirement ", ToCapability: "capability "}[step.Kind]
			at := w.rest[min(1, used-1)]
			if step.Name == "" {
				what, at = "", w.rest[0]
			}
			c.e.errorf(at.Pos(), code.FunctionName, "%s: %s asks %s for %s%q, which it does not have", c.p.Of, c.fn.Text, name, what, at.Text)
			return w, false
		}
		w.rest, w.host = w.rest[used:], false
		if w.entity = next; answer == Open || step.Index == All {
			w.entity, w.many = nil, step.Index == All
		}
	}
	return w, true
}

// stepAt parses the next step of a path, and returns its number of arguments, or 0 if
// there is none.
func stepAt(kind EntityKind, path []*source.Node) (s Step, used int) {
	word := path[0].Text
	switch {
	case word == "RELATIONSHIP" && kind == CapabilityEntity:
		s, used = Step{Kind: ToRelationship}, 1
	case word == "RELATIONSHIP" && kind == NodeEntity:
		s, used = Step{Kind: ToRelationship, Name: path[1].Text}, 2
	case word == "CAPABILITY" && kind == NodeEntity:
		return Step{Kind: ToCapability, Name: path[1].Text}, 2
	case word == "CAPABILITY" && kind == RelationshipEntity:
		return Step{Kind: ToCapability}, 1
	case word == "SOURCE" && kind == RelationshipEntity:
		return Step{Kind: ToSource}, 1
	case word == "TARGET" && kind == RelationshipEntity:
		return Step{Kind: ToTarget}, 1
	case word == "HOST" && kind == NodeEntity: // of 1.x
		return Step{Kind: ToHost}, 1
	default:
		return s, 0
	}
	if used < len(path) && isIndex(path[used]) {
		s.Index = All
		if i, ok := Integer(path[used]); ok {
			s.Index = int(min(max(i, 0), 1<<20))
		}
		used++
	}
	return s, used
}

// entity, get and lead call the world. Errors found there belong to other values, so
// they are always reported.
func (e *Evaluator) entity(name string) Entity {
	defer e.unmute()()
	return e.World.Entity(name)
}

func (e *Evaluator) get(from Entity, m Member, name ...string) (Value, Answer) {
	defer e.unmute()()
	return from.Get(m, name...)
}

func (e *Evaluator) unmute() (restore func()) {
	quiet := e.quiet
	e.quiet = 0
	return func() { e.quiet = quiet }
}

// Convert converts a value to its definition, also within lists, maps and complex types.
// For example, yes is true for a boolean and a string otherwise, and 1.10 is a string
// for a version, which differs from 1.1, and a number otherwise.
func (e *Evaluator) Convert(n *source.Node, d *Definition) *source.Node {
	if n.IsNull() || d == nil {
		return n
	}
	t := e.Type(d)
	switch {
	case t == nil:
		return n
	case n.Kind == source.String && t.plain == tBoolean:
		if value, ok := n.Word(); ok {
			return source.Scalar(source.Bool, strconv.FormatBool(value), n)
		}
	case (n.Kind == source.Int || n.Kind == source.Float) && t.plain == tVersion:
		return source.Scalar(source.String, n.Text, n)
	case n.Kind == source.List:
		entry := e.Entry(d)
		return withItems(n, func(int) *Definition { return entry }, e.Convert)
	case n.Kind == source.Map && len(t.fields) > 0:
		return withItems(n, func(i int) *Definition { return t.fields[n.Keys[i].Text] }, e.Convert)
	case n.Kind == source.Map:
		entry := e.Entry(d)
		return withItems(n, func(int) *Definition { return entry }, e.Convert)
	}
	return n
}

// withItems returns a list or map with converted entries, or the same one if nothing
// changes.
func withItems(n *source.Node, def func(i int) *Definition, made func(*source.Node, *Definition) *source.Node) *source.Node {
	var items []*source.Node
	for i, item := range n.Items {
		now := made(item, def(i))
		if now == item {
			continue
		}
		if items == nil {
			items = slices.Clone(n.Items)
		}
		items[i] = now
	}
	if items == nil {
		return n
	}
	return source.At(n.Kind, n.Keys, items, n)
}
