package resolve

import (
	"slices"

	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
)

// checkUnused warns of inputs that no file reads, in whatever part of it:
// values that this package never evaluates count, too.
func (s *Service) checkUnused() {
	for _, p := range s.Topo.Inputs {
		read := slices.ContainsFunc(s.docs, func(d *grammar.Document) bool { return d.InputsRead[p.Name] })
		if !read && !s.Suggested(p.Name, data.CodeFunctionInput) { // else a slip hides who reads it
			s.Warnf(p.Pos, codeInputUnused, "input %q is never used: no get_input names it", p.Name)
		}
	}
}
