package data

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/source"
)

// Declare checks a definition at any depth: types are known, keys and entries belong to
// a map or list, constraints and validation are valid, and the default or fixed value
// fits. A default that refers to its future entity is checked as far as possible.
func (e *Evaluator) Declare(d *Definition, p Place) bool {
	before := e.wrong()
	if p.Self == nil {
		p.Self = Anything
	}
	p.Doc = d.Doc
	known := e.declareSchema(d, d.Schema, p)
	if d.Default != nil && !d.Required && d.Doc.V2() {
		e.warnf(d.Default.Pos(), code.Default, "%s is not required, so its default is never used", p.Of)
	}
	fits := func(v *source.Node, what string) {
		if v == nil || !known || e.Null(v, d, p.part(strings.TrimPrefix(what, ": "))) {
			return
		}
		p, before := p, e.wrong()
		p.Want = d
		if made := e.Eval(v, p); made.OK {
			p.Of += what
			e.CheckValue(made, d, p)
		}
		if e.wrong() != before && e.quiet == 0 {
			e.markInvalid(v)
		}
	}
	fits(d.Default, ": the default")
	fits(d.Value, ": the value")
	return e.wrong() == before
}

// DeclareSchema is Declare for a schema, such as an argument's.
func (e *Evaluator) DeclareSchema(s *grammar.Schema, doc *grammar.Document, p Place) bool {
	return s == nil || e.Declare(&Definition{Schema: s, Doc: doc}, p)
}

// declareSchema returns false if the type is unknown (already reported).
func (e *Evaluator) declareSchema(d *Definition, s *grammar.Schema, p Place) bool {
	if s.Type.Name != "" && !e.declareName(s.Type, d.Doc, p) {
		return false
	}
	t := e.Type(d)
	if t == nil {
		t = &Type{doc: d.Doc}
	}
	if t.plain == tScalar && t.scalar == nil {
		e.errorf(s.Type.Pos, code.ValueType, "%s cannot be of type %q, which is abstract: derive a type with units from it", p.Of, t.name)
	}
	e.declareParts(d, s, t, p)
	for _, k := range s.Constraints {
		e.declareConstraint(k, t, p)
	}
	e.declareValidation(s.Validation, d, p)
	return true
}

// declareName reports an unknown type.
func (e *Evaluator) declareName(ref grammar.Ref, doc *grammar.Document, p Place) bool {
	plain, ok := builtin(ref.Name, doc)
	if ok && !dropped(plain, doc) || doc == nil || doc.Scope() == nil || doc.Scope().Lookup(grammar.DataType, ref.Name) != nil {
		return true
	}
	if doc.Scope().Unread(grammar.DataType) {
		return false
	}
	if doc.Scope().Open() {
		e.warnf(ref.Pos, code.TypeUnknown, "%s: data type %q is not known here; it may be in a missing file", p.Of, ref.Name)
		return false
	}
	if ok {
		e.errorf(ref.Pos, code.TypeUnknown, "%s: data type %q is one of TOSCA 1.x, and 2.0 does not have it", p.Of, ref.Name)
		return false
	}
	if strings.ContainsAny(ref.Name, "/ ") {
		e.errorf(ref.Pos, code.TypeUnknown, "%s: %q is not a type, and a value alone is only valid for an inherited property", p.Of, ref.Name)
		return false
	}
	e.unknown(ref.Pos, code.TypeUnknown, ref.Name, TypeNames(doc), "%s: unknown data type %q", p.Of, ref.Name)
	return false
}

// declareParts checks key and entry schemas (TOSCA 2.0, 9.3). Keys are strings in 2.0,
// and of any type in 1.x (TOSCA 1.3, 3.3.5).
func (e *Evaluator) declareParts(d *Definition, s *grammar.Schema, t *Type, p Place) {
	collection := t.plain == tList || t.plain == tMap
	known := t.plain != "" || len(t.fields) > 0
	is := "is of type " + quote(t.name)
	if len(t.chain) > 0 && t.chain[len(t.chain)-1].Pos == s.Pos { // the type itself
		is = "is derived from " + quote(s.Type.Name)
	}
	switch {
	case s.Entry != nil && known && !collection:
		e.errorf(position(s.Entry.Pos, s), code.Schema, "%s %s, which has no entries, so it cannot have an entry_schema", p.Of, is)
	case s.Entry == nil && collection && d.Doc.V2() && s.Type.Name != "" && e.entry(d) == nil:
		e.errorf(position(s.Type.Pos, s), code.Schema, "%s is a %s without an entry_schema, which must say what its entries are", p.Of, t.plain)
	}
	if s.Key != nil && known && t.plain != tMap {
		e.errorf(position(s.Key.Pos, s), code.Schema, "%s %s, which has no keys, so it cannot have a key_schema", p.Of, is)
	}
	if s.Key != nil {
		p := p
		p.Of += ": key_schema"
		key := d.nested(s.Key)
		if e.declareSchema(key, s.Key, p) && d.Doc.V2() && e.Plain(key) != "" && e.Plain(key) != tString {
			e.errorf(position(s.Key.Type.Pos, s.Key), code.Schema, "%s must be a string or derived from it, not %s", p.Of, article(e.Plain(key)))
		}
	}
	if s.Entry != nil {
		p := p
		p.Of += ": entry_schema"
		e.declareSchema(d.nested(s.Entry), s.Entry, p)
	}
}

func position(at diag.Position, of *grammar.Schema) diag.Position {
	if at == (diag.Position{}) {
		return of.Pos
	}
	return at
}

// ordersOf reports whether values of the type have an order (TOSCA 1.3, 3.6.3).
func ordersOf(plain string) bool {
	return plain == tInteger || plain == tFloat || plain == tString || plain == tTimestamp || plain == tVersion ||
		plain == tScalar || isUnit(plain)
}

// declareConstraint checks that a constraint applies to the type, and that its operand
// is of the type.
func (e *Evaluator) declareConstraint(k *grammar.Constraint, t *Type, p Place) {
	wrong := func(format string, args ...any) {
		at := k.Pos
		if k.Operand != nil {
			at = k.Operand.Pos()
		}
		e.errorf(at, code.ConstraintWrong, "%s: constraint %q %s", p.Of, k.Operator, fmt.Sprintf(format, args...))
	}
	if k.Operand.IsNull() {
		wrong("has no value")
		return
	}
	if e.isFunction(k.Operand, t.doc) {
		return
	}
	if complex := t.plain == "" && len(t.fields) > 0; (t.plain != "" || complex) && !applies(k.Operator, t.plain) {
		if k.Operator == kMaxLength && (t.plain == tInteger || t.plain == tFloat) && !t.doc.V2() {
			e.warnf(k.Pos, code.ConstraintWrong, "%s: constraint %q does not apply to type %q", p.Of, k.Operator, t.name) // as in the standard (TOSCA 1.3, 3.3.4.2.1)
			return
		}
		of := ""
		if t.name != t.plain && !complex {
			of = ", which is " + article(t.plain)
		}
		wrong("does not apply to type %q%s", t.name, of)
		return
	}
	switch k.Operator {
	case kEqual, kGreaterThan, kGreaterOrEqual, kLessThan, kLessOrEqual:
		e.operand(k.Operand, t, wrong)
	case kValidValues:
		if k.Operand.Kind != source.List {
			wrong("must have a list of values, not %s", Show(k.Operand))
			return
		}
		for _, item := range k.Operand.Items {
			e.operand(item, t, wrong)
		}
	case kInRange:
		e.bounds(k.Operand, t, wrong)
	case kLength, kMinLength, kMaxLength:
		if i, ok := Integer(k.Operand); !ok || i < 0 {
			wrong("must have a number of at least 0, not %s", Show(k.Operand))
		}
	case kPattern:
		e.declarePattern(k.Operand, p.Of, wrong)
	}
}

func applies(operator, plain string) bool {
	switch operator {
	case kGreaterThan, kGreaterOrEqual, kLessThan, kLessOrEqual:
		return ordersOf(plain)
	case kInRange:
		return ordersOf(plain) || plain == tRange
	case kLength, kMinLength, kMaxLength:
		return plain == tString || plain == tBytes || plain == tList || plain == tMap
	case grammar.Software, grammar.Entries:
		return plain == tMap
	case kPattern, kSchema:
		return plain == tString || plain == tVersion || plain == tTimestamp
	default:
		return true
	}
}

// operand checks a constraint's operand, unless it has functions.
func (e *Evaluator) operand(n *source.Node, t *Type, wrong func(string, ...any)) {
	if e.isFunction(n, t.doc) || t.plain == "" || n.IsNull() {
		return
	}
	if _, number := t.Compare(n, n); number && (isUnit(t.plain) || t.plain == tScalar) {
		return // a plain number is in the canonical unit
	}
	if why := e.fits(n, t); why != "" {
		want, _, _ := strings.Cut(why, ", not ")
		wrong("has %s, which must be %s", Show(n), want)
	}
}

func (e *Evaluator) bounds(n *source.Node, t *Type, wrong func(string, ...any)) {
	if n.Kind != source.List || len(n.Items) != 2 {
		wrong("must have two bounds, not %s", Show(n))
		return
	}
	if t.plain == tRange {
		t = &Type{name: tInteger, plain: tInteger, doc: t.doc}
	}
	before, both := e.wrong(), true
	for _, bound := range n.Items {
		if bound.Text == unbounded {
			both = false
			continue
		}
		e.operand(bound, t, wrong)
	}
	if order, ok := t.Compare(n.Items[0], n.Items[1]); both && ok && order > 0 && e.wrong() == before {
		wrong("has a lower bound above the upper one: %s", Show(n))
	}
}

func (e *Evaluator) declarePattern(n *source.Node, of string, wrong func(string, ...any)) {
	switch _, err := e.pattern(n, true); {
	case err == nil:
	case foreignSyntax(err):
		e.warnf(n.Pos(), code.Pattern, "%s: pattern %s is in an unknown syntax, so values are not checked with it", of, Show(n))
	default:
		wrong("has %s, which is not a regular expression", Show(n))
	}
}

// DeclareType checks a data type.
func (e *Evaluator) DeclareType(t *grammar.Type, p Place) {
	p.Doc = t.Doc
	if p.Self == nil {
		p.Self = Anything
	}
	if plain, ok := builtin(t.Name, t.Doc); ok && plain == t.Name && t.Doc.V2() && !dropped(plain, t.Doc) {
		e.errorf(t.Pos, code.ValueType, "%s has the name of a built-in type", p.Of)
		return
	}
	made := e.named(t.Name, t.Doc)
	if made == nil || t.DerivedFrom.Name != "" && !e.declareName(t.DerivedFrom, t.Doc, p) {
		return
	}
	// TOSCA 1.3, 5.3.1.1, defines the root type like this.
	root := t.Name == "tosca.datatypes.Root" && !t.Doc.V2()
	if t.DerivedFrom.Name == "" && len(t.Properties) == 0 && !root {
		e.errorf(t.Pos, code.ValueType, "%s must be derived from another type, or have properties", p.Of)
	} else if t.Empty.Line != 0 && t.Doc.V2() {
		e.errorf(t.Empty, code.ValueType, "%s has empty properties", p.Of)
	}
	if made.plain != "" && (made.plain != tMap || t.Doc.V2()) && len(t.Properties) > 0 {
		e.errorf(t.Properties[0].Pos, code.ValueType, "%s is derived from %q, so it cannot have properties", p.Of, made.plain)
	}
	e.declareParts(&Definition{Schema: &grammar.Schema{Pos: t.Pos, Type: t.DerivedFrom, Key: t.Key, Entry: t.Entry}, Doc: t.Doc},
		&grammar.Schema{Pos: t.Pos, Type: t.DerivedFrom, Key: t.Key, Entry: t.Entry}, made, p)
	for _, k := range t.Constraints {
		e.declareConstraint(k, made, p)
	}
	e.declareValidation(t.Validation, Of(t.Name, t.Doc), p)
	e.declareScalar(t, made, p)
	for _, prop := range t.Properties {
		p := p
		p.Of += ": property " + quote(prop.Name)
		def := From(prop, t.Doc)
		if own := made.fields[prop.Name]; own != nil {
			def.Refines = own.Refines
		}
		e.Declare(def, p)
	}
}

// declareScalar checks the units of a type derived from scalar (TOSCA 2.0, 9.1.2.2).
func (e *Evaluator) declareScalar(t *grammar.Type, made *Type, p Place) {
	s := t.Scalar
	if made.scalar == nil {
		if s.Units != nil || s.Prefixes != nil || s.DataType.Name != "" || s.Canonical.Name != "" {
			e.errorf(t.Pos, code.Scalar, "%s has units, and is not derived from scalar", p.Of)
		}
		return
	}
	whole := e.declareNumberType(s.DataType, made, p)
	ones := e.multipliers(s.Units, whole, p.Of+": units")
	e.multipliers(s.Prefixes, false, p.Of+": prefixes")
	parent := e.named(t.DerivedFrom.Name, t.Doc)
	inherits := parent != nil && parent.scalar != nil
	if inherits {
		e.declareSame(s.DataType, parent.scalar.dataType, "data_type", p)
		e.declareSame(s.Canonical, parent.scalar.canonical, "canonical_unit", p)
		e.declareMore(s.Units, parent.scalar.bare, p)
	}
	if made.scalar.prefixed && s.Units != nil && len(s.Units.Keys) > 1 { // as in an example (TOSCA 2.0, 9.1.2.2.2)
		e.warnf(s.Units.Pos(), code.Scalar, "%s has prefixes and more than one unit, though prefixes are for one", p.Of)
	}
	switch {
	case s.Units == nil && !inherits:
		e.errorf(t.Pos, code.Scalar, "%s must have units", p.Of)
	case ones == 0 && !inherits && len(made.scalar.units) > 0:
		e.errorf(s.Units.Pos(), code.Scalar, "%s must have a unit with the multiplier 1", p.Of)
	case ones > 1 && made.scalar.canonical == "":
		e.errorf(s.Units.Pos(), code.Scalar, "%s has more than one unit with the multiplier 1, so it must say which is the canonical_unit", p.Of)
	}
	if c := s.Canonical; c.Name != "" && made.scalar.units[c.Name] == nil {
		names := make([]string, 0, len(made.scalar.units))
		for name := range made.scalar.units {
			names = append(names, name)
		}
		slices.Sort(names)
		e.unknown(c.Pos, code.Scalar, c.Name, names, "%s: canonical_unit %q is not one of its units", p.Of, c.Name)
	}
}

// declareSame reports changes to inherited keywords of a scalar type that must not
// change.
func (e *Evaluator) declareSame(ref grammar.Ref, inherited, keyword string, p Place) {
	if ref.Name != "" && ref.Name != inherited {
		e.errorf(ref.Pos, code.Scalar, "%s cannot change the %s that it inherits", p.Of, keyword)
	}
}

// declareMore reports changes to inherited units of a scalar type, which may only add
// units.
func (e *Evaluator) declareMore(units *source.Node, inherited map[string]*big.Rat, p Place) {
	for k, v := range units.Pairs() {
		worth, ok := rational(v.Text)
		if old := inherited[k.Text]; ok && old != nil && old.Cmp(worth) != 0 {
			e.errorf(v.Pos(), code.Scalar, "%s: units: %q is inherited, and cannot be changed", p.Of, k.Text)
		}
	}
}

// declareNumberType reports whether the numbers of a scalar type are integers.
func (e *Evaluator) declareNumberType(ref grammar.Ref, made *Type, p Place) (whole bool) {
	if ref.Name != "" && !e.declareName(ref, made.doc, p) {
		return false
	}
	number := made.scalar.number
	if number == nil || number.plain == "" || number.plain == tInteger || number.plain == tFloat {
		return number != nil && number.plain == tInteger
	}
	e.errorf(ref.Pos, code.Scalar, "%s: data_type must be integer or float, or derived from one of them, not %q", p.Of, ref.Name)
	return false
}

// multipliers checks a map of units or prefixes, and returns how many have the
// multiplier one.
func (e *Evaluator) multipliers(n *source.Node, whole bool, of string) (ones int) {
	if n == nil {
		return 0
	}
	if n.Kind != source.Map || len(n.Keys) == 0 {
		e.errorf(n.Pos(), code.Scalar, "%s must be a map of names and multipliers", of)
		return 0
	}
	for k, v := range n.Pairs() {
		worth, ok := rational(v.Text)
		_, isInt := Integer(v)
		switch {
		case v.Kind != source.Int && v.Kind != source.Float || !ok || worth.Sign() <= 0:
			e.errorf(v.Pos(), code.Scalar, "%s: %q must multiply by a number above 0, not %s", of, k.Text, Show(v))
		case whole && !isInt:
			e.errorf(v.Pos(), code.Scalar, "%s: %q must multiply by an integer, as the data_type is one, not %s", of, k.Text, Show(v))
		case worth.IsInt() && worth.Num().IsInt64() && worth.Num().Int64() == 1:
			ones++
		}
		if strings.ContainsAny(k.Text, " \t\n") {
			e.errorf(k.Pos(), code.Scalar, "%s: %q has white space in it", of, k.Text)
		}
	}
	return ones
}
