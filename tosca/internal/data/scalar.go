package data

import (
	"cmp"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/toskose/toskose/tosca/internal/source"
)

// scalar is what a concrete scalar type of 2.0 says of its values, with what
// its parents say (TOSCA 2.0, 9.1.2.2).
type scalar struct {
	units     map[string]*big.Rat // with their prefixes
	bare      map[string]*big.Rat // without
	prefixed  bool                // there are prefixes
	number    *Type               // of the number: float or integer, or derived from one
	dataType  string              // as written
	canonical string
}

var (
	scalarUnit  = regexp.MustCompile(`^([+-]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][+-]?[0-9]+)?)\s*([A-Za-z]+)$`)
	scalarValue = regexp.MustCompile(`^([+-]?(?:0x[0-9a-fA-F]+|0o[0-7]+|(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][+-]?[0-9]+)?))\s+(\S+)$`)
)

// amount is a scalar's number, as written, with its worth in the smallest unit
// of the type, exactly; ok is false where the text is not such a scalar.
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
	case tUnit: // the unit alone says which
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

// The largest numbers that are reckoned with exactly. What is beyond them has
// no meaning to anyone, and takes long to write out.
const (
	maxDigits   = 400
	maxExponent = 400
)

// rational reads a number as YAML writes it.
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
		exponent, err := strconv.Atoi(text[i+1:])
		if err != nil || max(exponent, -exponent) > maxExponent {
			return nil, false
		}
	}
	return new(big.Rat).SetString(text)
}

// base is a unit that has the multiplier one, or else the first by name: without
// an empty prefix there may be none.
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

// example is a value of the type for a message.
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
