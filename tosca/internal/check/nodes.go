package check

import (
	"slices"

	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/inherit"
	"github.com/toskose/toskose/tosca/internal/resolve"
)

// directives are what a node template may say about how it comes to be; those
// that end in "able" are of 1.0 to 1.2.
var directives = []string{"create", "select", "substitute", "selectable", "substitutable"}

func checkDirectives(g *resolve.Graph, n *resolve.Node) {
	for _, d := range n.Directives {
		switch i := slices.Index(directives, d.Name); {
		case n.Doc.V2() && (i < 0 || i > 2):
			g.Unknown(d.Pos, code.Directive, d.Name, directives[:3], "%s: directive %q is none of TOSCA's: create, select, substitute", n.Of(), d.Name)
		case i < 0:
			g.Warnf(d.Pos, code.Directive, "%s: directive %q is none of TOSCA's: create, select, substitute", n.Of(), d.Name)
		}
	}
}

// checkNodes evaluates and checks what node templates assign.
// checkVolume checks that a BlockStorage has a size or is a volume that exists.
// Since 1.2 there is a default, so that it is odd only (TOSCA 1.3, 5.9.11.4; 1.0,
// 5.8.9).
func checkVolume(g *resolve.Graph, n *resolve.Node) {
	size := n.Holder.Props["size"]
	if size == nil || !size.Doc.Embedded || !n.Properties.Get("size").IsNull() || !n.Properties.Get("volume_id").IsNull() ||
		!inherit.ChainHas(n.Typ.Chain, "tosca.nodes.Storage.BlockStorage") {
		return
	}
	report := g.Warnf
	if n.Doc.Version == "tosca_simple_yaml_1_0" || n.Doc.Version == "tosca_simple_yaml_1_1" {
		report = g.Errorf
	}
	report(n.Pos, code.PropMissing, "%s lacks property \"size\", and names no volume_id of a volume that exists", n.Of())
}

func checkNodes(g *resolve.Graph) {
	for _, n := range g.Nodes {
		if n.Typ == nil {
			continue
		}
		checkDirectives(g, n)
		required := inherit.Quoted(n.Typ.Type.Type)
		if n.Selected() && !n.Owned() {
			required = ""
		}
		checkValues(&n.Holder, required)
		if required != "" {
			checkVolume(g, n)
		}
		checkCapabilities(g, n, required != "")
		if n.Count != nil {
			checkCount(g, n.Count, n.Place(n.Of()+": count"))
		}
		if n.Filter != nil {
			checkFilter(g, n.Filter, n.Typ, n.Doc, n.Of()+nodeFilter, g.AnyNodeOf(n.Typ.Type.Type, true))
		}
		if !n.Owned() {
			checkInterfaces(g, n.Interfaces, Interfaces(g, n), &n.Holder)
			checkArtifacts(g, n)
		}
	}
}
