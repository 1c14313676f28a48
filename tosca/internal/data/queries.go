package data

import (
	"slices"
	"strings"

	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/source"
)

func (e *Evaluator) getInput(c *call) Value {
	args, later, ok := c.arguments()
	switch {
	case !ok:
		return Value{}
	case later || e.World == nil:
		return e.runTime(c.fn, nil)
	}
	v, answer := Value{}, Open
	if v.Def = c.p.Inputs[args[0].Text]; v.Def == nil {
		v, answer = e.input(args[0].Text)
	}
	switch {
	case answer == Missing:
		e.unknown(args[0].Pos(), code.FunctionInput, args[0].Text, e.World.Inputs(),
			"%s: %s names %q, which is not an input of the topology", c.p.Of, c.fn.Text, args[0].Text)
		return Value{}
	case answer == Open:
		v = e.runTime(c.fn, v.Def)
		v.Input = args[0].Text
		return c.inside(v, args[1:])
	case len(args) == 1:
		if v.OK {
			v.Input = args[0].Text
		}
		return v
	}
	return c.inside(v, args[1:])
}

func (e *Evaluator) input(name string) (Value, Answer) {
	defer e.unmute()()
	return e.World.Input(name)
}

func (e *Evaluator) getProperty(c *call) Value { return c.getMember(Property) }

// getAttribute evaluates get_attribute. Every property is an attribute, too (TOSCA 1.3,
// 3.6.12).
func (e *Evaluator) getAttribute(c *call) Value { return c.getMember(Attribute) }

// getArtifact returns the path of an artifact where paths are allowed. Further arguments
// name where to put the file.
func (e *Evaluator) getArtifact(c *call) Value {
	args, later, ok := c.arguments()
	if !ok {
		return Value{}
	}
	if later {
		return e.runTime(c.fn, Of(tString, c.p.Doc))
	}
	w, ok := c.walk(args)
	switch {
	case !ok:
		return Value{}
	case w.entity == nil:
		return e.runTime(c.fn, Of(tString, c.p.Doc))
	case len(w.rest) == 0 || len(w.rest) > 3:
		return c.misuse()
	case len(w.rest) == 3 && !isRemoval(w.rest[2]):
		c.e.errorf(w.rest[2].Pos(), code.Function, "%s: %s: whether the artifact is removed must be true or false, not %s", c.p.Of, c.fn.Text, Show(w.rest[2]))
		return Value{}
	}
	v, _, answer := c.find(w, Artifact)
	switch {
	case answer == Missing:
		return c.reportMissing(w, Artifact)
	case answer == Open || v.OK && !c.p.Artifacts:
		return e.runTime(c.fn, Of(tString, c.p.Doc))
	case v.OK && v.Node != nil:
		v.Node = source.Scalar(v.Node.Kind, v.Node.Text, c.fn)
	}
	return v
}

// isRemoval reports whether an argument is the flag to remove the artifact (TOSCA 1.3,
// 4.8.1.2).
func isRemoval(n *source.Node) bool {
	_, ok := n.Word()
	return ok || n.IsNull() || n.Text == "true" || n.Text == "false"
}

// getOutput returns a run-time value.
func (e *Evaluator) getOutput(c *call) Value {
	args, later, ok := c.arguments()
	if !ok {
		return Value{}
	}
	if later {
		return e.runTime(c.fn, nil)
	}
	w, ok := c.walk(args)
	if !ok {
		return Value{}
	}
	if w.entity == nil {
		return e.runTime(c.fn, nil)
	}
	if len(w.rest) < 3 {
		return c.misuse()
	}
	var path []string
	for i, what := range []string{"interface", "operation", "output"} {
		known := w.entity.Names(Output, path...)
		name := w.rest[i].Text
		if known != nil && !slices.Contains(known, name) {
			e.unknown(w.rest[i].Pos(), code.FunctionName, name, known, "%s: %s asks %s for %s %q, which it does not have",
				c.p.Of, c.fn.Text, describe(w.entity), what, strings.Join(append(path, name), "."))
			return Value{}
		}
		path = append(path, name)
	}
	v, answer := e.get(w.entity, Output, path...)
	if answer == Missing {
		return e.runTime(c.fn, nil)
	}
	def := v.Def
	for _, step := range w.rest[3:] {
		if def, ok = e.Within(def, step.Text); !ok {
			return c.nothing(step)
		}
	}
	return e.runTime(c.fn, def)
}

// getNodes returns a run-time value.
func (e *Evaluator) getNodes(c *call) Value {
	args, later, ok := c.arguments()
	if !ok {
		return Value{}
	}
	if doc := c.p.Doc; !later && doc != nil && doc.Scope() != nil {
		if name := args[0].Text; doc.Scope().Lookup(grammar.NodeType, name) == nil && !doc.Scope().Open() {
			e.unknown(args[0].Pos(), code.TypeUnknown, name, doc.Scope().Names(grammar.NodeType), "%s: %s names node type %q, which is not known", c.p.Of, c.fn.Text, name)
			return Value{}
		}
	}
	return e.runTime(c.fn, Of(tList, c.p.Doc))
}

// getSubject evaluates $value, the value that a validation clause checks.
func (e *Evaluator) getSubject(c *call) Value {
	args, later, ok := c.arguments()
	switch {
	case !ok:
		return Value{}
	case c.p.Value == nil:
		e.errorf(c.fn.Pos(), code.FunctionPlace, "%s: %s is only valid in a validation clause", c.p.Of, c.fn.Text)
		return Value{}
	case later:
		return e.runTime(c.fn, nil)
	}
	v := *c.p.Value
	if v.Later == nil && hasLater(v.Node) {
		v.Later = c.fn
	}
	return c.inside(v, args)
}

// getIndex returns the index of SELF among several nodes or relationships (TOSCA 2.0,
// 10.2.1.6).
func (e *Evaluator) getIndex(c *call) Value {
	if c.p.Self == nil {
		e.errorf(c.fn.Pos(), code.FunctionPlace, "%s: %s is only valid in a node or relationship", c.p.Of, c.fn.Text)
		return Value{}
	}
	if kind, _ := c.p.Self.Describe(); c.f.name == "relationship_index" && (kind == NodeEntity || kind == CapabilityEntity) {
		e.errorf(c.fn.Pos(), code.FunctionPlace, "%s: %s is only valid in a relationship", c.p.Of, c.fn.Text)
		return Value{}
	}
	return e.runTime(c.fn, Of(tInteger, c.p.Doc))
}

// getAllocation returns the unallocated part of a capability's property (TOSCA 2.0,
// 10.2.1.8).
func (e *Evaluator) getAllocation(c *call) Value {
	args, later, ok := c.arguments()
	if !ok {
		return Value{}
	}
	if later {
		return e.runTime(c.fn, nil)
	}
	w, ok := c.walk(args)
	if !ok {
		return Value{}
	}
	if w.entity == nil {
		return e.runTime(c.fn, nil)
	}
	if kind, _ := w.entity.Describe(); len(w.rest) != 1 || kind == NodeEntity || kind == RelationshipEntity {
		c.f = &function{name: c.f.name, takes: "a path to a capability, and the name of a property of it"}
		return c.misuse()
	}
	v, _, answer := c.find(w, Property)
	if answer == Missing {
		return c.reportMissing(w, Property)
	}
	if plain := e.Plain(v.Def); plain != "" && plain != tInteger && plain != tFloat && plain != tScalar && !isUnit(plain) {
		return c.wrong("asks for property %q, which is %s: only numbers and scalars can be allocated", w.rest[0].Text, article(plain))
	}
	return e.runTime(c.fn, v.Def)
}

// custom returns the definition of a custom function, or nil.
func custom(name string, doc *grammar.Document) *grammar.FunctionDef {
	if doc == nil || doc.Scope() == nil {
		return nil
	}
	return doc.Scope().Function(name)
}

// calls returns the implementation of a custom function: it checks the arguments against
// the signatures, and the first match wins (TOSCA 2.0, 10.4).
func calls(def *grammar.FunctionDef) func(*Evaluator, *call) Value {
	return func(e *Evaluator, c *call) Value {
		var vals []Value
		ok := true
		for _, arg := range c.args {
			v := e.Eval(arg, c.p)
			vals, ok = append(vals, v), ok && v.OK
		}
		if !ok {
			return Value{}
		}
		if len(def.Signatures) == 0 {
			return e.runTime(c.fn, nil)
		}
		for _, s := range def.Signatures {
			if e.matchesSignature(s, vals, def.Doc) {
				return e.runTime(c.fn, resultOf(s, def.Doc))
			}
		}
		return c.wrong("is called with arguments that no signature of it has")
	}
}

func resultOf(s *grammar.Signature, doc *grammar.Document) *Definition {
	if s.Result == nil {
		return nil
	}
	return &Definition{Schema: s.Result, Doc: doc}
}

func (e *Evaluator) matchesSignature(s *grammar.Signature, vals []Value, doc *grammar.Document) bool {
	schemas := slices.Concat(s.Arguments, s.Optional)
	if s.Variadic == nil && len(vals) > len(schemas) || len(vals) < len(s.Arguments) {
		return false
	}
	if s.Variadic != nil {
		schemas = append(schemas, s.Variadic)
	}
	failed := e.failed
	e.quiet++
	defer func() { e.quiet, e.failed = e.quiet-1, failed }()
	for i, v := range vals {
		if len(schemas) == 0 {
			return true // any number of any type
		}
		schema := schemas[min(i, len(schemas)-1)]
		if !e.CheckValue(v, &Definition{Schema: schema, Doc: doc}, Place{Doc: doc, Self: Anything}) {
			return false
		}
	}
	return true
}
