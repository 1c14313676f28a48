package check

import (
	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/inherit"
	"github.com/toskose/toskose/tosca/internal/resolve"
)

// checkCapabilities checks what a node template assigns to its capabilities.
func checkCapabilities(g *resolve.Graph, n *resolve.Node, required bool) {
	assigned := map[string]bool{}
	for _, k := range n.Capabilities {
		assigned[k.Name] = true
		if def := n.Typ.Caps[k.Name]; def != nil {
			checkMost(g, k.Counted, def.Max, n.Of()+": capability "+quote(k.Name))
			if k.Type.Name != "" {
				g.Errorf(k.Type.Pos, code.Shape, "%s: capability %q must be a map, not a string", n.Of(), k.Name)
			}
		} else {
			g.Unknown(k.Pos, code.CapName, k.Name, inherit.Candidates(g, n.Typ.Caps), "%s has no capability %q", n.Of(), k.Name)
		}
		for _, d := range k.Directives {
			checkScope(g, d, n.Of()+": capability "+quote(k.Name))
		}
	}
	for name, def := range n.Typ.Caps {
		typ := ""
		if required && !n.Owned() && def.Typ != nil && (assigned[name] || !def.Typ.Doc.Embedded) {
			typ = inherit.Quoted(def.Typ)
		}
		if assigned[name] || typ != "" {
			if c := n.Capability(name); c != nil {
				checkValues(&c.Holder, typ)
			}
		}
	}
}

// checkScope checks a directive of a capability or requirement.
func checkScope(g *resolve.Graph, d grammar.Ref, of string) {
	if d.Name != "internal" && d.Name != "external" {
		g.Errorf(d.Pos, code.Directive, "%s: directive %q is neither internal nor external", of, d.Name)
	}
}
