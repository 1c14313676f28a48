package tosca

import (
	"slices"

	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/inherit"
	"github.com/toskose/toskose/tosca/internal/resolve"
)

// endpoint returns the TCP port of a node's endpoint capability
// (tosca.capabilities.Endpoint), or 0. If several capabilities have a port, the one
// named endpoint wins.
func (c *compiler) endpoint(n *node) int {
	declared := 0
	for _, name := range inherit.Keys(n.Typ.Caps) {
		def := n.Typ.Caps[name]
		assigned := slices.ContainsFunc(n.Capabilities, func(k *grammar.Capability) bool { return k.Name == name })
		if d := def.Props["port"]; d == nil || !assigned && d.Fallback().IsNull() || !inherit.ChainHas(c.Chain(def.Typ), "tosca.capabilities.Endpoint") {
			continue
		}
		number := tcpPort(n.Capability(name))
		switch {
		case number == 0:
		case name == "endpoint":
			return number
		case declared == 0:
			declared = number
		default:
			declared = -1
		}
	}
	return max(declared, 0)
}

func tcpPort(of *resolve.Capability) int {
	if of == nil || data.Text(of.Property("protocol").Node) == "udp" {
		return 0
	}
	number, _ := port(data.Text(of.Property("port").Node))
	return number
}
