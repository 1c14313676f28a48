package data

import (
	"slices"

	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/source"
)

var constraintNames = []string{
	kEqual, kGreaterThan, kGreaterOrEqual, kLessThan, kLessOrEqual, kInRange, kValidValues, kLength, kMinLength, kMaxLength, kPattern, kSchema,
}

// Clause checks a condition clause of 1.x (TOSCA 1.3, 3.6.25): assertions on
// attributes of SELF, put together by and, or and not. A string is what early
// versions wrote, and says nothing that can be checked.
func (e *Evaluator) Clause(n *source.Node, p Place) bool {
	before := e.wrong()
	e.clause(n, p)
	return e.wrong() == before
}

// Threshold checks the constraint in the extended condition of a trigger: a
// condition clause, or the constraint clauses alone that 1.1 and 1.2 have in its
// place, of what the event is about (TOSCA 1.1, 3.5.16.1).
func (e *Evaluator) Threshold(n *source.Node, p Place) bool {
	if !constrains(n) {
		return e.Clause(n, p)
	}
	_, ok := e.constraintsOf(n, p)
	return ok
}

// constrains tells constraints alone, each an operator and its operand, from
// assertions on attributes, which have lists of constraints or a single one.
func constrains(n *source.Node) bool {
	if n.IsNull() || n.Kind == source.String {
		return false
	}
	if n.Kind == source.List {
		return len(n.Items) > 0 && !slices.ContainsFunc(n.Items, func(item *source.Node) bool { return !constrains(item) })
	}
	return n.Kind == source.Map && len(n.Keys) == 1 && slices.Contains(constraintNames, n.Keys[0].Text) && !isAssertion(n.Items[0])
}

// isAssertion reports whether what stands with a name are constraints of it.
func isAssertion(n *source.Node) bool {
	if n.IsNull() {
		return false
	}
	return n.Kind == source.Map || n.Kind == source.List && slices.ContainsFunc(n.Items, func(item *source.Node) bool { return !item.IsNull() && item.Kind == source.Map })
}

func (e *Evaluator) clause(n *source.Node, p Place) {
	switch {
	case n.IsNull() || n.Kind == source.String || !e.spend(1):
	case n.Kind == source.List:
		for _, item := range n.Items {
			e.clause(item, p)
		}
	case n.Kind != source.Map:
		e.errorf(n.Pos(), code.ConstraintWrong, "%s must be a list of conditions, not %s", p.Of, Show(n))
	default:
		for k, v := range n.Pairs() {
			switch k.Text {
			case "and", "or", "not", "assert":
				if v.IsScalar() {
					e.errorf(v.Pos(), code.ConstraintWrong, "%s: %q must have a list of conditions, not %s", p.Of, k.Text, Show(v))
					continue
				}
				e.clause(v, p)
			default:
				e.assertion(k, v, p)
			}
		}
	}
}

// assertion checks the constraints that an attribute must keep, all of them.
func (e *Evaluator) assertion(name, n *source.Node, p Place) {
	constraints, ok := e.constraintsOf(n, p.part(quote(name.Text)))
	if !ok {
		return
	}
	self := p.Self
	if self == nil {
		self = Anything
	}
	v, answer := e.get(self, Attribute, name.Text)
	switch {
	case answer == Missing:
		_, of := self.Describe()
		e.errorf(name.Pos(), code.FunctionName, "%s names attribute %q, which %s does not have", p.Of, name.Text, of)
	case v.Def != nil && e.Type(v.Def) != nil:
		for _, k := range constraints {
			e.declareConstraint(k, e.Type(v.Def), p.part(quote(name.Text)))
		}
	}
}

// constraintsOf reads constraints: a list of maps of one key, or a single one.
func (e *Evaluator) constraintsOf(n *source.Node, p Place) (all []*grammar.Constraint, ok bool) {
	items := []*source.Node{n}
	if n != nil && n.Kind == source.List {
		items = n.Items
	}
	ok = true
	for _, item := range items {
		if item.IsNull() || item.Kind != source.Map || len(item.Keys) != 1 {
			e.errorf(orElse(item, n).Pos(), code.ConstraintWrong, "%s must be a list of constraints, each a map of one key, not %s", p.Of, Show(n))
			return nil, false
		}
		k := item.Keys[0]
		if !slices.Contains(constraintNames, k.Text) {
			e.unknown(k.Pos(), code.ConstraintWrong, k.Text, constraintNames, "%s: unknown constraint %q", p.Of, k.Text)
			ok = false
			continue
		}
		all = append(all, &grammar.Constraint{Pos: k.Pos(), Operator: k.Text, Operand: item.Items[0]})
	}
	return all, ok
}

func orElse(item, otherwise *source.Node) *source.Node {
	if item == nil {
		return otherwise
	}
	return item
}
