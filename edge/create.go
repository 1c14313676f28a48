package edge

import (
	"fmt"
	"io"
	"strings"

	"github.com/toskose/toskose/internal/located"
)

// Machine is a machine that joins the cluster: its name, and its public key.
type Machine struct{ Name, Key string }

// ParseMachine reads NAME=KEY.
func ParseMachine(text string) (Machine, error) {
	name, key, ok := strings.Cut(text, "=")
	if !ok || name == "" || key == "" {
		return Machine{}, fmt.Errorf("%q is not NAME=KEY: `toskose cluster key` prints the key of a machine", text)
	}
	return Machine{name, key}, nil
}

// CreateOptions describe a new cluster.
type CreateOptions struct {
	Name      string
	Interface string    // on which the machines reach each other, with the same name on all
	Prefix    string    // empty: DefaultPrefix
	Reserved  []string  // prefixes that the site uses for something else
	Seed      string    // empty: the first server
	Servers   []Machine // 1, 3, 5 or 7
	Agents    []Machine
	Random    io.Reader
}

// Create returns the document of a new cluster, or all problems of the options.
func Create(o CreateOptions) (Document, error) {
	id, err := NewID(o.Random)
	if err != nil {
		return Document{}, err
	}
	d := Document{Name: o.Name, ID: id, Revision: 1, Interface: o.Interface, Prefix: o.Prefix, Reserved: o.Reserved, Seed: o.Seed}
	if d.Prefix == "" {
		d.Prefix = DefaultPrefix
	}
	if d.Seed == "" && len(o.Servers) > 0 {
		d.Seed = o.Servers[0].Name
	}
	for _, m := range o.Servers {
		d.Nodes = append(d.Nodes, Node{Name: m.Name, Role: Server, Key: m.Key})
	}
	for _, m := range o.Agents {
		d.Nodes = append(d.Nodes, Node{Name: m.Name, Role: Agent, Key: m.Key})
	}
	d.assignAll()
	fs := d.check()
	if n := len(o.Servers); n > 0 && (n%2 == 0 || n > maxServers) {
		fs.add("nodes", "the number of servers is %d: it must be 1, 3, 5 or 7, because more than half of them have to run", n)
	}
	return d, fs.err()
}

// assignAll gives the seed the first address of the prefix, and the following ones to the other machines. Addresses that do not fit are
// reported with the prefix.
func (d *Document) assignAll() {
	p, err := parsePrefix(d.Prefix)
	if err != nil || hosts(p) < len(d.Nodes) {
		return
	}
	next := uint32(1)
	give := func(i int) {
		d.Nodes[i].Address = plus(p.Addr(), next).String()
		next++
	}
	seed := d.index(d.Seed)
	if seed >= 0 {
		give(seed)
	}
	for i := range d.Nodes {
		if i != seed {
			give(i)
		}
	}
}

// Steps returns how the machines of a new cluster join, the seed first.
func (d Document) Steps() []Step {
	var steps []Step
	for _, n := range d.seedFirst() {
		steps = append(steps, d.joinStep(n))
	}
	return steps
}

// seedFirst returns the machines: the seed, the other servers, the agents.
func (d Document) seedFirst() []Node {
	var seed, servers, agents []Node
	for _, n := range d.Nodes {
		switch {
		case n.Name == d.Seed:
			seed = append(seed, n)
		case n.Role == Server:
			servers = append(servers, n)
		default:
			agents = append(agents, n)
		}
	}
	return append(append(seed, servers...), agents...)
}

// unknown returns the error for a name that no machine has.
func (d Document) unknown(name string) error {
	return fmt.Errorf("the cluster %s has no machine %q%s", d.Name, name, located.DidYouMean(name, d.Names()))
}
