package data

import (
	"cmp"
	"regexp"
	"strings"
)

// A version is major.minor[.fix[.qualifier[-build]]] (TOSCA 1.3, 3.3.2). What
// people write in 1.x, the major number alone, is one there. Zero means that there
// is not a version, so it has no qualifier (TOSCA 1.0, 3.2.2.4; 1.3, 3.3.2.4).
var (
	versionRule      = regexp.MustCompile(`^([0-9]+)(?:\.([0-9]+)(?:\.([0-9]+)(?:\.([0-9A-Za-z_]+)(?:-([0-9]+))?)?)?)?$`)
	versionRuleMinor = regexp.MustCompile(`^[0-9]+\.[0-9]+`)
	versionRuleZero  = regexp.MustCompile(`^0+\.0+\.0+\.`)
)

// IsVersion reports whether a text is a version, with a minor one if it has to be.
func IsVersion(text string, minor bool) bool {
	return versionRule.MatchString(text) && (!minor || versionRuleMinor.MatchString(text)) && !versionRuleZero.MatchString(text)
}

// compareVersions orders by the numbers, then puts what has a qualifier before
// what has none, and then orders by build. Different qualifiers are different
// branches to the standard; here they are ordered by their letters, so that the
// order is total.
func compareVersions(a, b string) (order int, ok bool) {
	x, y := versionRule.FindStringSubmatch(a), versionRule.FindStringSubmatch(b)
	if x == nil || y == nil {
		return 0, false
	}
	for part := 1; part <= 3; part++ {
		if order := compareDigits(x[part], y[part]); order != 0 {
			return order, true
		}
	}
	if x[4] == "" || y[4] == "" {
		return -cmp.Compare(len(x[4]), len(y[4])), true
	}
	return cmp.Or(strings.Compare(x[4], y[4]), compareDigits(x[5], y[5])), true
}

// compareDigits compares numbers of any length; none is zero.
func compareDigits(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}
