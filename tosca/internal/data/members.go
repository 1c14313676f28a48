package data

import (
	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/source"
)

// find looks up a member: of the entity, of its hosts, or of the requirement or
// capability that the next name is (TOSCA 1.3, 4.4.2).
func (c *call) find(w reach, m Member) (v Value, rest []*source.Node, answer Answer) {
	name := w.rest[0].Text
	for range maxSteps {
		if !c.e.spend(1) {
			return Value{}, nil, Found
		}
		if v, answer = c.e.get(w.entity, m, name); answer != Missing {
			return v, w.rest[1:], answer
		}
		if v, rest, answer = c.through(w, m); answer != Missing {
			return v, rest, answer
		}
		next, led := w.entity.Follow(Step{Kind: ToHost})
		if !w.host || led == Missing {
			return Value{}, nil, Missing
		}
		if led == Open {
			return Value{}, nil, Open
		}
		w.entity = next
	}
	return Value{}, nil, Missing
}

// through looks up a member of a named requirement or capability.
func (c *call) through(w reach, m Member) (Value, []*source.Node, Answer) {
	if kind, _ := w.entity.Describe(); kind != NodeEntity || len(w.rest) < 2 {
		return Value{}, nil, Missing
	}
	name, rest := w.rest[0].Text, w.rest[1:]
	step := Step{Kind: ToRelationship, Name: name}
	if i, ok := Integer(rest[0]); ok && len(rest) > 1 {
		step.Index, rest = int(min(max(i, 0), 1<<20)), rest[1:]
	}
	switch rel, answer := w.entity.Follow(step); answer {
	case Open:
		return Value{}, nil, Open
	case Found:
		if v, answer := c.along(rel, rest, m); answer != Missing {
			return v, rest[1:], answer
		}
		if v, answer := c.beyond(rel, rest, m); answer != Missing {
			return v, rest[2:], answer
		}
	default:
	}
	next, answer := w.entity.Follow(Step{Kind: ToCapability, Name: name})
	if answer != Found {
		return Value{}, nil, answer
	}
	v, answer := c.of(next, w.rest[1:], m)
	return v, w.rest[2:], answer
}

// along looks up a member of a relationship's target, or else of the relationship. Both
// the target and its capability may have it; the first with a value wins.
func (c *call) along(rel Entity, rest []*source.Node, m Member) (v Value, answer Answer) {
	var empty *Value
	for _, to := range []StepKind{ToCapability, ToTarget} {
		next, led := rel.Follow(Step{Kind: to})
		if led == Open {
			return Value{}, Open
		}
		if led != Found {
			continue
		}
		switch v, answer = c.of(next, rest, m); {
		case answer == Missing:
		case answer == Open || !v.OK || v.Later != nil || !v.Node.IsNull():
			return v, answer
		default:
			empty = &v
		}
	}
	if empty != nil {
		return *empty, Found
	}
	return c.e.get(rel, m, rest[0].Text)
}

// beyond looks up a member of a capability that has the name of the requirement, as
// documents of 1.x write it.
func (c *call) beyond(rel Entity, rest []*source.Node, m Member) (Value, Answer) {
	target, led := rel.Follow(Step{Kind: ToTarget})
	if c.p.Doc.V2() || len(rest) < 2 || led != Found {
		return Value{}, Missing
	}
	next, led := target.Follow(Step{Kind: ToCapability, Name: rest[0].Text})
	if led != Found {
		return Value{}, Missing
	}
	return c.of(next, rest[1:], m)
}

// of is get, and remembers an entity without the member.
func (c *call) of(entity Entity, rest []*source.Node, m Member) (Value, Answer) {
	v, answer := c.e.get(entity, m, rest[0].Text)
	if answer == Missing {
		c.missing = &reach{entity: entity, rest: rest}
	}
	return v, answer
}

// getMember evaluates get_property and similar functions.
func (c *call) getMember(m Member) Value {
	args, later, ok := c.arguments()
	if !ok {
		return Value{}
	}
	if later {
		return c.e.runTime(c.fn, nil)
	}
	w, ok := c.walk(args)
	if !ok {
		return Value{}
	}
	switch {
	case w.many:
		return c.e.runTime(c.fn, Of(tList, c.p.Doc))
	case w.entity == nil:
		return c.e.runTime(c.fn, nil)
	case len(w.rest) == 0:
		return c.misuse()
	}
	v, rest, answer := c.find(w, m)
	switch {
	case answer == Missing:
		return c.reportMissing(w, m)
	case answer == Open:
		return c.inside(c.e.runTime(c.fn, v.Def), rest)
	case v.Busy:
		c.e.errorf(c.fn.Pos(), code.FunctionCycle, "%s: the result of %s, %q of %s, depends on itself", c.p.Of, c.fn.Text, w.rest[0].Text, describe(w.entity))
		return Value{}
	}
	return c.inside(v, rest)
}

func describe(of Entity) string {
	_, name := of.Describe()
	return name
}

// reportMissing reports a missing member.
func (c *call) reportMissing(w reach, m Member) Value {
	if c.missing != nil {
		w = *c.missing
	}
	var names []string
	if c.e.Suggesting() {
		names = w.entity.Names(m)
	}
	at := w.rest[0]
	c.e.unknown(at.Pos(), code.FunctionName, at.Text, names, "%s: %s asks %s for %q, which it does not have", c.p.Of, c.fn.Text, describe(w.entity), at.Text)
	return Value{}
}

// inside follows keys and indices into a value.
func (c *call) inside(v Value, path []*source.Node) Value {
	for _, step := range path {
		if v.OK {
			v = c.part(v, step)
		}
	}
	return v
}

// part returns one part of a value. A part of no value is no value. A missing field has
// its default.
func (c *call) part(v Value, step *source.Node) Value {
	t, at := c.e.Type(v.Def), v.Node
	if step.Text == "INDEX" && !c.p.Doc.V2() && (at.IsNull() || at.Kind == source.List) {
		return c.e.runTime(c.fn, c.e.entry(v.Def)) // of the node that is made (TOSCA 1.3, 2.20.2)
	}
	def, can := c.e.Within(v.Def, step.Text)
	if !can && at.IsNull() || !can && at.IsScalar() {
		return c.nothing(step)
	}
	var next *source.Node
	switch {
	case at.IsNull():
		return Value{Def: def, Size: 1, OK: true}
	case at.Kind == source.Later && c.p.Doc.V2() && t != nil && t.plain == tList && step.IsScalar() && asInteger(step).Kind != source.Int:
		return c.nothing(step)
	case at.Kind == source.Later:
		return c.e.runTime(v.Later, def)
	case at.Kind == source.List:
		if i, ok := Integer(asInteger(step)); ok && 0 <= i && i < int64(len(at.Items)) {
			next = at.Items[i]
		}
	default:
		next = at.Get(step.Text)
	}
	switch {
	case next == nil && t != nil && t.fields[step.Text] != nil:
		return Value{Node: def.Fallback(), Def: def, Size: 1, OK: true}
	case next == nil:
		return c.nothing(step)
	}
	made := Value{Node: next, Def: def, Size: 1, OK: true}
	if !next.IsScalar() {
		made.Size = v.Size
	}
	if v.Later != nil && hasLater(next) {
		made.Later = v.Later
	}
	return made
}

func (c *call) nothing(step *source.Node) Value {
	c.e.errorf(step.Pos(), code.FunctionName, "%s: %s finds no %q in the value", c.p.Of, c.fn.Text, step.Text)
	return Value{}
}
