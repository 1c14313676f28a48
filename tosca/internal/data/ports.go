package data

import (
	"slices"

	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/source"
)

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
