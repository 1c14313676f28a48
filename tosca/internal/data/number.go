package data

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	"github.com/toskose/toskose/tosca/internal/source"
)

// Integer reads an integer of 64 bits.
func Integer(n *source.Node) (int64, bool) {
	if n == nil || n.Kind != source.Int {
		return 0, false
	}
	text := strings.ReplaceAll(n.Text, "_", "")
	base := 0
	if digits := strings.TrimLeft(text, "+-"); strings.Trim(digits, "0123456789") == "" {
		base = 10 // zeros in front make no octal number (YAML 1.2, 10.3.2)
	}
	i, err := strconv.ParseInt(text, base, 64)
	return i, err == nil
}

// Number reads an integer or float as a float.
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

// compareNumbers orders integers and floats exactly: an integer that no float
// can hold is still more than the one below it.
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
		return 1 // as cmp.Compare has it: before all numbers
	case f >= 1<<63:
		return -1
	case f < -1<<63:
		return 1
	}
	whole := math.Floor(f)
	return cmp.Or(cmp.Compare(i, int64(whole)), cmp.Compare(0, f-whole))
}
