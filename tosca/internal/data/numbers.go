package data

import (
	"cmp"
	"maps"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/source"
)

func (c *call) integer(text string) Value {
	v := Known(source.Scalar(source.Int, text, c.fn))
	v.Def = Of(tInteger, c.p.Doc)
	return v
}

// isScalar reports whether values of a definition have units.
func (e *Evaluator) isScalar(d *Definition) bool {
	plain := e.Plain(d)
	return plain == tScalar || isUnit(plain)
}

// calculate evaluates arithmetic. An orchestrator calculates with units.
func calculate(c *call) Value {
	numbers, whole := make([]*big.Rat, len(c.vals)), true
	for i, v := range c.vals {
		n, ok := rational(Text(v.Node))
		switch {
		case v.Node.Kind == source.String && (c.e.isScalar(v.Def) || scalarValue.MatchString(v.Node.Text)):
			if !c.addsUp() {
				return c.misuse()
			}
			return c.e.runTime(c.fn, Of(tScalar, c.p.Doc))
		case v.Node.Kind == source.String || !ok:
			return c.wrong("takes %s, and %s is none that can be reckoned with", c.f.takes, Show(v.Node))
		}
		numbers[i], whole = n, whole && v.Node.Kind == source.Int
	}
	made, last := new(big.Rat).Set(numbers[0]), numbers[len(numbers)-1]
	switch c.f.name {
	case "difference":
		made.Sub(made, last)
	case "quotient", "remainder":
		if last.Sign() == 0 {
			return c.wrong("divides %s by zero", Show(c.vals[0].Node))
		}
		made.Quo(made, last)
		if whole = c.f.name == "remainder"; whole {
			times := new(big.Int).Quo(made.Num(), made.Denom())
			made.Sub(numbers[0], new(big.Rat).Mul(new(big.Rat).SetInt(times), last))
		}
	case "floor", "ceil", "round": // round rounds half down (TOSCA 2.0, 10.2.5.6)
		made, whole = rounded(made, c.f.name), true
	default:
		for _, n := range numbers[1:] {
			if c.f.name == "sum" {
				made.Add(made, n)
			} else if made.Mul(made, n); made.Denom().BitLen() > 8*maxDigits {
				break
			}
		}
	}
	return c.number(made, whole)
}

// addsUp reports whether all arguments are texts with units of one type: the required
// type, the type of an argument, or another type of the document.
func (c *call) addsUp() bool {
	doc := c.p.Doc
	if c.f.name != "sum" && c.f.name != "difference" || doc == nil || doc.Scope() == nil || doc.Scope().Open() {
		return true
	}
	all := func(t *Type) bool {
		return t != nil && t.plain == tScalar && !slices.ContainsFunc(c.vals, func(v Value) bool {
			_, _, ok := t.amount(v.Node)
			return !ok
		})
	}
	for _, v := range append(slices.Clip(c.vals), Value{Def: c.p.Want}) {
		if c.e.isScalar(v.Def) {
			return all(c.e.Type(v.Def))
		}
	}
	names := doc.Scope().Names(grammar.DataType)
	return !c.e.spend(len(names)*len(c.vals)) || slices.ContainsFunc(names, func(name string) bool { return all(c.e.named(name, doc)) })
}

func rounded(r *big.Rat, how string) *big.Rat {
	half, down := big.NewRat(1, 2), how == "floor"
	if how == "round" {
		r = new(big.Rat).Sub(r, half)
	}
	if !down {
		r = new(big.Rat).Neg(r)
	}
	whole, _ := new(big.Int).DivMod(r.Num(), r.Denom(), new(big.Int))
	if !down {
		whole.Neg(whole)
	}
	return new(big.Rat).SetInt(whole)
}

// number returns a numeric result, unless it is too large.
func (c *call) number(r *big.Rat, whole bool) Value {
	switch {
	case r.Num().BitLen() > 8*maxDigits || r.Denom().BitLen() > 8*maxDigits:
		return c.wrong("makes a number that is too large or too small")
	case whole && r.IsInt() && !r.Num().IsInt64():
		return c.wrong("makes %s, which is not a 64-bit integer", r.Num().String())
	case whole && r.IsInt():
		return c.integer(r.Num().String())
	}
	f, _ := r.Float64()
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(text, ".eI") {
		text += ".0"
	}
	v := Known(source.Scalar(source.Float, text, c.fn))
	v.Def = Of(tFloat, c.p.Doc)
	return v
}

// ofOneKind rejects numbers mixed with scalars, and unrelated scalars.
func ofOneKind(c *call) (v Value, known bool) {
	var scalar *Definition
	number := false
	for _, v := range c.vals {
		switch plain := c.e.plainOf(v); {
		case plain == tInteger || plain == tFloat:
			number = true
		case !c.e.isScalar(v.Def):
		case scalar == nil:
			scalar = v.Def
		case c.e.differs(scalar, v.Def, 0):
			return c.wrong("takes %s, and there are %s and %s", c.f.takes, scalar.TypeName(), v.Def.TypeName()), true
		}
	}
	if number && scalar != nil {
		return c.wrong("takes %s, and not both", c.f.takes), true
	}
	return Value{}, false
}

// resultType returns the type of an arithmetic result: the scalar type of the arguments,
// an integer for integers, else a float (TOSCA 2.0, 10.2.5). It returns nil if unknown.
func (c *call) resultType() *Definition {
	made := Of(tInteger, c.p.Doc)
	if c.f.name == "quotient" {
		made = Of(tFloat, c.p.Doc)
	}
	for _, v := range c.vals {
		switch plain := c.e.plainOf(v); {
		case c.e.isScalar(v.Def):
			return v.Def
		case plain == tFloat:
			made = Of(tFloat, c.p.Doc)
		case plain != tInteger:
			return nil
		}
	}
	return made
}

// Integer returns a 64-bit integer.
func Integer(n *source.Node) (int64, bool) {
	if n == nil || n.Kind != source.Int {
		return 0, false
	}
	text := strings.ReplaceAll(n.Text, "_", "")
	base := 0
	if digits := strings.TrimLeft(text, "+-"); strings.Trim(digits, "0123456789") == "" {
		base = 10 // leading zeros are not octal (YAML 1.2, 10.3.2)
	}
	i, err := strconv.ParseInt(text, base, 64)
	return i, err == nil
}

// Number returns an integer or float as a float.
func Number(n *source.Node) (float64, bool) {
	if i, ok := Integer(n); ok {
		return float64(i), true
	}
	if n == nil || n.Kind != source.Float && n.Kind != source.Int {
		return 0, false
	}
	switch strings.ToLower(strings.TrimLeft(n.Text, "+-")) {
	case ".inf":
		if strings.HasPrefix(n.Text, "-") {
			return math.Inf(-1), true
		}
		return math.Inf(1), true
	case ".nan":
		return math.NaN(), true
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(n.Text, "_", ""), 64)
	return f, err == nil
}

// compareNumbers compares integers and floats exactly, also beyond the precision of a
// float.
func compareNumbers(a, b *source.Node) (order int, ok bool) {
	i, isInt := Integer(a)
	j, isInt2 := Integer(b)
	x, isNumber := Number(a)
	y, isNumber2 := Number(b)
	switch {
	case !isNumber || !isNumber2:
		return 0, false
	case isInt && isInt2:
		return cmp.Compare(i, j), true
	case isInt:
		return compareMixed(i, y), true
	case isInt2:
		return -compareMixed(j, x), true
	}
	return cmp.Compare(x, y), true
}

func compareMixed(i int64, f float64) int {
	switch {
	case math.IsNaN(f):
		return 1 // as in cmp.Compare, NaN is before all numbers
	case f >= 1<<63:
		return -1
	case f < -1<<63:
		return 1
	}
	whole := math.Floor(f)
	return cmp.Or(cmp.Compare(i, int64(whole)), cmp.Compare(0, f-whole))
}

// scalar is the definition of a concrete scalar type of 2.0, with all that it inherits
// (TOSCA 2.0, 9.1.2.2).
type scalar struct {
	units     map[string]*big.Rat // with prefixes
	bare      map[string]*big.Rat // without prefixes
	prefixed  bool                // it has prefixes
	number    *Type               // type of the number: float, integer, or derived
	dataType  string              // as written
	canonical string
}

var (
	scalarUnit  = regexp.MustCompile(`^([+-]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][+-]?[0-9]+)?)\s*([A-Za-z]+)$`)
	scalarValue = regexp.MustCompile(`^([+-]?(?:0x[0-9a-fA-F]+|0o[0-7]+|(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][+-]?[0-9]+)?))\s+(\S+)$`)
)

// amount returns a scalar's number, as written, and its exact multiple of the smallest
// unit; ok is false if the text is not such a scalar.
func (t *Type) amount(n *source.Node) (number string, worth *big.Rat, ok bool) {
	if n.Kind != source.String {
		return "", nil, false
	}
	var unit *big.Rat
	pattern := scalarUnit
	if t.plain == tScalar {
		pattern = scalarValue
	}
	m := pattern.FindStringSubmatch(n.Text)
	if m == nil {
		return "", nil, false
	}
	switch t.plain {
	case tScalar:
		if t.scalar != nil {
			unit = t.scalar.units[m[2]]
		}
	case tUnit: // the unit decides
		for _, plain := range slices.Sorted(maps.Keys(units)) {
			if text, known := unitOf(plain, m[2]); known && unit == nil {
				unit, _ = rational(text)
			}
		}
	default:
		if text, known := unitOf(t.plain, m[2]); known {
			unit, _ = rational(text)
		}
	}
	amount, isNumber := rational(m[1])
	if unit == nil || !isNumber {
		return "", nil, false
	}
	return m[1], amount.Mul(amount, unit), true
}

// Limits of exact arithmetic. Larger numbers have no use and take long to print.
const (
	maxDigits   = 400
	maxExponent = 400
)

// rational parses a YAML number.
func rational(text string) (*big.Rat, bool) {
	text = strings.ReplaceAll(text, "_", "")
	if len(text) > maxDigits {
		return nil, false
	}
	digits := strings.TrimLeft(text, "+-")
	if strings.HasPrefix(digits, "0") && len(digits) > 1 && strings.ContainsAny(digits[1:2], "xob") {
		i, err := strconv.ParseInt(text, 0, 64)
		return new(big.Rat).SetInt64(i), err == nil
	}
	if strings.ContainsAny(text, "xXpP/") {
		return nil, false
	}
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		if exponent, err := strconv.Atoi(text[i+1:]); err != nil || max(exponent, -exponent) > maxExponent {
			return nil, false
		}
	}
	return new(big.Rat).SetString(text)
}

// base returns the unit with the multiplier one, or else the first by name.
func (t *Type) base() string {
	one := big.NewRat(1, 1)
	if t.scalar != nil {
		names := slices.Sorted(maps.Keys(t.scalar.units))
		for _, name := range names {
			if t.scalar.units[name].Cmp(one) == 0 {
				return name
			}
		}
		if len(names) > 0 {
			return names[0]
		}
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(units[t.plain])) {
		if units[t.plain][name] == "1" {
			return name
		}
	}
	return ""
}

// example returns an example value for a message.
func (t *Type) example() string {
	if t.scalar != nil {
		unit := t.scalar.canonical
		if unit == "" {
			unit = t.base()
		}
		return "10 " + unit
	}
	return cmp.Or(map[string]string{
		"scalar-unit.time": "10 s", "scalar-unit.frequency": "10 GHz", "scalar-unit.bitrate": "10 Mbps",
	}[t.plain], "10 MB")
}
