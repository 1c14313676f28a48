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
	tUnit      = "scalar-unit" // of 1.x: any unit
)

// The built-in types of all versions. Types dropped in 2.0 keep their meaning.
var builtins = []string{
	tString, tInteger, tFloat, tBoolean, tTimestamp, tVersion, tRange, tList, tMap, tUnit,
	"scalar-unit.size", "scalar-unit.time", "scalar-unit.frequency", "scalar-unit.bitrate",
}

var builtinsOfSecond = []string{tBytes, tNil, tScalar}

// builtin returns the plain name of a type that is built into the document's version.
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

// IsBuiltin reports whether a type is built into the document's version.
func IsBuiltin(name string, doc *grammar.Document) bool {
	_, ok := builtin(name, doc)
	return ok
}

// dropped reports whether the document's version no longer has a built-in type, so that
// the document may define one of this name.
func dropped(plain string, doc *grammar.Document) bool {
	return doc.V2() && (plain == tRange || isUnit(plain))
}

// TypeNames lists the types of values known in a document.
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

// isUnit reports whether values of a plain type have units.
func isUnit(plain string) bool { return plain == tUnit || units[plain] != nil }

// units are the scalar-unit types (TOSCA 1.3, 3.3.6). Units map to multiples of the
// smallest unit.
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

// unitOf returns a unit as written, or else ignoring case, as the standard allows for
// sizes. If bits and bytes differ by case only, it returns bits.
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

// A version is major.minor[.fix[.qualifier[-build]]] (TOSCA 1.3, 3.3.2). In 1.x the
// major number alone is common and accepted. Version 0 means no version, so it has no
// qualifier (TOSCA 1.0, 3.2.2.4; 1.3, 3.3.2.4).
var (
	versionRule      = regexp.MustCompile(`^([0-9]+)(?:\.([0-9]+)(?:\.([0-9]+)(?:\.([0-9A-Za-z_]+)(?:-([0-9]+))?)?)?)?$`)
	versionRuleMinor = regexp.MustCompile(`^[0-9]+\.[0-9]+`)
	versionRuleZero  = regexp.MustCompile(`^0+\.0+\.0+\.`)
)

// IsVersion reports whether a text is a version; minor requires a minor number.
func IsVersion(text string, minor bool) bool {
	return versionRule.MatchString(text) && (!minor || versionRuleMinor.MatchString(text)) && !versionRuleZero.MatchString(text)
}

// compareVersions compares numbers, then puts versions with a qualifier before those
// without, then compares builds. The standard does not order qualifiers; here they are
// ordered as text, so that the order is total.
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

// compareDigits compares numbers of any length. The empty string is zero.
func compareDigits(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// Timestamps: in 1.x as in YAML 1.1, a date or a date with a time in several notations;
// in 2.0 as in RFC 3339. The expressions are compiled when first used.
var (
	timestampRule = form(`^(\d{4})-(\d{1,2})-(\d{1,2})(?:(?:[Tt]|[ \t]+)(\d{1,2}):(\d{2}):(\d{2})(?:\.(\d*))?[ \t]*(Z|z|[+-]\d{1,2}(?::?\d{2})?)?)?$`)
	timestampFull = form(`^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})$`)
)

func form(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// instant parses a timestamp and rejects days that do not exist. The default time zone
// is UTC; a leap second counts as the next second.
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

// zone returns a time zone offset in seconds.
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

// isPortSpec reports whether the type is, or derives from, the normative PortSpec.
func (t *Type) isPortSpec() bool {
	return slices.ContainsFunc(t.chain, func(at *grammar.Type) bool {
		return at.Name == "tosca.datatypes.network.PortSpec" && at.Doc.Embedded
	})
}

// checkPorts checks further rules of PortSpec: it has a port or a range, and the port is
// in the range (TOSCA 1.3, 5.3.11.3).
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
