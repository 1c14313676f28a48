package source

import (
	"regexp"

	"gopkg.in/yaml.v3"
)

// The library reads numbers of YAML 1.1 where TOSCA 2.0 asks for those of 1.2.
var (
	integer = regexp.MustCompile(`^(?:[-+]?[0-9]+|[-+]?0o[0-7]+|[-+]?0x[0-9a-fA-F]+)$`)
	float   = regexp.MustCompile(`^(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$`)
)

// number tells what a plain scalar is that the library took for a number: 1_000
// and 0b1 are texts in YAML 1.2, and 089 is an integer (YAML 1.2, 10.3.2).
func (p *parser) number(y *yaml.Node, tag string) Kind {
	asRead := !p.listKeys || y.Style&yaml.TaggedStyle != 0
	switch {
	case asRead && tag == "!!int", !asRead && integer.MatchString(y.Value):
		return Int
	case asRead, float.MatchString(y.Value):
		return Float
	}
	return String
}
