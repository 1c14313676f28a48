package source

import (
	"bytes"
	"regexp"
	"slices"

	"gopkg.in/yaml.v3"
)

// The library is one of YAML 1.1 in places where TOSCA asks for 1.2.
var (
	directive = regexp.MustCompile(`\A((?:\x{FEFF})?(?:(?:[ \t]*(?:#[^\n]*)?|%[^\n]*)\n)*?%YAML[ \t]+1\.)2\b`)
	integer   = regexp.MustCompile(`^(?:[-+]?[0-9]+|[-+]?0o[0-7]+|[-+]?0x[0-9a-fA-F]+)$`)
	float     = regexp.MustCompile(`^(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$`)
)

// maxPrelude is how far in a document a directive is looked for.
const maxPrelude = 4 << 10

// ofLibrary makes a document that says it is of YAML 1.2 one that the library
// reads, with every character where it was.
func ofLibrary(data []byte) []byte {
	prelude := data[:min(len(data), maxPrelude)]
	if !bytes.Contains(prelude, []byte("%YAML")) {
		return data
	}
	m := directive.FindSubmatchIndex(prelude)
	if m == nil {
		return data
	}
	data = slices.Clone(data)
	data[m[3]] = '1'
	return data
}

// number tells what a plain scalar is that the library took for a number: 1_000
// and 0b1 are texts in YAML 1.2, and 089 is an integer (YAML 1.2, 10.3.2).
func (p *parser) number(y *yaml.Node, tag string) Kind {
	switch {
	case p.listKeys && y.Style&yaml.TaggedStyle == 0 && integer.MatchString(y.Value):
		return Int
	case p.listKeys && y.Style&yaml.TaggedStyle == 0 && !float.MatchString(y.Value):
		return String
	case tag == "!!int" && (!p.listKeys || y.Style&yaml.TaggedStyle != 0):
		return Int
	}
	return Float
}
