package data

import (
	"encoding/base64"
	"errors"
	"math/big"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"github.com/toskose/toskose/internal/suggest"
	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/source"
)

const unbounded = "UNBOUNDED"

// The constraints of 1.x (TOSCA 1.3, 3.6.3).
const (
	kEqual          = "equal"
	kGreaterThan    = "greater_than"
	kGreaterOrEqual = "greater_or_equal"
	kLessThan       = "less_than"
	kLessOrEqual    = "less_or_equal"
	kInRange        = "in_range"
	kValidValues    = "valid_values"
	kLength         = "length"
	kMinLength      = "min_length"
	kMaxLength      = "max_length"
	kPattern        = "pattern"
	kSchema         = "schema"
)

// constrain reports whether a value of a type keeps constraints. One that makes
// no sense is reported where it is written, and holds here.
func (e *Evaluator) constrain(n *source.Node, t *Type, constraints []*grammar.Constraint, p Place) bool {
	if len(constraints) == 0 || hasLater(n) {
		return true
	}
	ok := true
	for _, k := range constraints {
		if !e.spend(1 + len(k.Operand.Items)) {
			return false
		}
		if kept, sensible := e.keeps(n, t, k); kept || !sensible {
			continue
		}
		ok = false
		const broken = "%s is %s, which breaks the constraint %s: %s"
		if near := nearestValue(n, k); near != "" {
			e.unknown(n.Pos(), code.ValueConstraint, n.Text, []string{near}, broken, p.Of, Show(n), k.Operator, Show(k.Operand))
			continue
		}
		e.errorf(n.Pos(), code.ValueConstraint, broken, p.Of, Show(n), k.Operator, Show(k.Operand))
	}
	return ok
}

// nearestValue returns what may have been meant by a text that is none of the valid
// values, or an empty string.
func nearestValue(n *source.Node, k *grammar.Constraint) string {
	if k.Operator != kValidValues || n.Kind != source.String || k.Operand.Kind != source.List || len(k.Operand.Items) > maxShown {
		return ""
	}
	var valid []string
	for _, item := range k.Operand.Items {
		if item.Kind == source.String {
			valid = append(valid, item.Text)
		}
	}
	return suggest.Nearest(n.Text, valid)
}

// keeps reports whether a value keeps a constraint; sensible is false where that
// cannot be told.
func (e *Evaluator) keeps(n *source.Node, t *Type, k *grammar.Constraint) (kept, sensible bool) {
	if k.Operand == nil || e.isFunction(k.Operand, t.doc) {
		return false, false
	}
	switch k.Operator {
	case kEqual:
		return e.equalOf(n, k.Operand, t), true
	case kGreaterThan, kGreaterOrEqual, kLessThan, kLessOrEqual:
		return ordered(n, k.Operand, t, k.Operator)
	case kInRange:
		return inRange(n, k.Operand, t)
	case kValidValues:
		if k.Operand.Kind != source.List {
			return false, false
		}
		for _, item := range k.Operand.Items {
			if e.equalOf(n, item, t) {
				return true, true
			}
		}
		return false, true
	case kLength, kMinLength, kMaxLength:
		have, can := length(n, t.plain)
		want, isInt := Integer(k.Operand)
		if !can || !isInt {
			return false, false
		}
		return compares(have-int(min(want, 1<<40)), map[string]string{kLength: kEqual, kMinLength: kGreaterOrEqual, kMaxLength: kLessOrEqual}[k.Operator]), true
	case kPattern:
		re, err := e.pattern(k.Operand, true)
		if err != nil || !e.spend(matching(n.Text, k.Operand.Text)) {
			return false, false
		}
		return n.IsScalar() && re.MatchString(n.Text), true
	case grammar.Software:
		return supports(n, k.Operand), n.Kind == source.Map
	case grammar.Entries:
		return holds(n, k.Operand), n.Kind == source.Map
	default: // schema: of an external language, which nobody checks
		return false, false
	}
}

// holds reports whether a map has all entries of another one, of which one without a
// value may have any.
func holds(n, wanted *source.Node) bool {
	for name, value := range wanted.Pairs() {
		if has := n.Get(name.Text); has == nil || !value.IsNull() && Text(has) != Text(value) {
			return false
		}
	}
	return true
}

// supports reports whether there is software of all the versions that are asked for,
// each of as many parts as its author cares for, or with an x for any.
func supports(n, wanted *source.Node) bool {
	for name, version := range wanted.Pairs() {
		has := n.Get(name.Text)
		if has == nil {
			return false
		}
		parts := strings.Split(has.Text, ".")
		for i, part := range strings.Split(version.Text, ".") {
			if version.IsNull() || part == "x" || part == "*" {
				break
			}
			if i >= len(parts) || parts[i] != part {
				return false
			}
		}
	}
	return true
}

func (e *Evaluator) equalOf(a, b *source.Node, t *Type) bool { return e.Equal(a, b, t.definition()) }

// length counts the characters of a string, the bytes of bytes, or the entries
// of a list or map.
func length(n *source.Node, plain string) (int, bool) {
	switch {
	case n.Kind == source.List || n.Kind == source.Map:
		return len(n.Items), true
	case n.Kind == source.String && plain == tBytes:
		decoded, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(n.Text), ""))
		return len(decoded), err == nil
	case n.Kind == source.String:
		return utf8.RuneCountInString(n.Text), true
	}
	return 0, false
}

func compares(order int, operator string) bool {
	switch operator {
	case kEqual:
		return order == 0
	case kGreaterThan:
		return order > 0
	case kGreaterOrEqual:
		return order >= 0
	case kLessThan:
		return order < 0
	default:
		return order <= 0
	}
}

func ordered(a, b *source.Node, t *Type, operator string) (kept, sensible bool) {
	order, ok := t.Compare(a, b)
	return ok && compares(order, operator), ok
}

// inRange reports whether a value is between two bounds; of a range, both its
// ends must be (as the normative PortSpec has it).
func inRange(n, bounds *source.Node, t *Type) (kept, sensible bool) {
	if bounds.Kind != source.List || len(bounds.Items) != 2 {
		return false, false
	}
	if n.Kind == source.List {
		kept = true
		for _, end := range n.Items {
			in, can := inRange(end, bounds, &Type{plain: tInteger})
			if end.Text == unbounded {
				in, can = bounds.Items[1].Text == unbounded, true
			}
			if !can {
				return false, false
			}
			kept = kept && in
		}
		return kept, true
	}
	kept = true
	for i, operator := range []string{kGreaterOrEqual, kLessOrEqual} {
		bound := bounds.Items[i]
		if bound.Text == unbounded {
			continue
		}
		ok, can := ordered(n, bound, t, operator)
		if !can {
			return false, false
		}
		kept = kept && ok
	}
	return kept, true
}

// matching is the work of matching a text with a regular expression. Where both
// are long it takes the product of their lengths, some steps for each byte.
func matching(text, pattern string) int {
	if product := len(text) * len(pattern); product > 1<<16 {
		return 4 * product
	}
	return len(text) * (1 + len(pattern)/16)
}

var errNoText = errors.New("it is not a string")

// pattern compiles a regular expression, once; one that is anchored must match
// a text as a whole.
func (e *Evaluator) pattern(n *source.Node, anchored bool) (*regexp.Regexp, error) {
	if !n.IsScalar() || n.IsNull() {
		return nil, errNoText
	}
	text := n.Text
	if anchored { // what is wrong with the expression is not to be seen within brackets
		if _, err := e.pattern(n, false); err != nil {
			return nil, err
		}
		text = `\A(?:` + text + `)\z`
	}
	if made, ok := e.patterns[text]; ok {
		return made.Regexp, made.err
	}
	if e.patterns == nil {
		e.patterns = map[string]pattern{}
	}
	re, err := regexp.Compile(text)
	e.patterns[text] = pattern{re, err}
	return re, err
}

// foreignSyntax reports whether a regular expression cannot be read because it is
// of a language that has more than the one that is read here: look-around, back
// references, possessive repeats, classes of XML Schema. The standard names no
// language, so such an expression is not wrong.
func foreignSyntax(err error) bool {
	var bad *syntax.Error
	if !errors.As(err, &bad) {
		return false
	}
	switch bad.Code {
	case syntax.ErrInvalidPerlOp, syntax.ErrInvalidEscape, syntax.ErrInvalidRepeatOp, syntax.ErrInvalidRepeatSize,
		syntax.ErrInvalidNamedCapture, syntax.ErrLarge, syntax.ErrNestingDepth:
		return true
	case syntax.ErrInvalidCharRange: // of a class that has a name
		return strings.HasPrefix(bad.Expr, `\p`) || strings.HasPrefix(bad.Expr, `\P`) || strings.HasPrefix(bad.Expr, "[:")
	default:
		return false
	}
}

// Compare orders two values of a type; ok is false where they have no order.
// Nil stands for a type that is not known: then what YAML says of the values
// decides. Of the values of one type the order is total.
func (t *Type) Compare(a, b *source.Node) (order int, ok bool) {
	plain := ""
	if t != nil {
		plain = t.plain
	}
	switch {
	case plain == tScalar || isUnit(plain):
		return t.compareScalars(a, b)
	case plain == tVersion:
		return compareVersions(a.Text, b.Text)
	case plain == tTimestamp:
		x, okX := instant(a.Text, false)
		y, okY := instant(b.Text, false)
		return x.Compare(y), okX && okY
	}
	if order, ok := compareNumbers(a, b); ok {
		return order, true
	}
	if a.Kind == source.String && b.Kind == source.String {
		return strings.Compare(a.Text, b.Text), true
	}
	return 0, false
}

// compareScalars compares by worth. A plain number is one of the canonical
// unit's (as in TOSCA 2.0, 9.1.2.2.2).
func (t *Type) compareScalars(a, b *source.Node) (order int, ok bool) {
	x, okX := t.worth(a)
	y, okY := t.worth(b)
	if !okX || !okY {
		return 0, false
	}
	return x.Cmp(y), true
}

// Worth is what a number, or a text with a unit, comes to in the smallest unit of a
// type; ok is false where that is not known.
func (e *Evaluator) Worth(n *source.Node, d *Definition) (worth *big.Rat, ok bool) {
	t := e.Type(d)
	if t == nil || n == nil || !n.IsScalar() {
		return nil, false
	}
	return t.worth(n)
}

func (t *Type) worth(n *source.Node) (*big.Rat, bool) {
	if n.Kind != source.Int && n.Kind != source.Float {
		_, worth, ok := t.amount(n)
		return worth, ok
	}
	worth, ok := rational(n.Text)
	if ok && t.scalar != nil && t.scalar.units[t.scalar.canonical] != nil {
		worth.Mul(worth, t.scalar.units[t.scalar.canonical])
	}
	return worth, ok
}

// Equal reports whether two values of a type are equal: those that have an order
// by it, whatever they look like; lists and maps by what is in them.
func (e *Evaluator) Equal(a, b *source.Node, d *Definition) bool { return e.equal(a, b, d, 0) }

func (e *Evaluator) equal(a, b *source.Node, d *Definition, depth int) bool {
	if a.IsNull() || b.IsNull() {
		return a.IsNull() && b.IsNull()
	}
	if !e.spend(1) || depth > 2*maxGiven+2 {
		return false
	}
	if e.Plain(d) == tBoolean {
		x, okX := a.Word()
		y, okY := b.Word()
		return okX && okY && x == y
	}
	if order, ok := e.Type(d).Compare(a, b); ok {
		return order == 0
	}
	if a.Kind != b.Kind || len(a.Items) != len(b.Items) {
		return false
	}
	switch a.Kind {
	case source.List:
		for i, item := range a.Items {
			if part, _ := e.Within(d, "0"); !e.equal(item, b.Items[i], part, depth+1) {
				return false
			}
		}
		return true
	case source.Map:
		for k, v := range a.Pairs() {
			part, _ := e.Within(d, k.Text)
			if other := b.Get(k.Text); other == nil || !e.equal(v, other, part, depth+1) {
				return false
			}
		}
		return true
	case source.Bool:
		return strings.EqualFold(a.Text, b.Text)
	default:
		return a.Text == b.Text
	}
}
