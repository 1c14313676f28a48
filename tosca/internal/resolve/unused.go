package resolve

import (
	"maps"

	"github.com/toskose/toskose/tosca/internal/data"
)

// checkUnused warns of inputs that no file reads, in whatever part of it:
// values that this package never evaluates count, too.
func (s *Service) checkUnused() {
	read := map[string]bool{}
	for _, d := range s.docs {
		maps.Copy(read, d.InputsRead)
	}
	for _, p := range s.Topo.Inputs {
		if !read[p.Name] && !s.Suggested(p.Name, data.CodeFunctionInput) { // else a slip hides who reads it
			s.Warnf(p.Pos, codeInputUnused, "input %q is never used: no get_input names it", p.Name)
		}
	}
}
