package data

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/source"
)

// The built-in types (TOSCA 1.3, 3.3; 2.0, 9.1).
const (
	tString    = "string"
	tInteger   = "integer"
	tFloat     = "float"
	tBoolean   = "boolean"
	tBytes     = "bytes"
	tNil       = "nil"
	tTimestamp = "timestamp"
	tVersion   = "version"
	tRange     = "range"
	tList      = "list"
	tMap       = "map"
	tScalar    = "scalar"      // of 2.0: abstract
	tUnit      = "scalar-unit" // of 1.x: any of its units
)

// Those of both families. What 2.0 dropped stays known there, for the meaning
// of the names has not changed.
var builtins = []string{
	tString, tInteger, tFloat, tBoolean, tTimestamp, tVersion, tRange, tList, tMap, tUnit,
	"scalar-unit.size", "scalar-unit.time", "scalar-unit.frequency", "scalar-unit.bitrate",
}

var builtinsOfSecond = []string{tBytes, tNil, tScalar}

// builtin returns the plain name of a type that is built into the version of a
// document; ok is false for others.
func builtin(name string, doc *grammar.Document) (plain string, ok bool) {
	plain = strings.TrimPrefix(strings.TrimPrefix(name, "tosca:"), "tosca.datatypes.")
	if plain == "null" {
		return tNil, true
	}
	if slices.Contains(builtins, plain) || doc.V2() && slices.Contains(builtinsOfSecond, plain) {
		return plain, true
	}
	return name, false
}

// IsBuiltin reports whether a name is a type that is built into the version of a
// document.
func IsBuiltin(name string, doc *grammar.Document) bool {
	_, ok := builtin(name, doc)
	return ok
}

// dropped reports whether a name is that of a built-in type that a document's
// version has no more, so that its author may define a type of the name.
func dropped(plain string, doc *grammar.Document) bool {
	return doc.V2() && (plain == tRange || isUnit(plain))
}

// TypeNames lists what a type of a value may be called in a document.
func TypeNames(doc *grammar.Document) []string {
	names := slices.Clone(builtins)
	if doc.V2() {
		names = append(names, builtinsOfSecond...)
	}
	if doc != nil && doc.Scope() != nil {
		names = append(names, doc.Scope().Names(grammar.DataType)...)
	}
	return names
}

// isUnit reports whether a plain type is one of an amount and a unit.
func isUnit(plain string) bool { return plain == tUnit || units[plain] != nil }

// units are the scalar-unit types (TOSCA 1.3, 3.3.6) with the worth of their
// units in the smallest of them, as the standard writes them.
var units = map[string]map[string]string{
	"scalar-unit.size": {
		"B": "1", "kB": "1e3", "KiB": "1024", "MB": "1e6", "MiB": "1048576",
		"GB": "1e9", "GiB": "1073741824", "TB": "1e12", "TiB": "1099511627776",
	},
	"scalar-unit.time": {
		"d": "86400", "h": "3600", "m": "60", "s": "1", "ms": "1e-3", "us": "1e-6", "ns": "1e-9",
	},
	"scalar-unit.frequency": {"Hz": "1", "kHz": "1e3", "MHz": "1e6", "GHz": "1e9"},
	"scalar-unit.bitrate": {
		"bps": "1", "Kbps": "1e3", "Kibps": "1024", "Mbps": "1e6", "Mibps": "1048576",
		"Gbps": "1e9", "Gibps": "1073741824", "Tbps": "1e12", "Tibps": "1099511627776",
		"Bps": "8", "KBps": "8e3", "KiBps": "8192", "MBps": "8e6", "MiBps": "8388608",
		"GBps": "8e9", "GiBps": "8589934592", "TBps": "8e12", "TiBps": "8796093022208",
	},
}

// unitOf finds a unit as it is written, or else whatever its case: a size is
// told so by the standard, and a unit that differs by case only is no other.
// Where bits and bytes would be mixed up so, bits are meant.
func unitOf(plain, written string) (string, bool) {
	of := units[plain]
	if worth, ok := of[written]; ok {
		return worth, true
	}
	bits := ""
	for _, name := range slices.Sorted(maps.Keys(of)) {
		if strings.EqualFold(name, written) && (bits == "" || !strings.Contains(name, "B")) {
			bits = name
		}
	}
	return of[bits], bits != ""
}

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

// What a timestamp looks like: in 1.x as YAML 1.1 has it, a date alone or with
// a time that is parted from it in several ways; in 2.0 as RFC 3339 has it. They
// are compiled when there is one.
var (
	timestampRule = form(`^(\d{4})-(\d{1,2})-(\d{1,2})(?:(?:[Tt]|[ \t]+)(\d{1,2}):(\d{2}):(\d{2})(?:\.(\d*))?[ \t]*(Z|z|[+-]\d{1,2}(?::?\d{2})?)?)?$`)
	timestampFull = form(`^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})$`)
)

func form(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// instant reads a timestamp of a day that exists. Without a time zone it is in
// UTC; a leap second counts as the one after it.
func instant(text string, full bool) (time.Time, bool) {
	m := timestampRule().FindStringSubmatch(text)
	if m == nil || full && !timestampFull().MatchString(text) {
		return time.Time{}, false
	}
	part := func(i int) int {
		n, _ := strconv.Atoi(m[i]) // an empty part is 0
		return n
	}
	month, hour, minute, second := time.Month(part(2)), part(4), part(5), part(6)
	fraction, _ := strconv.Atoi((m[7] + "000000000")[:9])
	offset, ok := zone(m[8])
	day := time.Date(part(1), month, part(3), 0, 0, 0, 0, time.UTC)
	if !ok || day.Month() != month || day.Day() != part(3) || hour > 23 || minute > 59 || second > 60 {
		return time.Time{}, false
	}
	return time.Date(part(1), month, part(3), hour, minute, second-offset, fraction, time.UTC), true
}

// zone reads an offset in seconds.
func zone(text string) (offset int, ok bool) {
	if text == "" || strings.EqualFold(text, "z") {
		return 0, true
	}
	digits := strings.ReplaceAll(text[1:], ":", "")
	if len(digits) == 3 {
		digits = "0" + digits
	}
	hours, _ := strconv.Atoi(digits[:min(2, len(digits))])
	minutes := 0
	if len(digits) == 4 {
		minutes, _ = strconv.Atoi(digits[2:])
	}
	offset = hours*3600 + minutes*60
	if text[0] == '-' {
		offset = -offset
	}
	return offset, hours <= 23 && minutes <= 59
}

// isPortSpec reports whether a type is the normative PortSpec, or derived from it.
func (t *Type) isPortSpec() bool {
	return slices.ContainsFunc(t.chain, func(at *grammar.Type) bool {
		return at.Name == "tosca.datatypes.network.PortSpec" && at.Doc.Embedded
	})
}

// checkPorts checks what a PortSpec must be beside what its definition says: it
// names a port or a range of them, and the port is within the range (TOSCA 1.3,
// 5.3.11.3).
func (e *Evaluator) checkPorts(n *source.Node, p Place) bool {
	ok, named := true, false
	for _, side := range []string{"source", "target"} {
		port, ports := n.Get(side), n.Get(side+"_range")
		named = named || !port.IsNull() || !ports.IsNull()
		if port.IsNull() || ports.IsNull() || hasLater(port) || hasLater(ports) {
			continue
		}
		if within, can := inRange(port, ports, &Type{plain: tInteger}); can && !within {
			e.errorf(port.Pos(), code.ValueConstraint, "%s.%s is %s, which is not in its range: %s", p.Of, side, Show(port), Show(ports))
			ok = false
		}
	}
	if !named {
		e.errorf(n.Pos(), code.PropMissing, "%s names no port: it must have a source, a source_range, a target or a target_range", p.Of)
	}
	return ok && named
}
