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

// constrain reports whether a value satisfies constraints. An invalid constraint is
// reported where it is written, and counts as satisfied.
func (e *Evaluator) constrain(n *source.Node, t *Type, constraints []*grammar.Constraint, p Place) bool {
	if len(constraints) == 0 || hasLater(n) {
		return true
	}
	ok := true
	for _, k := range constraints {
		if !e.spend(1 + len(k.Operand.Items)) {
			return false
		}
		if kept, sensible := e.satisfies(n, t, k); kept || !sensible {
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

// nearestValue returns the valid value that a text may be a misspelling of, or an empty
// string.
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

// satisfies reports whether a value satisfies a constraint; sensible is false if the
// constraint is invalid.
func (e *Evaluator) satisfies(n *source.Node, t *Type, k *grammar.Constraint) (kept, sensible bool) {
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
	default: // schema: in an external language, not checked
		return false, false
	}
}

// holds reports whether a map has all wanted entries. A wanted entry without a value
// matches any value.
func holds(n, wanted *source.Node) bool {
	for name, value := range wanted.Pairs() {
		if has := n.Get(name.Text); has == nil || !value.IsNull() && Text(has) != Text(value) {
			return false
		}
	}
	return true
}

// supports reports whether software has all wanted versions. A wanted version may have
// fewer parts, or an x for any number.
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

// length returns the number of characters of a string, of bytes, or of entries.
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

// inRange reports whether a value is between two bounds. Both ends of a range must be
// (as in the normative PortSpec).
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

// matching returns the work of matching a text with an expression: for long ones the
// product of their lengths.
func matching(text, pattern string) int {
	if product := len(text) * len(pattern); product > 1<<16 {
		return 4 * product
	}
	return len(text) * (1 + len(pattern)/16)
}

var errNoText = errors.New("it is not a string")

// pattern compiles a regular expression once. An anchored one must match the whole text.
func (e *Evaluator) pattern(n *source.Node, anchored bool) (*regexp.Regexp, error) {
	if !n.IsScalar() || n.IsNull() {
		return nil, errNoText
	}
	text := n.Text
	if anchored { // an error is easier to read without the added brackets
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

// foreignSyntax reports whether an expression uses syntax that Go lacks: look-around,
// back references, possessive repeats, or classes of XML Schema. The standard names no
// syntax, so the expression is not wrong.
func foreignSyntax(err error) bool {
	var bad *syntax.Error
	if !errors.As(err, &bad) {
		return false
	}
	switch bad.Code {
	case syntax.ErrInvalidPerlOp, syntax.ErrInvalidEscape, syntax.ErrInvalidRepeatOp, syntax.ErrInvalidRepeatSize,
		syntax.ErrInvalidNamedCapture, syntax.ErrLarge, syntax.ErrNestingDepth:
		return true
	case syntax.ErrInvalidCharRange: // of a named class
		return strings.HasPrefix(bad.Expr, `\p`) || strings.HasPrefix(bad.Expr, `\P`) || strings.HasPrefix(bad.Expr, "[:")
	default:
		return false
	}
}

// Compare orders two values of a type; ok is false if they have no order. For a nil type
// the YAML kinds decide. The order of a type's values is total.
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

// compareScalars compares scalars. A plain number is in the canonical unit (as in TOSCA
// 2.0, 9.1.2.2.2).
func (t *Type) compareScalars(a, b *source.Node) (order int, ok bool) {
	x, okX := t.worth(a)
	y, okY := t.worth(b)
	if !okX || !okY {
		return 0, false
	}
	return x.Cmp(y), true
}

// Worth returns a number, or a text with a unit, in the type's smallest unit; ok is
// false if unknown.
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

// Equal reports whether two values of a type are equal: by their order, or for lists and
// maps by their entries.
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
