package data

import (
	"maps"
	"slices"
	"strings"

	"github.com/toskose/toskose/tosca/internal/grammar"
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
