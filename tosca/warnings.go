package tosca

import (
	"bufio"
	"io"
	"strconv"
	"strings"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/source"
)

// checkComponentPorts warns of two components of one container that are given
// one port: the container has one network, so the second cannot listen. A
// component's port is its property of this name, or that of a capability.
func (c *compiler) checkComponentPorts() {
	type socket struct {
		container *node
		port      int
	}
	first := map[socket]string{}
	for _, n := range c.nodes {
		if n.kind != software || n.base == nil || n.Typ == nil {
			continue
		}
		for number, at := range c.portsOf(n) {
			key := socket{n.base, number}
			if other, taken := first[key]; taken {
				c.Warnf(at, code.ComponentPort, "%s listens on port %d, and so does component %q in the same container, %q", n.Of(), number, other, n.base.Name)
				continue
			}
			first[key] = n.Name
		}
	}
}

// portsOf returns the ports that a component says it listens on.
func (c *compiler) portsOf(n *node) map[int]diag.Position {
	var ports map[int]diag.Position
	take := func(v, written *source.Node) {
		if v.IsNull() || !v.IsScalar() {
			return
		}
		if number, ok := port(v.Text); ok && number != 0 {
			if ports == nil {
				ports = map[int]diag.Position{}
			}
			ports[number] = n.Pos
			if written != nil {
				ports[number] = written.Pos()
			}
		}
	}
	if n.HasProperty("port") {
		take(n.Property("port").Node, n.Properties.Get("port"))
	}
	for _, k := range n.Capabilities {
		if d := n.Typ.Caps[k.Name]; d != nil && d.Props["port"] != nil {
			written := k.Properties.Get("port")
			take(c.Values.Eval(written, n.Place(n.Of())).Node, written)
		}
	}
	return ports
}

// maxFirstLine bounds what is read of a script: a kernel reads less of a #! line.
const maxFirstLine = 512

// checkScript warns of a script that cannot be run as it lies in the archive,
// once for each.
func (c *compiler) checkScript(name string, at diag.Position, of string) {
	if c.scripts[name] {
		return
	}
	if c.scripts == nil {
		c.scripts = map[string]bool{}
	}
	c.scripts[name] = true
	if executable, known := c.archive.Executable(name); known && !executable {
		c.Warnf(at, code.ScriptMode, "%s: script %q is not executable: chmod +x it", of, name)
	}
	f, err := c.archive.Open(name)
	if err != nil {
		return // what cannot be read is said when it is packaged
	}
	defer f.Close()
	line, _ := bufio.NewReaderSize(io.LimitReader(f, maxFirstLine), maxFirstLine).ReadString('\n')
	if strings.HasPrefix(line, "#!") && strings.HasSuffix(line, "\r\n") {
		c.Warnf(at, code.ScriptLineEnd, "%s: script %q has DOS line ends: no system finds the interpreter %s",
			of, name, strconv.Quote(strings.TrimSpace(line[2:len(line)-2])+"\r"))
	}
}
