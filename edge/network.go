package edge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"regexp"
	"slices"

	"github.com/toskose/toskose/internal/located"
)

// Network is a network of applications: a bridge on each machine that has it.
type Network struct {
	Name         string            `yaml:"name" json:"name"`
	Prefix       PrefixRule        `yaml:"prefix" json:"prefix"`
	Base         string            `yaml:"base" json:"base"` // the prefix of the first machine
	Labels       map[string]string `yaml:"labels,omitempty" json:"labels,omitempty"`
	Applications []Application     `yaml:"applications,omitempty" json:"applications,omitempty"` // none: no machine gets the network
}

// Application uses a network.
type Application struct {
	Name string `yaml:"name" json:"name"`
	Node string `yaml:"node,omitempty" json:"node,omitempty"` // the designated machine; empty: all that have the network's labels
}

// PrefixRule says which prefix a network has on each machine.
type PrefixRule string

// The rules.
const (
	SamePrefix        PrefixRule = "same"      // the base on every machine
	DifferentPrefixes PrefixRule = "different" // the third octet of the base counts the machines
)

// networkName matches names that are also names of files and, with a prefix, of network interfaces (15 characters).
var networkName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,10}[a-z0-9])?$`)

func (d Document) checkNetworks(fs *findings) {
	seen := map[string]bool{}
	for i, n := range d.Networks {
		at := fmt.Sprintf("networks.%d.", i)
		switch {
		case !networkName.MatchString(n.Name):
			fs.add(at+"name", "the name %q of a network is not a DNS label of at most 12 characters, which become the name of its bridge", n.Name)
		case seen[n.Name]:
			fs.add(at+"name", "network %q appears twice", n.Name)
		}
		seen[n.Name] = true
		if n.Prefix != SamePrefix && n.Prefix != DifferentPrefixes {
			fs.add(at+"prefix", "network %q: prefix %q is neither same nor different%s", n.Name, n.Prefix, located.DidYouMean(string(n.Prefix), []string{string(SamePrefix), string(DifferentPrefixes)}))
		}
		if err := d.checkBase(n); err != nil {
			fs.add(at+"base", "network %q: %s", n.Name, err)
		}
		for _, key := range located.Keys(n.Labels) {
			if !labelWord.MatchString(n.Labels[key]) && n.Labels[key] != "" {
				fs.add(at+"labels."+key, "network %q: %q is not the value of a Kubernetes label", n.Name, n.Labels[key])
			}
		}
		for j, a := range n.Applications {
			if a.Name == "" {
				fs.add(fmt.Sprintf("%sapplications.%d", at, j), "network %q: an application has no name", n.Name)
			}
			if _, ok := d.Node(a.Node); a.Node != "" && !ok {
				fs.add(fmt.Sprintf("%sapplications.%d.node", at, j), "network %q: %s", n.Name, d.unknown(a.Node))
			}
		}
	}
}

// checkBase checks the prefixes that the machines get.
func (d Document) checkBase(n Network) error {
	base, err := parsePrefix(n.Base)
	if err != nil {
		return err
	}
	if hosts(base) < 2 {
		return fmt.Errorf("%s is too small: it has no addresses for a bridge and a container", base)
	}
	machines := d.Nodes
	if n.Prefix != DifferentPrefixes {
		machines = nil
	} else if base.Bits() < 24 {
		return fmt.Errorf("%s is too large: with different prefixes, each machine has its own third octet, so the length is at least 24", base)
	}
	all := []netip.Prefix{base}
	for _, m := range machines {
		p, ok := shifted(base, d.order(m))
		if !ok {
			return fmt.Errorf("machine %q is number %d: the third octet of %s would be above 255", m.Name, d.order(m)+1, base)
		}
		all = append(all, p)
	}
	for _, p := range all {
		if err := overlapping(p, append([]string{d.Prefix}, d.Reserved...)); err != nil {
			return err
		}
	}
	return nil
}

// shifted returns a prefix whose third octet is larger by n.
func shifted(p netip.Prefix, n int) (netip.Prefix, bool) {
	if b := p.Addr().As4(); int(b[2])+n > 255 || n < 0 {
		return p, false
	}
	return netip.PrefixFrom(plus(p.Addr(), uint32(n)<<8), p.Bits()), true
}

// networksOf returns the networks that applications of a machine use.
func (d Document) networksOf(m Node) []NodeNetwork {
	all := []NodeNetwork{}
	for _, n := range d.Networks {
		if !slices.ContainsFunc(n.Applications, func(a Application) bool { return a.Node == m.Name || a.Node == "" && n.selects(m) }) {
			continue
		}
		p, _ := netip.ParsePrefix(n.Base) // it has been checked
		if n.Prefix == DifferentPrefixes {
			p, _ = shifted(p, d.order(m))
		}
		all = append(all, NodeNetwork{Name: n.Name, ID: d.idOf("network", n.Name), Prefix: p.String()})
	}
	return all
}

// selects reports whether a machine has all labels of a network.
func (n Network) selects(m Node) bool {
	for key, value := range n.Labels {
		if have, ok := m.Labels[key]; !ok || have != value {
			return false
		}
	}
	return true
}

// Definition returns the NetworkAttachmentDefinition of a network, with which pods request it. Multus finds the configuration of
// the same name on the machine.
func (n Network) Definition() []byte {
	return fmt.Appendf(nil, "apiVersion: k8s.cni.cncf.io/v1\nkind: NetworkAttachmentDefinition\nmetadata:\n  name: %s\n", n.Name)
}

// cniConfig is a configuration of the bridge plugin.
type cniConfig struct {
	Version   string `json:"cniVersion"`
	Name      string `json:"name"`
	Type      string `json:"type"`
	Bridge    string `json:"bridge"`
	IsGateway bool   `json:"isGateway"`
	IPMasq    bool   `json:"ipMasq"`
	IPAM      struct {
		Type   string       `json:"type"`
		Ranges [][]cniRange `json:"ranges"`
	} `json:"ipam"`
}

type cniRange struct {
	Subnet  string `json:"subnet"`
	Gateway string `json:"gateway"`
}

// Bridge returns the configuration of CNI's bridge plugin for a network of a machine.
func (n NodeNetwork) Bridge() []byte {
	p, _ := netip.ParsePrefix(n.Prefix) // it has been checked
	c := cniConfig{Version: "0.4.0", Name: n.Name, Type: "bridge", Bridge: "tk-" + n.Name, IsGateway: true, IPMasq: true}
	c.IPAM.Type = "host-local"
	c.IPAM.Ranges = [][]cniRange{{{Subnet: n.Prefix, Gateway: plus(p.Addr(), 1).String()}}}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(c) // its types have a form in JSON
	return out.Bytes()
}

// Attach makes an application use a network: on one machine or, without one, on all that have the network's labels.
func Attach(d Document, network, application, node string) (Change, error) {
	next := d.copied()
	n, err := next.network(network)
	if err != nil {
		return Change{}, err
	}
	if _, ok := d.Node(node); node != "" && !ok {
		return Change{}, d.unknown(node)
	}
	n.Applications = slices.DeleteFunc(n.Applications, func(a Application) bool { return a.Name == application })
	n.Applications = append(n.Applications, Application{Name: application, Node: node})
	c, err := next.changed()
	if err != nil {
		return Change{}, err
	}
	c.Steps = append(networkSteps(d, c.Document), Step{Commands: []string{"kubectl apply -f networks/" + network + ".yaml"}})
	return c, nil
}

// Detach ends the use of a network by an application.
func Detach(d Document, network, application string) (Change, error) {
	next := d.copied()
	n, err := next.network(network)
	if err != nil {
		return Change{}, err
	}
	before := len(n.Applications)
	n.Applications = slices.DeleteFunc(n.Applications, func(a Application) bool { return a.Name == application })
	if len(n.Applications) == before {
		return Change{}, fmt.Errorf("application %q does not use the network %q", application, network)
	}
	c, err := next.changed()
	if err != nil {
		return Change{}, err
	}
	c.Steps = networkSteps(d, c.Document)
	return c, nil
}

// network returns a network that can be changed.
func (d *Document) network(name string) (*Network, error) {
	i := slices.IndexFunc(d.Networks, func(n Network) bool { return n.Name == name })
	if i >= 0 {
		return &d.Networks[i], nil
	}
	var names []string
	for _, n := range d.Networks {
		names = append(names, n.Name)
	}
	return nil, fmt.Errorf("the cluster %s has no network %q%s (%s lists them)", d.Name, name, located.DidYouMean(name, names), DocumentFile)
}

// networkSteps returns the machines that have to join again because their networks differ.
func networkSteps(before, after Document) []Step {
	var steps []Step
	for _, n := range after.Nodes {
		if old, ok := before.Node(n.Name); !ok || !slices.Equal(before.networksOf(old), after.networksOf(n)) {
			steps = append(steps, Step{Machine: n.Name, Commands: []string{rejoin(n)}})
		}
	}
	return steps
}
