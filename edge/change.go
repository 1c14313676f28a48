package edge

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toskose/toskose/internal/located"
)

// Change is the result of a change of a cluster.
type Change struct {
	Document  Document
	DrawToken bool   // a machine that knew the token has left
	Leaves    string // the machine whose Node is deleted; empty: none
	Steps     []Step // to take after the folder was written
	Warnings  []string
}

// Step has commands to run on one machine.
type Step struct {
	Machine  string   `json:"machine"` // empty: the user's own machine
	Commands []string `json:"commands"`
}

// changed counts a change and checks its result.
func (d Document) changed() (Change, error) {
	d.Revision++
	c := Change{Document: d}
	if n := len(d.Servers()); n%2 == 0 {
		c.Warnings = append(c.Warnings, fmt.Sprintf("the cluster %s has %d servers: an even number survives no more failures than one server less", d.Name, n))
	}
	return c, d.check().err()
}

// Refresh returns the document unchanged but for its revision: after edits by hand, all files are written again.
func Refresh(d Document) (Change, error) {
	c, err := d.copied().changed()
	for _, n := range c.Document.seedFirst() {
		c.Steps = append(c.Steps, Step{Machine: n.Name, Commands: []string{rejoin(n)}})
	}
	return c, err
}

// Add adds a machine.
func Add(d Document, m Machine, role Role) (Change, error) {
	next := d.copied()
	address, err := next.assign()
	if err != nil {
		return Change{}, err
	}
	n := Node{Name: m.Name, Role: role, Address: address, Key: m.Key}
	next.Nodes = append(next.Nodes, n)
	c, err := next.changed()
	c.Steps = []Step{c.Document.joinStep(n)}
	return c, err
}

// Remove removes a machine. Without keepToken, the others get a new token, because the removed machine knows the old one.
func Remove(d Document, name string, keepToken bool) (Change, error) {
	n, ok := d.Node(name)
	switch {
	case !ok:
		return Change{}, d.unknown(name)
	case n.Role == Server && len(d.Servers()) == 1:
		return Change{}, fmt.Errorf("%q is the last server: the cluster would not exist without it", name)
	case name == d.Seed:
		return Change{}, fmt.Errorf("%q is the seed, which the others join: `toskose cluster seed NAME` names another one first", name)
	}
	for _, network := range d.Networks {
		for _, a := range network.Applications {
			if a.Node == name {
				return Change{}, fmt.Errorf("network %q designates %q for the application %q: `toskose cluster attach %s %s` with another --node, or without one, first",
					network.Name, name, a.Name, network.Name, a.Name)
			}
		}
	}
	next := d.copied()
	next.Nodes = slices.Delete(next.Nodes, d.index(name), d.index(name)+1)
	next.Freed = append(next.Freed, n.Address)
	c, err := next.changed()
	c.Leaves, c.DrawToken = name, !keepToken
	c.Steps = c.Document.afterLeaving(name, keepToken, "")
	return c, err
}

// Replace puts a new machine in the place of another one: it takes over address, role, labels and networks.
func Replace(d Document, old string, m Machine, keepToken bool) (Change, error) {
	i := d.index(old)
	if i < 0 {
		return Change{}, d.unknown(old)
	}
	next := d.copied()
	next.Nodes[i].Name, next.Nodes[i].Key = m.Name, m.Key
	if d.Nodes[i].Role == Server && len(d.Servers()) == 1 {
		return Change{}, fmt.Errorf("%q is the last server: a machine in its place would have nothing to join", old)
	}
	if d.Seed == old {
		return Change{}, fmt.Errorf("%q is the seed, which the new machine has to join: `toskose cluster seed NAME` names another one first", old)
	}
	for j := range next.Networks {
		for k := range next.Networks[j].Applications {
			if a := &next.Networks[j].Applications[k]; a.Node == old {
				a.Node = m.Name
			}
		}
	}
	c, err := next.changed()
	c.Leaves, c.DrawToken = old, !keepToken
	c.Steps = c.Document.afterLeaving(old, keepToken, m.Name)
	return c, err
}

// SetSeed makes another server the one that all others join.
func SetSeed(d Document, name string) (Change, error) {
	n, ok := d.Node(name)
	switch {
	case !ok:
		return Change{}, d.unknown(name)
	case n.Role != Server:
		return Change{}, fmt.Errorf("%q is an agent: the seed must be a server", name)
	case name == d.Seed:
		return Change{}, fmt.Errorf("%q is the seed already", name)
	}
	next := d.copied()
	next.Seed = name
	c, err := next.changed()
	for _, n := range c.Document.seedFirst() {
		c.Steps = append(c.Steps, Step{Machine: n.Name, Commands: []string{rejoin(n), restart(n)}})
	}
	return c, err
}

// Label sets labels of a machine, and removes others.
func Label(d Document, name string, set map[string]string, remove []string) (Change, error) {
	i := d.index(name)
	if i < 0 {
		return Change{}, d.unknown(name)
	}
	next := d.copied()
	labels := maps.Clone(next.Nodes[i].Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	var words []string
	for _, key := range located.Keys(set) {
		labels[key] = set[key]
		words = append(words, key+"="+set[key])
	}
	for _, key := range remove {
		if _, ok := labels[key]; !ok {
			return Change{}, fmt.Errorf("%q has no label %q%s", name, key, located.DidYouMean(key, located.Keys(labels)))
		}
		delete(labels, key)
		words = append(words, key+"-")
	}
	next.Nodes[i].Labels = labels
	c, err := next.changed()
	c.Steps = []Step{
		{Machine: name, Commands: []string{rejoin(next.Nodes[i])}},
		{Commands: []string{"kubectl label node " + name + " --overwrite " + strings.Join(words, " ")}},
	}
	return c, err
}

// Trust records the digest of the cluster's certificate authority, which machines then check when they join.
func Trust(d Document, digest string) (Change, error) {
	next := d.copied()
	next.CA = digest
	return next.changed()
}

// WithNewToken returns the change with a new token for all machines of the document before it.
func (c Change) WithNewToken(before Document) Change {
	c.DrawToken = true
	var kept Document
	for _, n := range before.Nodes {
		if m, ok := c.Document.Node(n.Name); ok {
			kept.Nodes = append(kept.Nodes, m)
		}
	}
	kept.Seed = c.Document.Seed
	c.Steps = append(kept.rotation(""), c.Steps...)
	return c
}

// joinStep returns how a machine joins for the first time.
func (d Document) joinStep(n Node) Step {
	return Step{Machine: n.Name, Commands: []string{fmt.Sprintf("%s --start 'systemctl enable --now %s'", rejoin(n), service(n.Role == Agent))}}
}

func rejoin(n Node) string { return fmt.Sprintf("toskose cluster join %s.json", n.Name) }

func restart(n Node) string { return "systemctl restart " + service(n.Role == Agent) }

// RotateCommand replaces the token of the cluster, on a server that has joined with the new one.
const RotateCommand = `k3s token rotate --token "$(cat ` + K3sTokenOld + `)" --new-token "$(cat ` + K3sToken + `)"`

// LeaveCommands remove the Node of a machine from the cluster.
func LeaveCommands(name string) []string {
	return []string{
		"kubectl cordon " + name,
		"kubectl drain " + name + " --ignore-daemonsets --delete-emptydir-data",
		"kubectl delete node " + name,
	}
}

// rotation returns how the machines replace the token: the seed first, then the others one by one. joining is a machine that has not joined yet.
func (d Document) rotation(joining string) []Step {
	var steps []Step
	for _, n := range d.seedFirst() {
		switch n.Name {
		case joining:
		case d.Seed:
			steps = append(steps, Step{Machine: n.Name, Commands: []string{rejoin(n), RotateCommand, restart(n)}})
		default:
			steps = append(steps, Step{Machine: n.Name, Commands: []string{rejoin(n), restart(n)}})
		}
	}
	return steps
}

// afterLeaving returns the steps after a machine has left: the remaining ones replace the token, and a new machine joins.
func (d Document) afterLeaving(left string, keepToken bool, joining string) []Step {
	steps := []Step{{Commands: LeaveCommands(left)}, {Machine: left, Commands: []string{"toskose cluster leave"}}}
	if !keepToken {
		steps = append(steps, d.rotation(joining)...)
	}
	if n, ok := d.Node(joining); ok {
		steps = append(steps, d.joinStep(n))
	}
	return steps
}
